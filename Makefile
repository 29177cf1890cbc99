# One entry for everything. Nothing is installed outside .venv; `make` alone lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
BIN := .venv/bin
NEED := deploy/setup/need.sh
# two test files at a time, each worker with servers of its own; `make test WORKERS=0` runs one after the other
WORKERS := 2
PYTEST := $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder

.PHONY: help setup demo demo-hbase fmt check test-fast test test-slow bench bench-all docs build \
	services-up services-down services-status java jdk maven

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.ready  ## make .venv with the locked dependencies; again only when they change
	@:
.venv/.ready: requirements.lock pyproject.toml deploy/setup/venv.sh
	@deploy/setup/venv.sh && touch $@

java:
	@$(NEED) java
jdk: java
	@$(NEED) jdk
maven: java
	@$(NEED) maven

demo: java setup  ## an access log through Spark into RocksDB; make demo LOG=path takes yours
	@$(BIN)/python deploy/demo/demo.py $(if $(LOG),"$(LOG)")

demo-hbase: maven setup  ## real Kafka and HBase from jars: produce, run, scan, stop
	@$(BIN)/python deploy/demo/demo_hbase.py

fmt: setup  ## format, and mend what ruff can mend
	@$(BIN)/ruff check --fix-only --quiet . && $(BIN)/ruff format .

check: setup  ## ruff, mypy, import contracts, generated docs, links, file lengths, layout of tests, figures
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports
	@$(BIN)/python deploy/docs/generate.py --check && $(BIN)/python deploy/checks/tree.py
	@$(BIN)/python deploy/checks/figures.py

test-fast: setup  ## unit and conformance tests, no servers
	@$(PYTEST) -m "not slow" tests/unit tests/conformance

test: jdk maven setup  ## everything but the slow tests, real Kafka, HBase and Spark included; under 20 minutes
	@$(PYTEST) -m "not slow" --durations=15

test-slow: jdk maven setup  ## soaks and long faults
	@$(BIN)/python -m pytest -q -m slow

bench: maven setup  ## the measured goals, under 40 minutes; writes docs/performance.md
	@$(BIN)/python -m tests.bench --write

bench-all: maven setup  ## every rung, what grows, and the soak
	@$(BIN)/python -m tests.bench --all --write

docs: setup  ## write docs/reference anew from the code
	@$(BIN)/python deploy/docs/generate.py

services-up: maven setup  ## start a local Kafka and HBase in data/services
	@$(BIN)/python deploy/local/services.py start

services-down: setup  ## stop them; their data stays
	@$(BIN)/python deploy/local/services.py stop

services-status: setup  ## what runs, and on which ports
	@$(BIN)/python deploy/local/services.py status || true

build: setup  ## wheel and source archive into dist/
	@$(BIN)/python -m hatchling build -d dist
