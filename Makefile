# All that a person or CI runs. Plain cargo works as well once `make setup` has been run.

# Setup has read LIBTORCH by then and written it to .cargo/local.toml. One spelling for all calls:
# another one would rebuild the bindings.
CARGO := env -u LIBTORCH cargo
BIN := $(or $(CARGO_TARGET_DIR),target)/release
CACHE := $(or $(PCB_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/pcb)

.PHONY: help setup setup-python build demo bench-python evidence test check fmt lint doc clean-cache

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

setup: ## get libtorch, once
	@scripts/setup.sh

setup-python: ## get what the Python host (and the cuda feature) needs, once
	@scripts/setup.sh --python

build: setup ## build everything, optimised
	$(CARGO) build --release --workspace

demo: build ## measure a small plate cold and warm, print the table, draw it
	@# 5: some run lost its cache state or failed; the table says which, and the plot has the rest
	$(BIN)/pcb-run configs/smoke.toml --force --output results/demo.json || [ $$? = 5 ]
	@$(BIN)/pcb-report results/demo.json --svg results/demo.svg --force >/dev/null
	@echo
	@echo "result: $(CURDIR)/results/demo.json"
	@echo "plot:   $(CURDIR)/results/demo.svg"

bench-python: ## compare native readers with Python's, on stored forms of `small`; ARGS="--forms '^hdf5' --quick"
	@scripts/setup.sh --bench
	$(CARGO) build --release -p pcb-formats --example read_forms
	$(CACHE)/bench-venv/bin/python benches/python_readers.py --native $(BIN)/examples/read_forms $(ARGS)

evidence: setup ## print how often the statistics err, on published data; with PCB_TEST_DATA (see CONTRIBUTING.md)
	@for example in warmup_classes error_rates precision_coverage gate_simulation; do \
		echo; echo "== $$example"; $(CARGO) run --quiet --release --example $$example || exit 1; done
	@echo; echo "== warmup_bias"; $(CARGO) run --quiet --release -p pcb-worker --example warmup_bias

test: setup ## run all tests
	$(CARGO) build --workspace # tests of the controller start the workers beside it
	$(CARGO) test --workspace

check: setup ## format, lints and documentation, as CI wants them
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items

fmt: ## format the code
	$(CARGO) fmt --all

lint: setup ## clippy
	$(CARGO) clippy --workspace --all-targets -- -D warnings

doc: setup ## build the documentation
	$(CARGO) doc --workspace --no-deps --document-private-items

clean-cache: ## remove all that setup made, and the compiled crates of every clone
	@scripts/setup.sh --clean
