# SiteLedger. `make help` lists the targets.
SHELL := /bin/bash
PY := .venv/bin/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help install install-dev demo run screenshots test test-all coverage chaos lint format requirements bench bench-rivals scanner bulk-client linters clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

install: ## Set up .venv and the system packages that SiteLedger needs
	@scripts/install run

install-dev: ## Set up the same, and everything that tests and linters need
	@scripts/install dev

demo: install ## Process the packets of twelve sample sites from end to end
	@scripts/demo

run: install ## Serve the pages and one worker host on http://127.0.0.1:8000
	@scripts/run

screenshots: install-dev ## Take the pictures in docs/screenshots again, of the demo's data
	@scripts/screenshots

test: install-dev ## Run the test suite, on SQLite and PostgreSQL
	@scripts/test

test-all: install-dev scanner bulk-client ## Run the test suite and the slow tests
	@scripts/test --slow

coverage: install-dev ## Measure branch coverage, with details in var/coverage; fails below 95 %
	@rm -f .coverage*
	scripts/test --coverage
	scripts/count-branches

chaos: install-dev ## Inject failures while 2,000 documents are processed (docs/chaos.md); SEED=7
	$(PY) -m bench.chaos $(if $(SEED),--seed $(SEED)) $(CHAOS)

lint: install-dev linters ## Check style, types, imports, templates, migrations, words and spelling
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	DEBUG=True .venv/bin/mypy
	.venv/bin/lint-imports --no-cache
	.venv/bin/djade --check $$(git ls-files 'templates/*.html')
	DEBUG=True $(PY) manage.py makemigrations --check --dry-run
	DEBUG=True $(PY) manage.py check
	scripts/settings-reference --check
	scripts/module-index --check
	scripts/finding-codes --check
	scripts/check-words
	var/linters/bin/codespell $$(git ls-files)
	var/linters/bin/hadolint deploy/Containerfile
	var/linters/bin/yamllint --strict --config-file deploy/.yamllint deploy/compose.yaml
	var/linters/bin/check-jsonschema --builtin-schema vendor.compose-spec deploy/compose.yaml
	var/linters/bin/shellcheck .ci/run deploy/make-* scripts/{demo,install,run,screenshots,serve,with-postgresql}
	@scripts/audit-packages

format: install-dev ## Format code and templates
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .
	.venv/bin/djade $$(git ls-files 'templates/*.html') || true

requirements: ## Pin every package with its hashes, from the .in files
	.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes requirements.in -o requirements.txt
	.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes requirements-ocr.in -o requirements-ocr.txt
	.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes requirements-otel.in -o requirements-otel.txt
	.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes requirements-dev.in -o requirements-dev.txt
	.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes bench/sides/rivals.in -o bench/sides/rivals.txt
	.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes tests/scanner/wapiti.in -o tests/scanner/wapiti.txt
	.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes tests/bulk_client/smart_fetch.in -o tests/bulk_client/smart_fetch.txt
	.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes tests/deploy/linters.in -o tests/deploy/linters.txt

scanner: var/scanner/installed ## Install wapiti in its own environment, for `make test-all`

bulk-client: var/bulk-client/installed ## Install smart-fetch in its own environment, for `make test-all`

bench: bench-rivals ## Run all benchmarks and write docs/benchmarks (long; QUICK=1: short)
	$(PY) -m bench $(if $(QUICK),--quick)

linters: var/linters/installed ## Install the linters of deploy/ and of shell scripts in their own environment

bench-rivals: install ## Install OCRmyPDF and RapidOCR in their own environment, as baselines of benchmarks
	@$(MAKE) --no-print-directory var/rivals/installed || echo 'OCRmyPDF and RapidOCR could not be installed: they are left out'

# These environments are created again when the file that pins their packages is newer. The files pin
# every package, so that none is resolved: pip 23 fails on extras of packages that have hashes.
var/scanner/installed: tests/scanner/wapiti.txt | install
var/bulk-client/installed: tests/bulk_client/smart_fetch.txt | install
var/linters/installed: tests/deploy/linters.txt | install
var/rivals/installed: bench/sides/rivals.txt | install
var/%/installed:
	@$(PY) -m venv --clear $(@D) && $(@D)/bin/python -m pip install --quiet --require-hashes --no-deps -r $< && touch $@

clean: ## Delete data in var, caches and bytecode (never .env)
	rm -rf var .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage*
	find . -path ./.venv -prune -o -name __pycache__ -prune -exec rm -rf {} +
