# Every target first calls scripts/bootstrap, which makes .venv and installs the locked tools; when
# nothing has changed since the last time, that costs a fraction of a second.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# A stray PYTHONPATH would shadow our code.
unexport PYTHONPATH PYTHONHOME
# Without bytecode files every process would compile everything again.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
WORKERS ?= 2
PARALLEL := -n $(WORKERS) --dist worksteal
QUICK := 'not slow and not real'
SEEDS ?= 1000
SIM ?= log
TESTS ?= tests

.PHONY: help venv venv-spark test test-quick up check fmt docs lock sim bench chaos audit soak clean clean-all

help: ## Show this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1|\2/p' Makefile | while IFS='|' read -r name what; do printf '%-18s %s\n' "$$name" "$$what"; done

venv: ## Create .venv and install the locked tools (PYTHON=/path/to/python3 picks the interpreter)
	@scripts/bootstrap

venv-spark: ## Add Spark to it, which compaction and its tests need (550 MB more)
	@scripts/bootstrap spark

test: venv-spark ## Run every test, the quick ones with coverage (TESTS=path narrows it, without coverage)
	@echo "test: fetching and building the real clients"
	@$(BIN)/python -m tests.clients
ifeq ($(TESTS),tests)
	@echo "test: the quick ones with coverage, then the others without, $(WORKERS) workers, random order"
	@failed=0; \
	$(PYTEST) $(PARALLEL) --cov --cov-report=term -m $(QUICK) $(TESTS) || failed=1; \
	$(PYTEST) $(PARALLEL) -m 'not ('$(QUICK)')' $(TESTS) || failed=1; \
	exit $$failed
else
	@echo "test: everything in $(TESTS), $(WORKERS) workers, random order"
	@$(PYTEST) $(PARALLEL) $(TESTS)
endif

test-quick: venv-spark ## Run the tests that need neither minutes nor real servers
	@echo "test-quick: without slow and real tests, $(WORKERS) workers, random order"
	@$(PYTEST) $(PARALLEL) --timeout=60 --hypothesis-profile=quick -m $(QUICK) $(TESTS)

up: venv-spark ## Run a local broker with Kafka API and Iceberg tables (UP="--listen 127.0.0.1:9092" adds options of `dray up`)
	@$(BIN)/dray up $(UP)

check: venv-spark ## Check format, lint, types, layers, packages, words, documents and generated pages
	@scripts/check

fmt: venv ## Format the code and apply the safe lint fixes
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

docs: venv ## Regenerate the generated pages of docs/
	@$(BIN)/python -m scripts.generate_docs

lock: venv ## Compile requirements/*.txt from the .in files (UPGRADE=1 takes newer versions)
	@scripts/lock $(if $(UPGRADE),--upgrade)

sim: venv ## Simulate a cluster on faulty stores (SEEDS=n; SIM=groups or SIM=tables in place of the log; NETWORK=1)
	@$(BIN)/python -m dray.testing.sim $(SIM) --seeds $(SEEDS) $(if $(NETWORK),--network)

bench: venv ## Measure, also side by side with Apache Kafka (BENCH="kafka --quick" adds options)
	@$(BIN)/python -m benchmarks $(BENCH)

chaos: venv-spark ## Inject faults into a whole cluster in network namespaces, with a report (CHAOS="--seed 7 --minutes 5")
	@$(BIN)/python -m tests.chaos.cluster $(CHAOS)

audit: venv ## Look the locked packages up in databases of vulnerabilities (needs a network)
	@$(BIN)/python scripts/audit.py

soak: venv-spark ## Simulate, kill brokers and compactors, compare readers, test other Spark versions: hours (SOAK="--only s3-2" narrows it)
	@$(BIN)/python -m tests.chaos $(SOAK)

clean: ## Remove generated files, but not .venv
	@rm -rf .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	@find src tests scripts benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

clean-all: clean ## Remove them and .venv
	@rm -rf .venv .cache src/dray.egg-info
