# make lab     set up once, then open the course in JupyterLab (PORT=8888, BROWSER=none for no window)
# make test    set up once, then run every test but the slow ones; with ALL=1 those too
# make weekly  run the tests of changes in other projects, of every page and deck, and the dearest
# make teach   open the course with the solutions and nbgrader's Formgrader
# make grade   grade what students handed in: make grade PS=ps1 (TEACHING.md goes through a term)
# make kit     pack what students get into build/roofline-course-VERSION.zip
# make self-study  the same for who learns alone, with the model answers of paragraphs
# make slides  build the decks, HTML and PDF, into build/slides
# make site    build pages of all of it, with the kit for self-study, and the decks if they were made
#              before; with SITE=https://... its notebooks know where they were downloaded
# make build   rebuild the notebooks from their texts
# make extension  build what JupyterLab loads of roofcheck anew, which needs Node.js
# make bench   measure the speed claims, as ratios
# make lock    pin the newest releases that pyproject.toml allows
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8888
BROWSER ?= default

.PHONY: lab teach grade test weekly kit self-study slides site build extension bench lock clean
.DEFAULT_GOAL := lab

lab: $(VENV)/ready
	@$(BIN)/python -m tools.notebooks.model_answers
	@$(BIN)/python -m tools.lab --port $(PORT) --browser $(BROWSER)

teach: $(VENV)/ready
	@$(BIN)/python -m tools.lab --port $(PORT) --browser $(BROWSER) --all

grade: $(VENV)/ready
	@$(BIN)/python -m roofgrade $(if $(PS),$(PS),$(error Which set? make grade PS=ps1))

kit: $(VENV)/ready
	@$(BIN)/python -m tools.kit

self-study: $(VENV)/ready
	@$(BIN)/python -m tools.kit --self-study

# Continuous integration sets CI. A worker more costs what collecting the tests costs.
LEFT_OUT := not weekly$(if $(or $(CI),$(ALL)),, and not slow)
WORKERS ?= 2
PYTEST = $(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
test: $(VENV)/ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(PYTEST) $(if $(ALL),--nbval) -m "$(LEFT_OUT)"

weekly: $(VENV)/ready
	$(PYTEST) -m weekly
	$(PYTEST) --nbval course/en

slides: $(VENV)/ready
	@$(BIN)/python -m tools.slides

site: self-study
	@$(BIN)/python -m tools.site $(if $(SITE),--address $(SITE))

build: $(VENV)/ready
	$(BIN)/python -m tools.notebooks
	$(BIN)/python -m tools.notebooks.contents

extension: $(VENV)/ready
	@sh tools/extension.sh roofcheck/home/lab $(BIN)

bench: $(VENV)/ready
	$(BIN)/python -m benchmarks.ring1
	$(BIN)/python -m benchmarks.models
	$(BIN)/python -m benchmarks.slider
	$(BIN)/python -m benchmarks.grading

# Jupyter's packages ask for rfc3987-syntax to check addresses of a kind that none of its schemas
# has. Building its grammar takes two seconds at each start of JupyterLab and of nbgrader.
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate \
    --no-emit-package roofkit --no-emit-package rooflab --no-emit-package roofcheck \
    --no-emit-package rfc3987-syntax --no-emit-package lark
lock: $(VENV)/ready
	$(BIN)/pip install --quiet --upgrade uv
	echo uv | $(COMPILE) --upgrade - -o tools/packages/requirements.lock
	$(COMPILE) --extra dev --upgrade pyproject.toml roofgrade/pyproject.toml -o requirements.lock
	$(COMPILE) -c requirements.lock --extra lab roofcheck/pyproject.toml -o tools/kit/requirements.lock
	$(COMPILE) -c requirements.lock --extra lab deploy/machine/requirements.in \
	    roofcheck/pyproject.toml roofgrade/pyproject.toml -o deploy/machine/requirements.lock

clean:
	rm -rf $(VENV) build

HOME_FILES := roofcheck/pyproject.toml roofcheck/home/lab/roofcheck.json \
    roofcheck/home/labextension/package.json
$(VENV)/ready: requirements.lock pyproject.toml $(HOME_FILES) tools/setup.sh tools/packages/install.py
	@sh tools/setup.sh $(VENV)
