# `make train` and `make test` need Python 3.11 or newer and make; everything else goes into a virtual environment here.
PYTHON ?= python3
VENV ?= .venv
CORE_VENV ?= .venv-oldest
RLLIB_VENV ?= .venv-rllib
RUN = $(VENV)/bin/python -m
# Touched by the last installation into the virtual environment.
READY = $(VENV)/.ready
TRAIN_READY = $(VENV)/.ready-to-train
CORE_READY = $(CORE_VENV)/.ready
RLLIB_READY = $(RLLIB_VENV)/.ready

.PHONY: train train-rllib test test-slow test-oldest test-site test-wheel test-rllib lint docs docs-links benchmark clean

train: $(TRAIN_READY)  ## train an agent for the solitaire; more: make train ARGS="--help"
	$(RUN) train.ppo $(ARGS)

train-rllib: $(RLLIB_READY)  ## train on Ray RLlib, on one machine or many: docs/rllib.md
	$(RLLIB_VENV)/bin/python -m train.rllib $(ARGS)

test: lint $(READY)  ## lint, types and the default tests
	$(RUN) pytest -n auto $(ARGS)

test-slow: $(READY)  ## every combination of options at full length, on all cores
	$(RUN) pytest -m slow -n auto $(ARGS)

test-oldest: $(CORE_READY)  ## the core tests on the oldest Gymnasium, without torch or stable-baselines3
	$(CORE_VENV)/bin/python -m pytest -n auto tests --ignore tests/envs/test_sb3.py --ignore tests/train/test_train.py $(ARGS)

test-site: $(READY)  ## the documentation builds without warnings, and its notebooks run
	$(RUN) pytest -m site tests/docs $(ARGS)

test-wheel: $(READY)  ## the wheel, installed into an empty environment and used from another folder
	$(RUN) pytest -m wheel tests/packaging $(ARGS)

test-rllib: $(RLLIB_READY)  ## the tests that need Ray, sequentially: each starts processes of its own
	$(RLLIB_VENV)/bin/python -m pytest tests/rllib $(ARGS)

lint: $(READY)
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy

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

$(CORE_READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(CORE_VENV)
	grep -v '^gymnasium' constraints.txt > $(CORE_VENV)/constraints.txt
	$(CORE_VENV)/bin/python -m pip install --quiet --editable ".[test]" "gymnasium==1.2.2" \
		--constraint $(CORE_VENV)/constraints.txt
	touch $@

$(RLLIB_READY): pyproject.toml constraints-rllib.txt
	$(PYTHON) -m venv $(RLLIB_VENV)
	$(RLLIB_VENV)/bin/python -m pip install --quiet --editable ".[rllib,test]" --constraint constraints-rllib.txt
	touch $@

clean:
	rm -rf $(VENV) $(CORE_VENV) $(RLLIB_VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
