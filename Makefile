# Every target sets up what it needs: `make demo` and `make test` work on a fresh clone.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .setup/done
PYTEST_ARGS ?=
JOBS ?= 2
SECTIONS ?=

# A place of its own for compiled code, also where the environment switches bytecode off.
export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
.PHONY: help setup demo test fuzz lint format warm bench docs golden lock clean

help: ## List the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(STAMP) ## Make .venv from the hash-locked requirements and warm the kernels

$(STAMP): pyproject.toml requirements/dev.txt requirements/uv.txt
	@mkdir -p .setup
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --require-hashes -r requirements/uv.txt
	$(BIN)/uv pip sync --quiet --require-hashes --compile-bytecode requirements/dev.txt
	$(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/python -m compileall -q ctestbed
	$(BIN)/python -m tools.warm
	@touch $@

demo: setup ## Build, route, drive, attest and measure two campuses 150 km apart
	@mkdir -p demo
	$(BIN)/ctestbed bench run two-campus-150km --force --export html=demo/report.html --export json=demo/report.json
	@echo "The whole report: demo/report.html"

test: setup ## Run every test
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not fuzz" $(PYTEST_ARGS)

fuzz: setup ## Run the long, exhaustive tests
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m fuzz $(PYTEST_ARGS)

lint: setup ## Style, types, layers, sizes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.sizes

format: setup ## Rewrite the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

warm: setup ## Compile every kernel into the user's cache
	$(BIN)/python -m tools.warm

bench: setup ## Time the hot paths against a peer in the same run
	$(BIN)/python -m tools.benchmarks $(SECTIONS)

docs: setup ## Build the documentation; warnings are errors
	$(BIN)/python -m tools.reference docs/reference
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	@echo "The documentation: docs/_build/html/index.html"

golden: setup ## Rewrite the generated reference pages, to be reviewed as a diff
	$(BIN)/python -m tools.reference docs/reference
	$(BIN)/python -m tools.published_rows docs/reference/published-rows.md

lock: ## Lock the dependencies anew, by hash
	test -x $(BIN)/uv || $(MAKE) setup
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate pyproject.toml -o requirements/run.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate pyproject.toml --group dev --group docs --group build -o requirements/dev.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate requirements/uv.in -o requirements/uv.txt

clean: ## Remove everything that setup, tests and docs made
	rm -rf .venv .setup build dist demo docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
