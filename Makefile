# SiteLedger. `make help` lists the targets.
SHELL := /bin/bash
PY := .venv/bin/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help install install-dev demo run screenshots test test-all coverage chaos lint format requirements bench bench-rivals scanner linters clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

install: ## Set up .venv and the system packages that running needs
	@scripts/install run

install-dev: ## The same, with everything that tests and linters need
	@scripts/install dev

demo: install ## The main job, end to end, on twelve sample sites
	@scripts/demo

run: install ## Serve the pages and one worker host on http://127.0.0.1:8000
	@scripts/run

screenshots: install-dev ## Take the pictures in docs/screenshots anew, of the demo's work
	@scripts/screenshots

test: install-dev ## The whole suite, on SQLite and PostgreSQL
	@scripts/test

test-all: install-dev scanner ## The suite and the slower proofs
	@scripts/test --slow

coverage: install-dev ## Which branches the suite takes, line by line in var/coverage; 95 % or it fails
	@rm -f .coverage*
	scripts/test --coverage
	scripts/count-branches

chaos: install-dev ## A storm of kills over 2,000 documents, and what is left (docs/chaos.md); SEED=7
	$(PY) -m bench.chaos $(if $(SEED),--seed $(SEED)) $(CHAOS)

lint: install-dev linters ## Style, types, import directions, templates, migrations
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	DEBUG=True .venv/bin/mypy
	.venv/bin/lint-imports --no-cache
	.venv/bin/djade --check $$(git ls-files 'templates/*.html')
	DEBUG=True $(PY) manage.py makemigrations --check --dry-run
	DEBUG=True $(PY) manage.py check
	scripts/settings-reference --check
	scripts/module-index --check
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

requirements: ## Pin every package with its hashes, from requirements*.in
	.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes requirements.in -o requirements.txt
	.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes requirements-dev.in -o requirements-dev.txt
	.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes bench/rivals.in -o bench/rivals.txt
	.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes tests/scanner/wapiti.in -o tests/scanner/wapiti.txt
	.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes tests/deploy/linters.in -o tests/deploy/linters.txt

scanner: var/scanner/installed ## wapiti, apart from ours, which asks the signed-in site in `make test-all`

bench: bench-rivals ## Everything measured beside its baseline, in docs/benchmarks (long; QUICK=1: short)
	$(PY) -m bench $(if $(QUICK),--quick)

linters: var/linters/installed ## Those of deploy/ and of shell scripts, apart from ours

bench-rivals: install ## OCRmyPDF, apart from ours, for bench/reading.py to measure beside
	@$(MAKE) --no-print-directory var/rivals/installed || echo 'OCRmyPDF could not be installed: it is left out'

# Made anew when what pins it is newer.
var/scanner/installed: tests/scanner/wapiti.txt | install
var/linters/installed: tests/deploy/linters.txt | install
var/rivals/installed: bench/rivals.txt | install
var/%/installed:
	@$(PY) -m venv --clear $(@D) && $(@D)/bin/python -m pip install --quiet --require-hashes -r $< && touch $@

clean: ## Remove what running left behind (never .env)
	rm -rf var .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage*
	find . -path ./.venv -prune -o -name __pycache__ -prune -exec rm -rf {} +
