# make lab     set up once, then open the course in JupyterLab (PORT=8888, BROWSER=none for no window)
# make test    set up once, then run the fast tests; with ALL=1 also the slow ones
# make weekly  run the slowest tests: changes in other projects, every page and deck, whole kits
# make teach   open the course with the solutions and nbgrader's Formgrader
# make grade   grade a problem set: make grade PS=ps1 (see TEACHING.md)
# make kit     pack the students' archive, build/roofline-course-VERSION.zip
# make self-study  pack a kit with model answers, for self-study
# make slides  build the decks into build/slides, with PDFs if Chromium is installed
# make site    build the web pages with the self-study kit, and with the decks if they are built;
#              with SITE=https://... its address, for notebooks, cards and feed; with
#              REPOSITORY=https://... the code's, for links to report a mistake
# make build   rebuild the notebooks from their texts
# make extension  rebuild roofcheck's JupyterLab extension (needs Node.js)
# make bench   measure the speed claims, as ratios
# make lock    pin the newest releases that pyproject.toml allows
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8888
BROWSER ?= default

.PHONY: lab teach grade test weekly kit self-study slides site build extension bench lock clean
.DEFAULT_GOAL := lab

lab: $(VENV)/ready
	@$(BIN)/python -m tools.lab --port $(PORT) --browser $(BROWSER)

teach: $(VENV)/ready
	@$(BIN)/python -m tools.lab --port $(PORT) --browser $(BROWSER) --all

grade: $(VENV)/ready
	@$(BIN)/python -m roofgrade $(if $(PS),$(PS),$(error Which set? make grade PS=ps1))

kit: $(VENV)/ready
	@$(BIN)/python -m tools.kit

self-study: $(VENV)/ready
	@$(BIN)/python -m tools.kit --self-study

# Continuous integration sets CI. Every worker collects all tests, so extra workers cost time.
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
	@$(BIN)/python -m tools.site $(if $(SITE),--address $(SITE)) \
	    $(if $(REPOSITORY),--repository $(REPOSITORY))

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

# Jupyter's packages require rfc3987-syntax, but their schemas contain no addresses that it checks.
# Without it, JupyterLab and nbgrader start two seconds faster.
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
