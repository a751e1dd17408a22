.DEFAULT_GOAL := help
SHELL := /bin/sh
# The tests start a hundred processes: what one has compiled is there for the next.
unexport PYTHONDONTWRITEBYTECODE
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# Tools that change nothing of what is tested: beside, since what they bring along would.
LOCKING := .run/locking
, := ,
TOOL = test -x $(LOCKING)/bin/$1 || { $(PYTHON) -m venv $(LOCKING) && \
	$(LOCKING)/bin/python -m pip install --quiet --disable-pip-version-check '$2'; }
# Every extra that a deployment may want.
LOCKED := hiredis kafka mysql postgresql s3 search simulation spark zookeeper
LOCK = $(LOCKING)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-annotate --custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade)
SOURCES := conductor_py workers tests setup.py $(wildcard benchmarks docs scripts)
JOBS ?= 2
# Many of the fast tests wait for a thread or a child: one process more has the cores busy.
FAST_JOBS ?= 3
FAST := not thorough and not service and not spark and not acceptance
REAL := (service or spark or acceptance) and not thorough
# One order and one set of examples for every change; make fast SEED=7 draws others.
ORDER := $(if $(SEED),--randomly-seed=$(SEED) --hypothesis-seed=$(SEED),--randomly-seed=1 --hypothesis-profile=fixed)
DIVIDED := -q --dist loadgroup $(ORDER)

.PHONY: help install lock sbom format lint type contracts fast reading check real test test-all test-report run bench bench-spark \
	bench-lean bench-peers bench-compare bench-scale profile mutants simulate chaos chaos-spark soak fuzz schemas \
	config-example clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(INSTALLED) ## make .venv with everything that development needs

# The lock has the extras dev, hiredis, s3, search, spark and tutorial, and what builds the project.
# Most of it is never imported: what is gets compiled then, and only once.
$(INSTALLED): setup.cfg setup.py locks/development.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes \
		--requirement locks/development.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps \
		--no-build-isolation --editable .
	$(BIN)/python -m compileall -q -j 0 conductor_py workers
	touch $@

lock: ## renew locks/ with hashes; what holds stays, UPGRADE=1 takes the newest
	$(call TOOL,uv,uv>=0.13$(,)<0.14)
	$(LOCK) $(addprefix --extra ,$(LOCKED)) --output-file locks/server.txt setup.cfg
	$(LOCK) $(addprefix --extra ,dev hiredis s3 search spark tutorial) --constraint locks/server.txt \
		--output-file locks/development.txt setup.cfg

sbom: ## write build/sbom.json (CycloneDX) from locks/server.txt
	$(call TOOL,cyclonedx-py,cyclonedx-bom>=7.2$(,)<8)
	mkdir -p build
	$(LOCKING)/bin/cyclonedx-py requirements locks/server.txt --output-reproducible --output-format JSON \
		--output-file build/sbom.json

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

fast real: export PYTHONHASHSEED := $(or $(SEED),0)
# What is compiled is kept: else every process of every test compiles the sources anew.
unexport PYTHONDONTWRITEBYTECODE
fast: $(INSTALLED) ## the tests that need no service [SEED=n]
	$(BIN)/python -m pytest -p tests.oracle -n $(FAST_JOBS) $(DIVIDED) -m '$(FAST)'

# What reads the sources uses one core, and many tests wait: they go side by side.
check: lint ## what every commit must pass: five minutes
	$(MAKE) -j 2 fast reading

reading: type contracts

real: $(INSTALLED) ## one version of every real server, one story of processes, of Spark and of each client
	$(BIN)/python -m tests.tiers.second_try -n $(JOBS) $(DIVIDED) -m '$(REAL)'

test: install ## everything that a change must pass, in at most twelve minutes
	$(MAKE) check
	$(MAKE) real

test-all: $(INSTALLED) ## what takes long or needs luck, target by target, from where it was [AGAIN=1]; writes docs/reference/test-report.md
	$(BIN)/python -m tests.tiers.targets $(if $(AGAIN),--again)

test-%: $(INSTALLED) ## [SEED=n] one target of test-all: seeds versions histories fuzz docs pages stories stories-apart pipelines timing simulation simulate mutants chaos chaos-apart chaos-spark soak fuzz-server bench bench-spark
	$(BIN)/python -m tests.tiers.targets $*

test-report: $(INSTALLED) ## write docs/reference/test-report.md from the last run of each target
	$(BIN)/python -m tests.tiers.targets --report

run: $(INSTALLED) ## start a server and a Spark worker, and run the tutorial's pipeline
	exec $(BIN)/python -m conductor_workers.demo

bench: $(INSTALLED) ## measure, write docs/reference/benchmarks.md, fail below a floor
	$(BIN)/python benchmarks/run.py

bench-spark: $(INSTALLED) ## measure Spark workers, write docs/reference/benchmarks-spark.md [ONLY=T1,T5] [PAIRS=n] [DATA=folder]
	$(BIN)/python benchmarks/spark_run.py $(if $(ONLY),--only $(ONLY)) $(if $(PAIRS),--pairs $(PAIRS)) \
		$(if $(DATA),--data $(DATA))

bench-scale: $(INSTALLED) ## a million tasks, open and archived executions; writes docs/reference/benchmarks-scale.md [PART=wide] [MANY=n]
	$(BIN)/python benchmarks/scale_run.py $(if $(PART),--only $(PART)) $(if $(MANY),--many $(MANY))

bench-lean: $(INSTALLED) ## start, memory, idle CPU, executions beside Java's and an earlier tree; writes docs/reference/benchmarks-lean.md [PART=start|memory|idle|java|before|shapes] [MANY=n] [SECONDS=s]
	$(BIN)/python -m benchmarks.lean_run $(if $(PART),--only $(PART)) $(if $(MANY),--many $(MANY)) \
		$(if $(SECONDS),--seconds $(SECONDS))

bench-peers: $(INSTALLED) ## measure peers and this server in turn, write docs/reference/benchmarks-peers.md [TURNS=n] [ONLY=java,rq]
	$(BIN)/python -m benchmarks.peers.run $(if $(TURNS),--turns $(TURNS)) $(if $(ONLY),--only $(ONLY))

bench-compare: $(INSTALLED) ## compare this tree with BASE=<commit>, measured in turn; fails where it is over 10 % worse
	$(BIN)/python benchmarks/compare.py $(BASE)

profile: $(INSTALLED) ## where the CPU of an execution goes, part by part [WORK=alone|fork|chain]
	$(BIN)/python benchmarks/ledger.py $(or $(WORK),one)

mutants: $(INSTALLED) ## plant bugs one at a time and see what catches each (ONLY=<id>)
	$(BIN)/python -m tests.mutants --jobs $(JOBS) $(ONLY)

chaos: $(INSTALLED) ## kill processes for SECONDS (300) with FSYNC (always, everysec), SEED (1) and SHAPE (server, apart), then judge
	$(BIN)/python -m tests.chaos --seconds $(or $(SECONDS),300) --fsync $(or $(FSYNC),always) \
		--seed $(or $(SEED),1) --shape $(or $(SHAPE),server)

chaos-spark: $(INSTALLED) ## strike data pipelines at every fault point [ONLY=F8,F9] [SCENE=bounded] [STRIKE=jvm] [GO_ON=1] [MINUTES=60]
	$(BIN)/python -m tests.workers.pipelines.chaos $(if $(ONLY),--only $(ONLY)) \
		$(if $(SCENE),--scene $(SCENE)) $(if $(STRIKE),--strike $(STRIKE)) $(if $(GO_ON),--go-on) \
		$(if $(MINUTES),--minutes $(MINUTES))

APART = $(if $(filter-out apart server,$(SHAPE)),$(error SHAPE is apart or server))$(if $(filter apart,$(SHAPE)),--apart)

fuzz: $(INSTALLED) ## hostile requests to a real server for MINUTES (20) [SEED=n] [SHAPE=apart|server] [REPORT=path]; ends with 1 when it is hurt
	$(BIN)/python -m tests.fuzz --minutes $(or $(MINUTES),20) $(if $(SEED),--seed $(SEED)) \
		$(if $(FROM),--first $(FROM)) $(if $(REPORT),--report $(REPORT)) $(APART)

soak: $(INSTALLED) ## half load for MINUTES (15) [SHAPE=apart|server]: memory must not grow, queues must be empty at the end
	$(BIN)/python -m tests.chaos.soak --minutes $(or $(MINUTES),15) $(APART)

schemas: $(INSTALLED) ## write schemas/ from the wire forms
	$(BIN)/conductor-py schemas write schemas

config-example: $(INSTALLED) ## write config.properties.example from the settings
	$(BIN)/conductor-py config example > config.properties.example

simulate: $(INSTALLED) ## run SEEDS=n simulated deployments with faults [FROM=k] [REPORT=path] [HOURS=h]
	$(BIN)/python -m conductor_py.testing.simulation --seeds $(or $(SEEDS),1000) --from $(or $(FROM),0) \
		--commit "$$(git rev-parse --short HEAD 2>/dev/null || echo unknown)" $(if $(REPORT),--report $(REPORT)) $(if $(HOURS),--hours $(HOURS))

clean: ## remove what tools leave behind; keeps .venv
	rm -rf build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find conductor_py workers tests -name __pycache__ -type d -prune -exec rm -rf {} +
