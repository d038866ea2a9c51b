# Every target that builds prepares the machine first (.ci/setup: done in a moment from the second
# time on). `make test` is the whole suite; the pull-request checks are .ci/run.

CACHE = $(or $(PALISADE_CACHE),$(HOME)/.cache/palisade)
# The same folder that .ci/setup writes into .cargo/config.toml.
export CARGO_TARGET_DIR ?= $(CACHE)/target
CARGO ?= cargo

.PHONY: help setup build demo test lint fmt clippy doc bench clean-cache

help:
	@echo "make demo         watch a stale writer being refused"
	@echo "make build        the optimised binary"
	@echo "make test         all tests, documentation examples included"
	@echo "make lint         formatting, clippy, documentation; warnings are errors"
	@echo "make bench        the embedded store's benchmarks"
	@echo "make setup        only what the above need: g++, libclang, RocksDB built once"
	@echo "make clean-cache  removes $(CACHE)"

setup:
	@.ci/setup

build: setup
	$(CARGO) build --locked --release

demo: setup
	@test -x "$(CARGO_TARGET_DIR)/debug/palisade" || echo "demo: compiling Palisade (about a minute, once)"
	@$(CARGO) run --locked --quiet --bin palisade -- demo

test: setup
	$(CARGO) test --locked --all-features

lint: fmt clippy doc

fmt: setup
	$(CARGO) fmt --check

clippy: setup
	$(CARGO) clippy --locked --all-targets --all-features -- -D warnings

doc: setup
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps --all-features

bench: setup
	$(CARGO) bench --locked --bench embedded

clean-cache:
	rm -rf "$(CACHE)"
