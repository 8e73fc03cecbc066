# Everything runs in .venv, which is made on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# One process per core and one thread each; the tests of a file stay together, because they share what they prepare.
WORKERS ?= auto
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 8 --dist loadfile
TORCH ?= 2.11.0
FUZZ ?= 2500

.PHONY: demo test quick fuzz chaos coverage kernels check docs dist wheel-test oldest paper benchmarks clean

demo: $(VENV)/demo.done   ## compare plain and impartial training on real data, print the table, write the page
	$(BIN)/evenhand compare hi --page demo.html

test: $(VENV)/test.done   ## run the tests
	@command -v chromium chromium-browser google-chrome >/dev/null || echo "No Chromium here: the tests of the report page in a browser are left out (Debian: apt-get install chromium)."
	$(PYTEST)

quick: $(VENV)/test.done   ## an answer in a minute: every test that is not slow, with a tenth of its cases
	$(PYTEST) --quick --hypothesis-profile=quick tests

fuzz: $(VENV)/test.done   ## FUZZ random inputs (2500) for every test marked "fuzz"
	FUZZ=$(FUZZ) $(PYTEST) --dist worksteal -m fuzz --hypothesis-profile=fuzz --hypothesis-show-statistics tests

chaos: $(VENV)/test.done   ## 100 kills at random moments, full disks, closed folders, two at once; nothing may be lost
	$(BIN)/python -m tests.chaos --kills 100

coverage: $(VENV)/test.done   ## which lines the tests run
	$(PYTEST) --cov=evenhand --cov-report=term:skip-covered --cov-report=html:build/coverage

kernels: $(VENV)/kernels.done   ## the Triton kernels on a CPU, in Triton's interpreter
	PYTHONPATH=$(CURDIR)/$(VENV)/triton TRITON_INTERPRET=1 $(PYTEST) --dist worksteal tests/impartial/test_kernels.py tests/impartial/test_stack_kernels.py

check: $(VENV)/check.done $(VENV)/test.done   ## lint and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/docs.done   ## the site, with executed notebooks, in build/site: three minutes
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/python docs/site/check.py build/site

dist: $(VENV)/dist.done   ## wheel and source archive, in dist/
	rm -rf dist build/lib build/bdist.*
	$(BIN)/python -m build --no-isolation .

wheel-test: dist   ## install the wheel into clean environments, one for each extra, and use it
	PYTHON=$(CURDIR)/$(BIN)/python tests/smoke/run dist/*.whl

oldest: $(VENV)-$(TORCH)/test.done   ## tests of evenhand.impartial with another torch: make oldest TORCH=2.11.0
	$(VENV)-$(TORCH)/bin/python -m pytest -n $(WORKERS) --maxprocesses 8 --dist loadfile tests/impartial

paper: $(VENV)/demo.done   ## the paper's tables and figures from the committed reports
	$(BIN)/python paper/update.py

benchmarks: $(VENV)/test.done   ## the ratios that the documentation quotes
	$(BIN)/python benchmarks/block_overhead.py
	$(BIN)/python benchmarks/solvers.py

clean:
	rm -rf $(VENV) $(VENV)-* .coverage dist .pytest_cache .mypy_cache .ruff_cache .hypothesis build
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

$(VENV)/dist.done: $(VENV)/base.done
	$(INSTALL) --group dist
	touch $@

# Beside the environment and not in it: all other tests run without Triton, as most machines do.
$(VENV)/kernels.done: $(VENV)/test.done
	$(INSTALL) --upgrade --no-deps --target $(VENV)/triton --group kernels
	touch $@

# Without torch's pin, and those of packages whose version torch itself prescribes.
# The only torch that pip finds for a plain version is the one with CUDA (2 to 4 GB with its packages, 6 GB on disk);
# PYTORCH may name an index of CPU builds, of 0.2 GB each.
$(VENV)-$(TORCH)/test.done: pyproject.toml constraints.txt
	test -x $(VENV)-$(TORCH)/bin/python || $(PYTHON) -m venv $(VENV)-$(TORCH)
	grep -viE '^(torch|triton|sympy|setuptools)==' constraints.txt > $(VENV)-$(TORCH)/constraints.txt
	$(VENV)-$(TORCH)/bin/python -m pip install --quiet -c $(VENV)-$(TORCH)/constraints.txt \
	    $(if $(PYTORCH),--extra-index-url $(PYTORCH)) "torch==$(TORCH)" "pip>=25.1"
	$(VENV)-$(TORCH)/bin/python -m pip install --quiet -c $(VENV)-$(TORCH)/constraints.txt "torch==$(TORCH)" --group oldest
	$(VENV)-$(TORCH)/bin/python -m pip install --quiet --no-deps -e .  # whatever bound it declares
	touch $@

$(VENV)/check.done: $(VENV)/base.done
	$(INSTALL) --group check
	touch $@
