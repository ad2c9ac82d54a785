# Every command needs Python 3.11 or newer and make; everything else goes into a virtual environment here.
PYTHON ?= python3
RUN = .venv/bin/python -m
INSTALL = bin/python -m pip install --quiet --editable
FULL = .venv/.ready-for-everything

.PHONY: train train-ppo train-rllib test lint test-slow test-rllib test-openspiel test-openenv test-verifiers test-clients docs benchmark clean

train: .venv/.ready-to-train  ## train a strong agent for the solitaire in a minute; more: make train ARGS="--help"
	$(RUN) train.td_lambda $(ARGS)

train-ppo: .venv/.ready-to-train  ## train by MaskablePPO of stable-baselines3
	$(RUN) train.ppo $(ARGS)

train-rllib: .venv-rllib/.ready  ## train on Ray RLlib, on one machine or many: docs/rllib.md
	.venv-rllib/bin/python -m train.rllib $(ARGS)

# Each process of the tests computes with one thread: several would wait for each other.
test test-slow: export OMP_NUM_THREADS = 1

test: .venv/.ready-to-test  ## lint, types of the packages, and the default tests; lists what is skipped for want of a library
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy quincunx_env agents/quincunx_agents
	$(RUN) pytest -n auto -rs $(ARGS)

lint: $(FULL)  ## lint and types of everything, with all libraries; afterwards `make test` skips less
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	$(RUN) docs.programs

test-slow: $(FULL)  ## every combination of options at full length, on all cores
	$(RUN) pytest -m "slow and not web and not clients" -n auto $(ARGS)

test-rllib: .venv-rllib/.ready  ## the tests that need Ray, sequentially: each starts processes of its own
	.venv-rllib/bin/python -m pytest tests/rllib $(ARGS)

test-openspiel: .venv-openspiel/.ready  ## the tests that need OpenSpiel
	.venv-openspiel/bin/python -m pytest tests/openspiel $(ARGS)

test-openenv: .venv-openenv/.ready  ## the tests that need OpenEnv
	.venv-openenv/bin/python -m pytest tests/openenv $(ARGS)

test-verifiers: .venv-verifiers/.ready  ## the tests that need verifiers
	.venv-verifiers/bin/python -m pytest tests/verifiers $(ARGS)

test-clients: $(FULL) .venv-clients-agilerl/.ready .venv-clients-jax/.ready .venv-openspiel/.ready .venv-rllib/.ready  ## programs of other libraries; writes docs/clients.csv
	$(RUN) pytest -m "clients and not slow" tests/clients $(ARGS)
	.venv-clients-agilerl/bin/python -m pytest -m "clients and not slow" tests/clients $(ARGS)
	.venv-clients-jax/bin/python -m pytest -m "clients and not slow" tests/clients $(ARGS)
	.venv-openspiel/bin/python -m pytest -m "clients and not slow" tests/clients $(ARGS)
# RLlib alone: with its earlier Gymnasium other rows would lose their scores.
	.venv-rllib/bin/python -m pytest -m "clients and not slow" -k RLlib tests/clients $(ARGS)

docs: $(FULL)  ## write the generated pages, run the notebooks, build the site: build/site/index.html
	$(RUN) docs.generate
	$(RUN) sphinx -q -W --keep-going -c docs . build/site

benchmark: .venv/.ready-to-train  ## steps per second of every interface
	$(RUN) train.speed $(ARGS)

.venv/.ready-to-train: pyproject.toml constraints/default.txt
	$(PYTHON) -m venv .venv
	.venv/$(INSTALL) ".[play,train]" --constraint constraints/default.txt
	touch $@

.venv/.ready-to-test: pyproject.toml constraints/default.txt
	$(PYTHON) -m venv .venv
	.venv/$(INSTALL) ".[test,train]" mypy ruff types-tqdm --constraint constraints/default.txt
	touch $@ .venv/.ready-to-train

$(FULL): pyproject.toml constraints/default.txt
	$(PYTHON) -m venv .venv
	.venv/$(INSTALL) ".[dev]" --constraint constraints/default.txt
	touch $@ .venv/.ready-to-test .venv/.ready-to-train

.venv-rllib/.ready: pyproject.toml constraints/rllib.txt
	$(PYTHON) -m venv .venv-rllib
	.venv-rllib/$(INSTALL) ".[rllib,test]" --constraint constraints/rllib.txt
	touch $@

# PyTorch and dm-tree for the DQN of OpenSpiel, whose wheel does not require them; the arena for its bots; Shimmy.
.venv-openspiel/.ready: pyproject.toml constraints/openspiel.txt
	$(PYTHON) -m venv .venv-openspiel
	.venv-openspiel/$(INSTALL) ".[arena,openspiel]" pytest torch dm-tree shimmy --constraint constraints/openspiel.txt
	touch $@

.venv-openenv/.ready: pyproject.toml constraints/openenv.txt
	$(PYTHON) -m venv .venv-openenv
	.venv-openenv/$(INSTALL) . openenv pytest --constraint constraints/openenv.txt
	touch $@

.venv-verifiers/.ready: pyproject.toml constraints/verifiers.txt
	$(PYTHON) -m venv .venv-verifiers
	.venv-verifiers/$(INSTALL) . pytest verifiers --constraint constraints/verifiers.txt
	touch $@

# AgileRL imports peft, which only an extra requires; it needs earlier versions of PettingZoo and tensordict.
.venv-clients-agilerl/.ready: pyproject.toml constraints/clients-agilerl.txt
	$(PYTHON) -m venv .venv-clients-agilerl
	.venv-clients-agilerl/$(INSTALL) . pytest agilerl peft torch --constraint constraints/clients-agilerl.txt
	touch $@

# rl_zoo3 does not require requests, which its program imports.
.venv-clients-jax/.ready: pyproject.toml constraints/clients-jax.txt
	$(PYTHON) -m venv .venv-clients-jax
	.venv-clients-jax/$(INSTALL) . pytest rl_zoo3 requests sbx-rl torch --constraint constraints/clients-jax.txt
	touch $@

.venv-tools/.ready: constraints/tools.txt
	$(PYTHON) -m venv .venv-tools
	.venv-tools/bin/python -m pip install --quiet --requirement constraints/tools.txt
	touch $@

clean:
	rm -rf .venv .venv-*/ build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
