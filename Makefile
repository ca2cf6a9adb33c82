# Each target works from a fresh clone. PYTHON is any Python 3.11 or newer.
PYTHON ?= python3
JOBS ?= 2
BIN := .venv/bin

.PHONY: setup test reproduce lint clean

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt setuptools wheel
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[dev,peers]'
	touch $@

test: setup
	$(BIN)/python -m pytest

reproduce: setup
	$(BIN)/nasbench run --suite suites/quick.toml --jobs $(JOBS)
	$(BIN)/nasbench report runs/quick

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf .venv build dist report *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
