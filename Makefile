# Each target works from a fresh clone, on Linux and macOS. PYTHON is a Python 3.11 to 3.14. EXTRAS are what tests and checks
# install beside the core: dev,peers by default. live adds PyTorch (on Linux its CUDA build, gigabytes, unless a CPU build is at
# hand), gp (Ax) the Gaussian processes, nb201 the official readers of NAS-Bench-201. Tests of what is missing are skipped.
# Ask for one target at a time: each installs the extras that it needs itself.
PYTHON ?= python3
JOBS ?= 2
EXTRAS ?= dev,peers
BIN := .venv/bin
# Python compiles what is imported; to compile every file of every package takes longer than to fetch them.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
PIP := $(INSTALL) -c constraints.txt

FINDINGS := reproduce-ctpe reproduce-nasbot reproduce-deep-architect reproduce-zo-darts reproduce-multi-fidelity
FINDINGS += reproduce-mixed reproduce-fronts reproduce-which-method reproduce-wide reproduce-rivals reproduce-grand
FINDINGS += reproduce-card reproduce-one-shot reproduce-parallel reproduce-knowledge reproduce-proxies

# What stands in the way of an installation, in one sentence. Any Python 3 can read it.
define CHECK_PYTHON
import os, sys
version = "{}.{}".format(*sys.version_info[:2])
if not (3, 11) <= sys.version_info[:2] <= (3, 14):
    sys.exit("setup: nasbench needs Python 3.11 to 3.14, and this is Python " + version + "; name another one: make PYTHON=python3.13 setup")
if os.name != "posix":
    sys.exit("setup: nasbench runs on Linux and macOS; on Windows use WSL")
if not os.path.isdir("nasbench/cli"):
    sys.exit("setup: this checkout has no symbolic links (nasbench/cli is a file); clone again with: git clone -c core.symlinks=true")
try:
    import ensurepip, venv
except ImportError as missing:
    sys.exit("setup: this Python cannot make virtual environments (" + str(missing) + "); on Debian and Ubuntu install python3-venv, or use uv (README.md)")
endef
export CHECK_PYTHON

# pip warns of an extra that does not exist, and goes on.
define CHECK_EXTRAS
import sys, tomllib
known = sorted(tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"])
strange = sorted(set(filter(None, sys.argv[1].split(","))) - set(known))
sys.exit(f"EXTRAS: there is no {', '.join(strange)}; allowed: {', '.join(known)}" if strange else 0)
endef
export CHECK_EXTRAS

# Where one extra has no files for this machine, the others are installed without it; no target can do without dev or docs.
ONE_BY_ONE = for extra in $(shell echo $(EXTRAS) | tr , ' '); do \
	$(PIP) --no-build-isolation -e ".[$$extra]" && continue; \
	echo "setup: the extra $$extra cannot be installed here (above: why); what needs it will say so, and its tests are skipped"; \
	case $$extra in dev|docs) exit 1;; esac; done

.PHONY: setup test test-slow reproduce picture $(FINDINGS) tables cells-organa lint docs clean

setup: .venv/core
	@$(BIN)/python -c "$$CHECK_EXTRAS" "$(EXTRAS)"
	@echo "setup: installs nasbench with the extras $(EXTRAS) into .venv; the first time some minutes, in silence"
	@$(PIP) --no-build-isolation -e '.[$(EXTRAS)]' || $(ONE_BY_ONE)
	@echo "setup: done; . .venv/bin/activate, then nasbench list"

# The core alone, of files with recorded digests: enough for `nasbench` on the embedded tables. TPE is compiled, some
# seconds, while nasbench is installed.
.venv/core: pyproject.toml constraints.txt requirements.lock
	@command -v $(PYTHON) >/dev/null || { echo "setup: there is no $(PYTHON); name a Python 3.11 to 3.14: make PYTHON=python3.13 setup"; exit 1; }
	@$(PYTHON) -c "$$CHECK_PYTHON"
	@echo "setup: makes .venv and fetches the core's packages: a minute or more, depending on your network"
	$(PYTHON) -m venv .venv
	$(INSTALL) --require-hashes --only-binary :all: -r requirements.lock
	$(BIN)/python -m nasbench.methods.tpe.sampler & $(PIP) --no-build-isolation --no-deps -e . && wait $$!
	touch $@

test: setup
	@echo "test: every test but the slow ones, on two processes: five to nine minutes on two idle cores, by their speed, more with PyTorch (a part: $(BIN)/python -m pytest tests/methods)"
	$(BIN)/python -m pytest -n 2 --dist worksteal

# Faults and kills at every operation, generated input, many processes on one store, and the longest checks.
test-slow: setup
	@echo "test-slow: the slow tests, the longest among them, on two processes"
	$(BIN)/python -m pytest -n 2 --dist worksteal -m slow

reproduce: .venv/core
	$(BIN)/nasbench run --suite suites/quick.toml --jobs $(JOBS)
	$(BIN)/nasbench report runs/quick
	$(BIN)/nasbench report --against card --out report/card

# The README's picture and first table, and the tables of docs/findings/which-method.md, of what `reproduce` computes.
picture: reproduce
	$(BIN)/python -m research.findings quick

# A page of docs/findings each: its suites are run, or gone on with, and reported, and the page shows what came out.
# What it costs stands on the page; `nasbench plan suites/NAME.toml` says it beforehand for this machine. Images that are
# missing are fetched.
reproduce-ctpe: SUITES := ctpe-paper ctpe-knowledge ctpe-tpe
reproduce-nasbot: SUITES := nasbot nasbot-hpo nasbot-free
reproduce-deep-architect: SUITES := deep-architect
reproduce-zo-darts: SUITES := oneshot-breast-cpu
reproduce-zo-darts: EXTRAS := live
reproduce-multi-fidelity: SUITES := multi-fidelity brackets
reproduce-card: SUITES := card card-earlier
reproduce-card: EXTRAS := live
reproduce-card: IMAGES := medmnist-organa
reproduce-mixed: SUITES := mixed real
reproduce-mixed: EXTRAS := peers,optuna,smac
reproduce-fronts: SUITES := fronts
reproduce-which-method: SUITES := quick long
reproduce-wide: SUITES := wide sealed
reproduce-wide: OPTIONS := --sealed
reproduce-rivals: SUITES := ctpe-rivals ctpe-rivals-ax
reproduce-rivals: EXTRAS := peers,gp,smac
reproduce-grand: SUITES := grand-cpu oneshot-seconds
reproduce-grand: EXTRAS := peers,live,gp
reproduce-one-shot: SUITES := learns
reproduce-one-shot: EXTRAS := dev,live
reproduce-parallel: SUITES := parallel pending
reproduce-knowledge: SUITES := knowledge priors
reproduce-proxies: SUITES := proxies
reproduce-proxies: OPTIONS := --sealed
reproduce-one-shot: IMAGES := medmnist-organa
reproduce-zo-darts: IMAGES := medmnist-breast
reproduce-grand: OPTIONS := --force
reproduce-grand: IMAGES := medmnist-breast medmnist-pneumonia
$(FINDINGS): setup
	$(if $(IMAGES),$(BIN)/nasbench data fetch $(IMAGES))
	set -e; for suite in $(SUITES); do $(BIN)/nasbench run --suite suites/$$suite.toml --jobs $(JOBS) $(OPTIONS); done
	$(BIN)/python -m research.findings $(SUITES)

# The embedded tables sk-… (docs/notebook/own-tables.md), computed anew; what was interrupted goes on where it was. The folder is kept.
TABLES ?= runs/tables
tables: setup
	@echo "tables: trains scikit-learn's estimators in one process, about an hour on an idle core; evaluations are kept in $(TABLES)"
	set -e; for learner in svm linear knn forest boosting; do for data in wine cancer diabetes digits; do \
		table=$(TABLES)/sk-$$learner-$$data; \
		$(BIN)/nasbench tabulate learner:$$learner:$$data --repetitions 5 --out $$table; \
		test -e $$table-splits.jsonl || cp $$table.jsonl $$table-splits.jsonl; \
		$(BIN)/nasbench tabulate learner:$$learner:$$data --sample 60 --repetitions 15 --out $$table-splits; \
	done; done
	$(BIN)/python -m research.own_tables $(TABLES)

# The embedded table cells-organa (docs/notebook/tabulate.md), of its trainings in benchmarks/tabular/parts; would train what they lack.
cells-organa: EXTRAS := live
cells-organa: setup
	$(BIN)/nasbench data fetch medmnist-organa
	nice -n 19 $(BIN)/nasbench tabulate medmnist-organa/cells-mini/rank/val-curve --repetitions 3 --out benchmarks/tabular/parts/cells-organa
	$(BIN)/python -m research.cells_table benchmarks/tabular/parts/cells-organa

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The pages of docs/ and those of the docstrings, as site/index.html; needs no network once it is set up.
docs: EXTRAS := docs
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf .venv build dist report site *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
