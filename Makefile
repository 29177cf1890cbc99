# The entry point for development. Nothing is installed outside .venv; `make` alone lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
BIN := .venv/bin
NEED := deploy/setup/need.sh
# test files that run in parallel, each worker with a Kafka of its own; `make test WORKERS=0` runs them sequentially
WORKERS := 3
# of `make test-slow`: test files and folders; all if empty
TESTS :=
# of `make bench`: names of parts; those of the goals if empty
PARTS :=
# and a commit whose build it measures, too
BASE :=
# a test that takes ten minutes hangs: the stacks of its threads are printed, and the run ends
LIMIT := -o faulthandler_timeout=600 -o faulthandler_exit_on_timeout=true --max-worker-restart 0
PYTEST := $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(LIMIT)

# with it, each of some thousand starts of Python would compile the tests, and what was changed since `make setup`
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo demo-hbase fmt check long-files audit test-fast test test-slow test-properties test-versions bench bench-all \
	bench-page docs site release build services-up services-down services-status java jdk maven

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.ready  ## create or update .venv with the locked dependencies
	@:
.venv/.ready: requirements.lock pyproject.toml deploy/setup/venv.sh
	@deploy/setup/venv.sh && touch $@

java:
	@$(NEED) java
jdk: java
	@$(NEED) jdk
maven: java
	@$(NEED) maven

demo: java setup  ## an access log through Spark into RocksDB; make demo LOG=path reads yours
	@$(BIN)/python deploy/demo/demo.py $(if $(LOG),"$(LOG)")

demo-hbase: maven setup  ## real Kafka and HBase from jars: produce, run, scan, stop
	@$(BIN)/python deploy/demo/demo_hbase.py

fmt: setup  ## format, and apply ruff's automatic fixes
	@$(BIN)/ruff check --fix-only --quiet . && $(BIN)/ruff format .

check: setup  ## ruff, mypy, import contracts, generated docs, links, layout of tests, figures
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports
	@$(BIN)/python deploy/docs/generate.py --check && $(BIN)/python deploy/prometheus/generate.py --check
	@$(BIN)/python deploy/checks/tree.py
	@$(BIN)/python deploy/checks/figures.py

long-files:  ## files of the product with more than 300 lines, for a review
	@git ls-files '*.py' | grep -E '^(ingest|decorators|sinks|deploy)/' | xargs wc -l | awk '$$1 > 300 && $$2 != "total"' | sort -rn

audit: setup  ## known vulnerabilities of packages and jars, from osv.dev; needs the internet
	@$(BIN)/python -m deploy.release.audit

test-fast: setup  ## unit and conformance tests, no servers
	@$(PYTEST) -m "not slow" tests/unit tests/conformance

test: jdk maven setup  ## all tests but the slow ones, with real Kafka, HBase and Spark; under 20 minutes
	@$(PYTEST) -m "not slow" --durations=15

test-slow: jdk maven setup  ## soaks and long faults, and test-properties; hours; make test-slow TESTS=FILES runs some alone
	@$(if $(TESTS),:,$(MAKE) --no-print-directory test-properties)
	@$(BIN)/python -m pytest -q -m slow $(TESTS)
	@$(if $(TESTS),:,$(MAKE) --no-print-directory test-versions)

test-versions: jdk maven setup  ## some tests with the oldest and newest servers of each line; writes docs/operations/versions.md
	@$(BIN)/python -m tests.support.server_versions run
	@$(BIN)/python -m tests.support.server_versions report

test-properties: setup  ## property tests with many examples
	@$(BIN)/python -m pytest -q -m "hypothesis and not slow" --hypothesis-profile thorough tests/unit tests/conformance

bench: jdk maven setup  ## the benchmarks of the goals, in several sessions if wanted; make bench PARTS="micro peers" measures some
	@$(BIN)/python -m tests.bench $(PARTS) $(if $(BASE),--base $(BASE))

bench-all: jdk maven setup  ## all benchmarks, including scaling and the soak; hours
	@$(BIN)/python -m tests.bench --all

bench-page: setup  ## write docs/performance.md from the run of `make bench`
	@$(BIN)/python -m tests.bench --write

docs: setup  ## generate docs/reference, the dashboard and the alerts of Kubernetes
	@$(BIN)/python deploy/docs/generate.py && $(BIN)/python deploy/prometheus/generate.py

site: setup  ## the documents as a site with search, in dist/site; VERSION=0.2 publishes it on the branch gh-pages of this clone
	@deploy/site/build.sh $(VERSION)

services-up: maven setup  ## start Kafka and HBase on this machine, in data/services; KAFKA_VERSION=…, HBASE_VERSION=…
	@$(BIN)/python deploy/local/services.py start

services-down: setup  ## stop them; their data stays
	@$(BIN)/python deploy/local/services.py stop

services-status: setup  ## show which of them run, on which ports
	@$(BIN)/python deploy/local/services.py status || true

release: setup  ## `make build`, if the results in docs/reliability.md are recent enough; needs a clone with its history
	@$(BIN)/python -m tests.support.ledger age
	@$(MAKE) --no-print-directory build

build: setup  ## the files of a release of the last commit into dist/: wheel, source archive, lock, SBOM, NOTICE, checksums
	@$(BIN)/python -m deploy.release.build
