# Each target sets up what it needs; python3 and make are enough.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-extras test-elsewhere fuzz docs screenshots clean

.venv/core: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/plot: .venv/core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .[plot]
	touch $@

.venv/dev: .venv/core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .[dev]
	touch $@

.venv/extras: .venv/dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .[view] fmpy torch==2.13.0
	touch $@

.venv/docs: .venv/core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .[docs]
	touch $@

demo: .venv/plot
	$(BIN)/armlet demo

test: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n auto --dist worksteal

# What `make test` leaves out: long tests (of others, not the longer cases: `pytest -m long`), and those of PyTorch,
# FMPy and viser, which are no part of dev.
test-extras: .venv/extras
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n auto --dist worksteal -m "" --skipped

test-elsewhere: .venv/dev
	$(BIN)/python tests/elsewhere.py

SECONDS ?= 600
fuzz: .venv/dev
	PYTHONPATH=tests $(BIN)/python -m fuzz --seconds $(SECONDS)

docs: .venv/docs
	$(BIN)/mkdocs build --strict

screenshots: docs
	PYTHONPATH=tests $(BIN)/python -m screenshots site screenshots

clean:
	rm -rf .venv .venv-elsewhere site screenshots
