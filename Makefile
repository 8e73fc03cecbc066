# Everything runs in .venv, which is made on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test check docs paper benchmarks clean

demo: $(VENV)/demo.done   ## compare plain and impartial training on real data, print the table, write the page
	$(BIN)/evenhand compare hi --seeds 2 --page demo.html

test: $(VENV)/test.done   ## run the tests
	@command -v chromium chromium-browser google-chrome >/dev/null || echo "No Chromium here: the tests of the report page in a browser are left out (Debian: apt-get install chromium)."
	$(BIN)/python -m pytest

check: $(VENV)/check.done $(VENV)/test.done   ## lint and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/docs.done   ## the site, with executed notebooks, in build/site: three minutes
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/python docs/site/check.py build/site

paper: $(VENV)/demo.done   ## the paper's tables and figures from the committed reports
	$(BIN)/python paper/update.py

benchmarks: $(VENV)/test.done   ## the ratios that the documentation quotes
	$(BIN)/python benchmarks/block_overhead.py
	$(BIN)/python benchmarks/solvers.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build
	find . -name __pycache__ -o -name '*.egg-info' | xargs rm -rf

$(VENV)/base.done: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	# torch first and alone: without the pinned version, gigabytes of CUDA packages arrive
	$(INSTALL) "$$(grep -i '^torch==' constraints.txt)" "pip>=25.1"
	$(INSTALL) -e .
	touch $@

$(VENV)/demo.done: $(VENV)/base.done
	$(INSTALL) -e '.[demo]'
	touch $@

$(VENV)/test.done: $(VENV)/base.done
	$(INSTALL) -e '.[demo,ray]' --group test
	touch $@

$(VENV)/docs.done: $(VENV)/base.done
	$(INSTALL) -e '.[demo]' --group docs
	touch $@

$(VENV)/check.done: $(VENV)/base.done
	$(INSTALL) --group check
	touch $@
