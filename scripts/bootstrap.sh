#!/bin/sh
# bootstrap.sh demo|reproduce|check|stan|ci - what is missing to build, test or check
# relmc?
#
# Says nothing and takes no time when all is there.  On Debian and Ubuntu it
# installs the packages, as root or through sudo; elsewhere it says what to do.
set -eu

purpose=${1:-check}
case $purpose in
demo | reproduce | check | stan | ci) ;;
*)
    echo "usage: scripts/bootstrap.sh demo|reproduce|check|stan|ci" >&2
    exit 2
    ;;
esac

required=
optional=

# need PACKAGE TEST...: the package is missing if the test fails.
need() {
    package=$1
    shift
    "$@" >/dev/null 2>&1 || required="$required $package"
}

# like PACKAGE TEST...: the same, but one can do without.
like() {
    package=$1
    shift
    "$@" >/dev/null 2>&1 || optional="$optional $package"
}

have() {
    command -v "$1"
}

# The compiler alone is not enough: are the headers of the C library there?
can_compile() {
    echo '#include <stdio.h>' | cc -E -
}

have_cholmod() {
    echo '#include <cholmod.h>' | cc -E -I/usr/include/suitesparse -
}

have_zlib() {
    echo '#include <zlib.h>' | cc -E -
}

have_pycparser() {
    python3 -c 'import pycparser'
}

have_module() {
    pkg-config --exists "$1"
}

need gcc have cc
need libc6-dev can_compile
need make have make
need cmake have cmake
need pkg-config have pkg-config
need libjansson-dev have_module jansson
like ninja-build have ninja
like zlib1g-dev have_zlib # data files packed by gzip
like libnetcdf-dev have_module netcdf # draws as NetCDF
like libsuitesparse-dev have_cholmod # graph Stein above one dimension
like libopenblas-dev have_module openblas # networks

if [ "$purpose" = reproduce ] || [ "$purpose" = check ]; then
    like gnuplot-nox have gnuplot # pictures
fi

if [ "$purpose" != demo ] && [ "$purpose" != reproduce ]; then
    need libcmocka-dev have_module cmocka
    need python3 have python3
    need binutils have readelf
    like netcdf-bin have ncdump
    like g++ have c++
    like python3-pycparser have_pycparser # headers as bindings see them
    like libopenmpi-dev have mpicc # relmc-mpi
    like openmpi-bin have mpiexec
fi

have_rstan() {
    Rscript --vanilla -e 'q(status = !nzchar(system.file(package = "rstan")))'
}

# Any clang++ of the last years will do.
have_clang() {
    for name in clang++ clang++-14 clang++-15 clang++-16 clang++-19; do
        have "$name" && return
    done
    return 1
}

if [ "$purpose" = stan ]; then
    need g++ have c++
    need r-cran-rstan have_rstan
    like clang have_clang
fi

if [ "$purpose" = ci ]; then
    need clang-14 have clang-14
    need clang-format-14 have clang-format-14
    need clang-tidy-14 have clang-tidy-14
    need abigail-tools have abidiff
fi

missing="$required$optional"
missing=${missing# }
if [ -z "$missing" ]; then
    exit 0
fi

# From here on something is missing.
install="apt-get install -y --no-install-recommends $missing"

give_up() {
    if [ -z "$required" ]; then
        exit 0
    fi
    echo "relmc needs packages that are not installed:$required" >&2
    echo "$1" >&2
    exit 1
}

if ! command -v apt-get >/dev/null 2>&1; then
    give_up "These are their Debian names; install what your system calls them."
fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
    # Nobody is asked for a password for what one can do without.
    if [ -z "$required" ] || ! command -v sudo >/dev/null 2>&1 ||
        { ! [ -t 0 ] && ! sudo -n true 2>/dev/null; }; then
        give_up "As root, run: apt-get update && $install"
    fi
    as_root=sudo
fi

echo "relmc: installing $missing"
root() {
    $as_root env DEBIAN_FRONTEND=noninteractive "$@"
}
# An unreachable mirror among several is no reason to stop here.
root apt-get -qq -o Acquire::Retries=3 update ||
    echo "relmc: apt-get update failed; trying with the lists at hand" >&2
get() {
    root apt-get -qq -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 \
        -o Dpkg::Use-Pty=0 install -y --no-install-recommends "$@"
}
# What one can do without may not be there.
# shellcheck disable=SC2086 # one word per package
if ! get $missing && ! { [ -n "$required" ] && get $required; }; then
    give_up "apt-get could not install them; as root, run: apt-get update && $install"
fi
