PYTHON ?= python3.11

BIN := .venv/bin
STAMP := .venv/stamp

# Do not ask the network for a newer pyright.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.DEFAULT_GOAL := .venv
.PHONY: .venv debian demo lint test test-slow quick results-quick docs format constraints clean

.venv: $(STAMP)

# Without its stamp an environment is unfinished: make it anew.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo 'sporadic needs Python 3.11, which "$(PYTHON)" is not: install it, or use `make PYTHON=...`.' >&2; exit 1; }
	@test -e $@ || $(PYTHON) -m venv --clear .venv
	@rm -f $@
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --build-constraint constraints.txt \
		--editable '.[plot,track,scale,serve]' --group test --group lint --group docs
	@touch $@

# A browser and a database for the tests, from Debian. Where CI is set they must be there; elsewhere tests go without.
debian:
	@.ci/debian

demo: $(STAMP)
	$(BIN)/sporadic demo --force

lint: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright

# The tests of a file share what they compile and fit, so one worker takes them all.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# What XLA compiles is kept next to the packages that compiled it. The workers of xdist share it, so it must be locked,
# which JAX does once a maximal size is set.
test test-slow quick: export JAX_COMPILATION_CACHE_DIR := $(CURDIR)/.venv/jax-cache
test test-slow quick: export JAX_COMPILATION_CACHE_MAX_SIZE := 2000000000
test test-slow quick: export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS := 0.2
test test-slow quick: export JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES := -1

# Every test is in one of these two.
test: $(if $(CI),debian) lint
	$(PYTEST) --durations 30 -m "not slow"
test-slow: $(if $(CI),debian) $(STAMP)
	$(PYTEST) --durations 30 -m slow

# While working: tests that compile nothing.
QUICK := tests/data tests/datasets/prepare tests/evaluation \
	tests/core/test_batching.py tests/encoding/test_encoder.py tests/forecasting/test_times.py
quick: $(STAMP)
	$(PYTEST) -m "not slow" $(QUICK)

# Every table and figure of the paper, shortened; the data are simulated or, where they are at hand, real.
results-quick: $(STAMP)
	$(BIN)/python -m benchmarks.results_quick

docs: $(STAMP)
	$(BIN)/zensical build --strict

format: $(STAMP)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# Newest releases that fit pyproject.toml, tried in an environment of their own, become the pins.
constraints:
	rm -rf build/pins
	$(PYTHON) -m venv build/pins
	build/pins/bin/python -m pip install --quiet --upgrade pip
	build/pins/bin/python -m pip install --quiet hatchling editables --editable '.[plot,track,scale,serve]' --group test --group lint --group docs
	build/pins/bin/python -m pip freeze --all --exclude-editable --exclude setuptools > build/constraints.txt
	mv build/constraints.txt constraints.txt
	rm -rf build/pins

clean:
	rm -rf build dist sporadic-demo .cache .pytest_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
