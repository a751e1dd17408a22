.DEFAULT_GOAL := help
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
SOURCES := conductor_py workers tests setup.py $(wildcard benchmarks docs scripts)
FAST := not slow and not service and not spark and not acceptance
JOBS ?= 2

.PHONY: help install format lint type contracts fast check full coverage-oracle test run acceptance bench \
	bench-compare schemas config-example clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(INSTALLED) ## make .venv with everything that development needs

$(INSTALLED): setup.cfg setup.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--editable '.[dev,hiredis,s3,search,spark,tutorial]'
	touch $@

format: $(INSTALLED) ## format the code and mend what can be mended
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix $(SOURCES)

lint: $(INSTALLED) ## formatting and ruff
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)

type: $(INSTALLED) ## mypy: the packages strictly, then the tests
	$(BIN)/mypy
	$(BIN)/mypy tests

contracts: $(INSTALLED) ## who may import whom
	PYTHONPATH=.:workers $(BIN)/lint-imports

fast: $(INSTALLED) ## the tests that need no service
	$(BIN)/python -m pytest -q -n $(JOBS) -m '$(FAST)'

check: lint type contracts fast ## what every commit must pass: three minutes

full: $(INSTALLED) ## the tests that need real services, then Spark and real processes
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile \
		-m '(slow or service) and not spark and not acceptance'
	$(BIN)/python -m pytest -q -m 'spark or acceptance'

coverage-oracle: $(INSTALLED) ## every row of the edge-case oracle and every known anomaly has a test that passes
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile -p tests.oracle \
		-m '(oracle or anomaly) and not acceptance'

test: install ## install, check, and every test against real services
	$(MAKE) check
	$(MAKE) full

run: $(INSTALLED) ## start a server and a Spark worker, and run the tutorial's pipeline
	exec $(BIN)/python -m conductor_workers.demo

acceptance: $(INSTALLED) ## the stories told by real processes
	$(BIN)/python -m pytest tests/acceptance

bench: $(INSTALLED) ## measure, write docs/reference/benchmarks.md, fail below a floor
	$(BIN)/python benchmarks/run.py

bench-compare: $(INSTALLED) ## compare this tree with BASE=<commit>, both measured in turn
	$(BIN)/python benchmarks/compare.py $(BASE)

schemas: $(INSTALLED) ## write schemas/ from the wire forms
	$(BIN)/conductor-py schemas write schemas

config-example: $(INSTALLED) ## write config.properties.example from the settings
	$(BIN)/conductor-py config example > config.properties.example

clean: ## remove what tools leave behind; keeps .venv
	rm -rf build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find conductor_py workers tests -name __pycache__ -type d -prune -exec rm -rf {} +
