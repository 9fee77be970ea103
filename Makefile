# Every target sets up .venv on its first call. `make` or `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Worker processes of the tests, and what to test: `make test JOBS=8`, `make coverage TESTS=tests/storage`.
JOBS ?= 2
TESTS ?=
# One BLAS thread: the matrices are small, so that threads cost more than they save.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1

.DEFAULT_GOAL := help
.PHONY: help setup run plants serve test check browser database docs docs-check coverage bench fuzz format hooks hooks-run \
	build clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/installed  ## Create .venv with soqo and the tools for development

run: $(VENV)/installed  ## Run the paper's primary evaluation and write a page to results/
	$(BIN)/soqo reproduce primary --out results

plants: $(VENV)/installed  ## Steer a simulated wind farm and a data center, and write their pages to results/
	$(BIN)/soqo plants wind-farm --out results/wind-farm
	$(BIN)/soqo plants data-center --out results/data-center

serve: $(VENV)/installed  ## Serve a simulated plant with a live page on http://127.0.0.1:8000
	@mkdir -p results
	$(BIN)/soqo serve --demo --store results/demo.sqlite

test: check browser database  ## Run every check and every test
	$(BIN)/pytest -n $(JOBS) -q $(TESTS)

check: $(VENV)/installed  ## Check format, lint rules, types and the layers of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Some tests open a page of results in a real browser. The target does nothing where a browser is installed. Otherwise it
# installs Debian's package, which needs root and apt-get; elsewhere these tests are skipped, and the message says so.
browser:  ## Find a browser for the tests of pages; as root on Debian, install chromium if there is none
	@if found=$$(command -v chromium || command -v chromium-browser || command -v google-chrome); then \
		echo "browser: the tests of pages use $$found"; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		echo "browser: installing the Debian package chromium for the tests of pages"; \
		export DEBIAN_FRONTEND=noninteractive; \
		{ apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } > /dev/null \
		|| echo "browser: chromium could not be installed; the tests of pages are skipped"; \
	else \
		echo "browser: no chromium or google-chrome on the PATH; install one, or the tests of pages are skipped"; \
	fi

# Some tests use a real PostgreSQL, which they start in a temporary folder. The target works as the one above.
database:  ## Find PostgreSQL for the tests of the service; as root on Debian, install it if it is missing
	@if found=$$(command -v initdb || ls /usr/lib/postgresql/*/bin/initdb 2> /dev/null); then \
		echo "database: the tests of the service use $$found"; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		echo "database: installing the Debian package postgresql for the tests of the service"; \
		export DEBIAN_FRONTEND=noninteractive; \
		{ apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql; } > /dev/null \
		|| echo "database: postgresql could not be installed; the tests with it are skipped"; \
	else \
		echo "database: no initdb on the PATH; install PostgreSQL, or the tests with it are skipped"; \
	fi

# The pages that are generated from the code, the gallery and the notebooks go to docs/generated, the site to build/site.
docs: $(VENV)/installed  ## Build the documentation site in build/site; a warning is an error
	$(BIN)/sphinx-build -b html -j $(JOBS) -W --keep-going -q docs build/site
	@echo "docs: open build/site/index.html"

docs-check: docs browser  ## Open every page of the site in a browser, at two widths, in both themes
	$(BIN)/python docs/_extensions/open_pages.py build/site

coverage: $(VENV)/installed browser database  ## Run the tests with branch coverage; fail below the threshold in pyproject.toml
	$(BIN)/coverage erase
	$(BIN)/pytest -n $(JOBS) -q --cov --cov-report=term-missing:skip-covered --cov-report=html \
		$(if $(TESTS),--cov-fail-under=0) $(TESTS)

bench: $(VENV)/installed  ## Measure the speed against a literal transcription of the paper (minutes)
	$(BIN)/pytest benchmarks -q -s -p no:xdist --benchmark-enable --benchmark-columns=min,median,rounds

# Each file of fuzz/ attacks one target with seeded data, and fails if it finds a fault.
fuzz: $(VENV)/installed  ## Attack certificates, files, journals and reproducibility with seeded data (minutes)
	@for target in fuzz/fuzz_*.py; do $(BIN)/python $$target || exit 1; done

format: $(VENV)/installed  ## Format the code and apply the fixes of the linter
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

hooks: $(VENV)/installed  ## Let git run the checks of .pre-commit-config.yaml before each commit
	$(BIN)/pre-commit install

hooks-run: $(VENV)/installed  ## Run the checks of .pre-commit-config.yaml on every file
	$(BIN)/pre-commit run --all-files --show-diff-on-failure

# The wheel is installed into an environment of its own, because .venv would find the sources of this folder instead.
build: $(VENV)/installed  ## Build the sdist and the wheel in dist/, and import the wheel in a fresh environment
	rm -rf dist build/wheel
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv build/wheel
	PIP_CONSTRAINT=constraints.txt build/wheel/bin/pip install --quiet --disable-pip-version-check dist/*.whl
	cd build && wheel/bin/python -I -c "import soqo; print('imported soqo', soqo.__version__, 'from', soqo.__file__)"
	rm -rf build

clean:  ## Delete .venv, the caches and everything that the other targets write
	rm -rf $(VENV) build dist docs/generated results htmlcov .coverage .coverage.* \
		.mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks .import_linter_cache
	find src -name __pycache__ -prune -exec rm -rf {} +

# The stamp is newer than what it was made from, so that a second call installs nothing.
$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	PIP_CONSTRAINT=constraints.txt $(BIN)/pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@
