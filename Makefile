# Two commands do everything on a fresh machine: `make serve` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
ARGS   ?=

.PHONY: serve test lint types contracts clean

serve: $(VENV)/.serve
	$(BIN)/mockvllm serve $(ARGS)

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(VENV)/.serve: pyproject.toml scripts/install
	sh scripts/install $(VENV) "$(PYTHON)" -e ".[tokenizer]"
	touch $@

$(VENV)/.dev: pyproject.toml scripts/install
	sh scripts/install $(VENV) "$(PYTHON)" -e ".[all]" --group dev
	touch $@ $(VENV)/.serve

clean:
	rm -rf $(VENV)
