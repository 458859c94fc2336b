# Each target is enough on a fresh machine: it makes .venv and installs into it on first use.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SEEDS ?= 20000

.PHONY: demo test soak lint format coverage figures clean

demo: $(STAMP)
	$(BIN)/millstream demo

test: $(STAMP) lint
	$(BIN)/pytest -m "not soak and not spark and not cluster" -n 2
	$(BIN)/pytest -m "spark and not soak" -n 2 --dist loadfile tests/api tests/io tests/kernels tests/plan
	$(BIN)/pytest -m "spark and not soak" tests/bench tests/e2e
	$(BIN)/pytest -m "cluster and not soak"

soak: $(STAMP)
	$(BIN)/millstream simulate faults --seeds $(SEEDS) --json
	$(BIN)/millstream bench memory --json
	$(BIN)/pytest -m soak --timeout 7200

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

coverage: $(STAMP)
	MILLSTREAM_COVERAGE=docs/coverage.md $(BIN)/pytest -q tests/kernels -m "spark and not soak"

figures: $(STAMP)
	$(BIN)/millstream bench coordination --json
	$(BIN)/millstream simulate coordination --plot docs/coordination.png --json
	$(BIN)/millstream bench idle --json

$(STAMP): pyproject.toml
	command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is missing: install Python 3.11 or set PYTHON=..." >&2; exit 1; }
	command -v java >/dev/null || { echo "java is missing: Spark needs Java 17" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable '.[bench,dev]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) build dist
