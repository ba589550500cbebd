# Every target sets up its own virtual environment in .venv from a plain python3.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all test-oldest test-wheel lint docs bench-speed bench-quality bench-scale paper published clean

demo: $(VENV)/.run
	$(BIN)/python examples/demo.py

test: $(VENV)/.dev lint
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term

# What takes longer, or asks for other settings: array libraries in SciPy, and faults.
test-all: test
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -n 2 tests/test_scikit_learn.py
	$(BIN)/python -m benchmarks.faults

# In an environment of its own, with the oldest versions that pyproject.toml allows; benchmarks are
# for the newest.
test-oldest:
	$(PYTHON) -m venv --clear .venv-oldest
	.venv-oldest/bin/pip install --quiet --disable-pip-version-check -c .ci/oldest.txt ".[test]" array-api-compat
	.venv-oldest/bin/python -m pytest -n 2 --ignore tests/benchmarks

# What is built, in an empty environment: command, demo, extras.
test-wheel:
	PYTHON=$(PYTHON) .ci/wheel

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build

bench-speed: $(VENV)/.bench-speed
	$(BIN)/python -m benchmarks.speed

bench-quality: $(VENV)/.bench
	$(BIN)/python -m benchmarks.quality

bench-scale: $(VENV)/.bench
	$(BIN)/python -m benchmarks.scale

paper: $(VENV)/.bench
	$(BIN)/python -m benchmarks.paper

published: $(VENV)/.bench
	$(BIN)/python -m benchmarks.published

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@ $(VENV)/.run

$(VENV)/.bench $(VENV)/.bench-speed $(VENV)/.docs: $(VENV)/.%: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[$*]"
	touch $@ $(VENV)/.run

clean:
	rm -rf $(VENV) .venv-oldest dist build docs/_build docs/auto_* .coverage .mypy_cache .pytest_cache .ruff_cache
