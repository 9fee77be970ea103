# make run    the main job: the paper's primary evaluation, as a page in results/
# make test   every check and every test
# make bench  speed against a literal transcription of the paper (minutes)
# make format rewrite the code in the house format

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One BLAS thread: the matrices are small and many, and threads would only wait for each other.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1

.PHONY: run test check browser bench format clean

run: $(VENV)/installed
	$(BIN)/soqo reproduce primary --out results

test: check browser
	$(BIN)/pytest -n 2 -q

check: $(VENV)/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The page of a run is tested in a real browser, which is installed where that is allowed.
browser:
	@if command -v chromium || command -v chromium-browser || command -v google-chrome; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		echo "installing chromium for the tests in a browser"; \
		export DEBIAN_FRONTEND=noninteractive; \
		{ apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } > /dev/null \
		|| echo "chromium could not be installed: the tests in a browser are skipped"; \
	else echo "no chromium and no right to install it: the tests in a browser are skipped"; fi

bench: $(VENV)/installed
	$(BIN)/pytest benchmarks -q -s -p no:xdist --benchmark-enable --benchmark-columns=min,median,rounds

format: $(VENV)/installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) results .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks .import_linter_cache

# The stamp is newer than what it was made from, so a second call installs nothing.
$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	PIP_CONSTRAINT=constraints.txt $(BIN)/pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@
