# Each target works from a fresh clone. PYTHON is a Python 3.11. EXTRAS are what tests and checks install
# beside the core: dev,peers,live by default; gp (Ax) adds the Gaussian processes, nb201 the official readers of
# NAS-Bench-201, whose tests are skipped without.
PYTHON ?= python3
JOBS ?= 2
EXTRAS ?= dev,peers,live
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

FINDINGS := reproduce-ctpe reproduce-nasbot reproduce-deep-architect reproduce-zo-darts reproduce-multi-fidelity
FINDINGS += reproduce-which-method reproduce-rivals reproduce-grand

# pip warns of an extra that does not exist, and goes on.
define CHECK_EXTRAS
import sys, tomllib
known = sorted(tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"])
strange = sorted(set(filter(None, sys.argv[1].split(","))) - set(known))
sys.exit(f"EXTRAS: there is no {', '.join(strange)}; allowed: {', '.join(known)}" if strange else 0)
endef
export CHECK_EXTRAS

.PHONY: setup test test-slow reproduce picture $(FINDINGS) lint docs clean

setup: .venv/core
	@$(BIN)/python -c "$$CHECK_EXTRAS" "$(EXTRAS)"
	@echo "setup: installs nasbench with the extras $(EXTRAS) into .venv; the first time some minutes, in silence"
	$(PIP) --no-build-isolation -e '.[$(EXTRAS)]'

# The core alone, of files with recorded digests: enough for `nasbench` on the embedded tables.
.venv/core: pyproject.toml constraints.txt requirements.lock
	@echo "setup: makes .venv and fetches the core's packages: a minute or more, depending on your network"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(PIP) --no-build-isolation --no-deps -e .
	$(BIN)/python -m nasbench.methods.tpe.sampler
	touch $@

test: setup
	@echo "test: every test but the slow ones, on two processes: about ten minutes on two idle cores (a part: $(BIN)/python -m pytest tests/methods)"
	$(BIN)/python -m pytest -n 2

# Faults and kills at every operation, generated input, many processes on one store: 17 minutes in one process.
test-slow: setup
	@echo "test-slow: the slow tests, 17 minutes in one process, on two"
	$(BIN)/python -m pytest -n 2 -m slow

reproduce: .venv/core
	$(BIN)/nasbench run --suite suites/quick.toml --jobs $(JOBS)
	$(BIN)/nasbench report runs/quick

# The README's picture and first table, and the tables of docs/findings/which-method.md, of what `reproduce` computes.
picture: reproduce
	$(BIN)/python docs/findings.py quick

# A page of docs/findings each: its suites are run, or gone on with, and reported, and the page shows what came out.
# What it costs stands on the page; `nasbench plan suites/NAME.toml` says it beforehand for this machine. Images that are
# missing are fetched.
reproduce-ctpe: SUITES := ctpe-paper
reproduce-nasbot: SUITES := nasbot nasbot-hpo nasbot-free
reproduce-deep-architect: SUITES := deep-architect
reproduce-zo-darts: SUITES := oneshot-breast-cpu
reproduce-multi-fidelity: SUITES := multi-fidelity
reproduce-which-method: SUITES := quick long
reproduce-rivals: SUITES := ctpe-rivals ctpe-rivals-ax
reproduce-rivals: EXTRAS := peers,gp,smac
reproduce-grand: SUITES := grand-cpu oneshot-seconds
reproduce-grand: EXTRAS := peers,live,gp
reproduce-zo-darts: IMAGES := medmnist-breast
reproduce-grand: IMAGES := medmnist-breast medmnist-pneumonia
$(FINDINGS): setup
	$(if $(IMAGES),$(BIN)/nasbench data fetch $(IMAGES))
	set -e; for suite in $(SUITES); do $(BIN)/nasbench run --suite suites/$$suite.toml --jobs $(JOBS); done
	$(BIN)/python docs/findings.py $(SUITES)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The pages of docs/ and those of the docstrings, as site/index.html; needs no network once it is set up.
docs: EXTRAS := docs
docs: setup
	$(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf .venv build dist report site *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
