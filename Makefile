# A thin front of CMake: the few names worth typing.
#
#   make            the library and the tool, in build/
#   make demo       four chains on a banana, with progress bars
#   make reproduce  the figures of the paper, in reproduced/ (SCALE=paper: all of it)
#   make check      the fast tests            make slow    the long statistical ones
#   make long       50 kills for every sampler and format, and more processes
#   make stan       those that compile Stan programs (needs R's rstan)
#   make asan|tsan|dev                        the fast tests in another build
#   make threads    those with several threads, under the thread sanitizer
#   make golden     the same draws from other compilers, flags, instruction sets
#   make bench      benchmarks                make lint    rules of the source text
#   make abi        is the interface that of the last release?
#   make format     clang-format, in place    make install PREFIX=/usr/local
#
# demo, reproduce, check and stan install what they need first (scripts/bootstrap.sh).
# Options for cmake: make CONFIG="-DRELMC_ISA=baseline"; make RELMC_WERROR=ON

JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
CONFIG ?=
SCALE ?= quick

options = $(if $(RELMC_WERROR),-DRELMC_WERROR=$(RELMC_WERROR)) $(CONFIG)

# Ninja if there is one; warnings and errors come out on stderr.
configure = @CMAKE_GENERATOR="$${CMAKE_GENERATOR:-$$(command -v ninja \
    >/dev/null 2>&1 && echo Ninja || echo Unix Makefiles)}" \
    cmake --preset $(1) $(options) >/dev/null
build = @MAKEFLAGS=--no-print-directory cmake --build $(1) --parallel $(JOBS) --target $(2)
test = @ctest --preset $(1) -j $(JOBS) $(2)

.NOTPARALLEL:
.PHONY: all demo reproduce check slow long stan golden bench dev asan tsan \
    threads format lint abi install clean need-demo need-reproduce need-check need-stan

all:
	$(call configure,release)
	$(call build,build,all)

need-demo need-reproduce need-check need-stan:
	@scripts/bootstrap.sh $(@:need-%=%)

demo: need-demo all
	@mkdir -p build/demo
	build/relmc sample banana --samples 20000 --refresh 5000 --seed 1 \
	    -o build/demo/banana

reproduce: need-reproduce all
	build/relmc reproduce all --scale $(SCALE)

check: need-check
	$(call configure,release)
	$(call build,build,all relmc_tests)
	$(call test,release,-L fast)

slow long: need-check
	$(call configure,release)
	$(call build,build,all relmc_tests)
	$(call test,release,-L $@)

# what it compiles once is kept in build/stan-cache
stan: need-stan
	$(call configure,release)
	$(call build,build,all relmc_tests)
	$(call test,release,-L stan)

dev asan tsan:
	$(call configure,$@)
	$(call build,build/$@,all relmc_tests)
	$(call test,$@,-L fast)

threads:
	$(call configure,tsan)
	$(call build,build/tsan,relmc_threads)
	$(call test,tsan,-L threads)

golden: golden-clang golden-baseline golden-o2

.PHONY: golden-clang golden-baseline golden-o2
golden-clang golden-baseline golden-o2: golden-%:
	$(call configure,$*)
	$(call build,build/$*,relmc_golden)
	$(call test,$*,-R '^golden')

bench:
	$(call configure,release)
	$(call build,build,relmc_bench)

format:
	@scripts/lint.sh reformat

lint:
	$(call configure,lint)
	@scripts/lint.sh text names words size format tidy

abi:
	@scripts/abi.sh check

install: all
	@cmake --install build --prefix $(PREFIX)

clean:
	rm -rf build
