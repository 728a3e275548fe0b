# Two commands do everything on a fresh machine: `make serve` and `make test`.
# PYTHON=/usr/bin/python3 picks an interpreter; ARGS="--port 9000" goes to the command.
VENV ?= .venv
BIN  := $(VENV)/bin
ARGS ?=

export PYTHON

.PHONY: serve test lint style types contracts image clean

serve: $(VENV)/.serve
	@exec $(BIN)/mockvllm serve $(ARGS)

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(ARGS)

# Each alone, or all in spite of a failure: make -k lint
lint: style types contracts

style: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

contracts: $(VENV)/.dev
	$(BIN)/lint-imports

# Built and run as CI does it, without a daemon; with one: docker build -t mockvllm .
image:
	scripts/image build

$(VENV)/.serve: pyproject.toml scripts/install
	@echo "installing into $(VENV)"
	@scripts/install $(VENV) -e ".[tokenizer,structured]"
	@touch $@

$(VENV)/.dev: pyproject.toml scripts/install
	@echo "installing into $(VENV), with what tests and linters need"
	@scripts/install $(VENV) -e ".[all]" --group dev
	@! command -v npm >/dev/null || npm install --silent --no-audit --no-fund --prefix $(VENV)/node openai
	@touch $@ $(VENV)/.serve

clean:
	rm -rf $(VENV)
