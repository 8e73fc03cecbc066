# Everything runs in .venv, which is made on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test check benchmarks clean

demo: $(VENV)/demo.done   ## train plain and impartial on real data, and see who was neglected
	$(BIN)/python examples/heterogeneous_vae.py

test: $(VENV)/test.done   ## run the tests
	$(BIN)/python -m pytest

check: $(VENV)/check.done $(VENV)/test.done   ## lint and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

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
	$(INSTALL) -e '.[demo,plot]'
	touch $@

$(VENV)/test.done: $(VENV)/base.done
	$(INSTALL) -e '.[demo,plot,data,multimodal]' --group test
	touch $@

$(VENV)/check.done: $(VENV)/base.done
	$(INSTALL) --group check
	touch $@
