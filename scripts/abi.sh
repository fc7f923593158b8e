#!/bin/sh
# abi.sh check|write - does the library keep the interface of the last release?
#
#   check  compares librelmc.so with tests/abi/librelmc-X.Y.abi
#   write  makes that file from the present source: scripts/release.sh does it
#
# X.Y is the version in include/relmc.h.  Within a minor version nothing changes, not
# even by additions.  A new minor version has no file until it is released; from 1.0 on
# it is compared with the newest file of its major version, to which it may only add.
# docs/stability.md has the promises.
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C

part() {
    sed -nE "s/^#define RELMC_VERSION_$1 +([0-9]+)\$/\1/p" include/relmc.h
}

need() {
    command -v "$1" >/dev/null || {
        echo "abi: $1 is not installed: scripts/bootstrap.sh ci" >&2
        exit 1
    }
}

# The types are in the debugging information.
build() {
    cmake -S . -B build/abi -DCMAKE_BUILD_TYPE=Debug \
        -DCMAKE_C_FLAGS_DEBUG="-O1 -g" -DRELMC_ISA=baseline \
        -DRELMC_TOOL=OFF -DRELMC_TESTS=OFF >/dev/null
    cmake --build build/abi --target relmc_shared --parallel >/dev/null
}

# Only what the public headers declare, and nothing about this machine.
describe() {
    abidw --exported-interfaces-only --headers-dir include --drop-private-types --no-corpus-path \
        --no-comp-dir-path --no-show-locs --no-parameter-names --type-id-style hash \
        build/abi/librelmc.so | sed "s,path='$PWD/,path='," >"$1"
}

compare() { # FILE BITS MESSAGE
    status=0
    report=$(abidiff "$1" build/abi/now.abi) || status=$?
    if [ $((status & 3)) -ne 0 ] || [ $((status & $2)) -ne 0 ]; then
        echo "$report"
        echo "abi: $3"
        exit 1
    fi
}

what=${1:-}
major=$(part MAJOR)
minor=$(part MINOR)
file=tests/abi/librelmc-$major.$minor.abi
case $what in
write)
    need abidw
    build
    mkdir -p tests/abi
    describe "$file"
    echo "wrote $file"
    ;;
check)
    need abidiff
    build
    describe build/abi/now.abi
    if [ -f "$file" ]; then
        compare "$file" 4 "this is not the interface of $major.$minor; raise \
RELMC_VERSION_MINOR in include/relmc.h and say it in CHANGELOG.md"
        exit 0
    fi
    last=
    if [ "$major" -gt 0 ]; then
        last=$(find tests/abi -name "librelmc-$major.*.abi" 2>/dev/null |
            sort -V | tail -n 1)
    fi
    if [ "$last" ]; then
        compare "$last" 8 "a minor version may only add to the interface"
    else
        echo "abi: $major.$minor has no released interface yet"
    fi
    ;;
*)
    echo "usage: scripts/abi.sh check|write" >&2
    exit 2
    ;;
esac
