#!/bin/sh
# check_install.sh BUILD SOURCE CMAKE CC - installs into a temporary folder and
# builds examples/banana.c as a user would: with pkg-config, shared and static,
# and with find_package; tests/install/extra.c, too, if librelmc-extra was built.
set -eu

build=$1
source=$2
cmake=$3
cc=$4

room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
prefix=$room/prefix

# The manifest of a real installation is not ours to overwrite.
unset DESTDIR
cp "$build/install_manifest.txt" "$room/manifest" 2>/dev/null || true
"$cmake" --install "$build" --prefix "$prefix" >"$room/log" 2>&1 || {
    cat "$room/log"
    exit 1
}
if [ -f "$room/manifest" ]; then
    cp "$room/manifest" "$build/install_manifest.txt"
else
    rm -f "$build/install_manifest.txt"
fi

if [ -x "$prefix/bin/relmc" ]; then
    echo "the tool finds its files"
    echo 'model { }' >"$room/empty.stan"
    env -u RELMC_DATADIR PATH="$room" RELMC_CACHE="$room/cache" \
        "$prefix/bin/relmc" compile "$room/empty.stan" >"$room/log" 2>&1 ||
        true
    grep -q 'a C++ compiler is needed' "$room/log" || {
        cat "$room/log"
        exit 1
    }
fi

if [ -x "$prefix/bin/relmc" ]; then
    echo "the tool finds its programs, where the tree was moved to, too"
    mv "$prefix" "$room/moved"
    env -u RELMC_DATADIR -u RELMC_EXEC_PATH \
        "$room/moved/bin/relmc" reproduce --list >"$room/log" 2>&1 ||
        {
            cat "$room/log"
            exit 1
        }
    mv "$room/moved" "$prefix"
fi

pc=$(find "$prefix" -name relmc.pc)
[ -n "$pc" ] || {
    echo "relmc.pc was not installed"
    exit 1
}
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
libdir=$(pkg-config --variable=libdir relmc)
example=$source/examples/banana.c

echo "pkg-config, shared"
# shellcheck disable=SC2046 # flags are words
"$cc" -o "$room/shared" "$example" $(pkg-config --cflags --libs relmc) -lm
LD_LIBRARY_PATH=$libdir "$room/shared" >"$room/shared.out"

echo "pkg-config, static"
# shellcheck disable=SC2046
"$cc" -o "$room/static" "$example" $(pkg-config --cflags relmc) \
    "$libdir/librelmc.a" $(pkg-config --libs-only-other --static relmc) -lm
"$room/static" >"$room/static.out"
cmp "$room/shared.out" "$room/static.out"

extra=
if pkg-config --exists relmc-extra; then
    extra=yes
    echo "pkg-config, extra, shared"
    # shellcheck disable=SC2046
    "$cc" -o "$room/extra" "$source/tests/install/extra.c" \
        $(pkg-config --cflags --libs relmc-extra)
    LD_LIBRARY_PATH=$libdir "$room/extra" >"$room/extra.out"
    echo "pkg-config, extra, static"
    # shellcheck disable=SC2046
    "$cc" -o "$room/extra_static" "$source/tests/install/extra.c" \
        $(pkg-config --cflags relmc-extra) "$libdir/librelmc-extra.a" \
        "$libdir/librelmc.a" $(pkg-config --variable=private relmc-extra)
    "$room/extra_static" >"$room/extra_static.out"
    cmp "$room/extra.out" "$room/extra_static.out"
elif [ -f "$libdir/librelmc-extra.a" ]; then
    echo "relmc-extra.pc was not installed"
    exit 1
fi

echo "find_package"
"$cmake" -S "$source/tests/install" -B "$room/consumer" \
    -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" >"$room/log" 2>&1 &&
    "$cmake" --build "$room/consumer" >>"$room/log" 2>&1 || {
    cat "$room/log"
    exit 1
}
"$room/consumer/banana_relmc" >/dev/null
"$room/consumer/banana_relmc_static" >/dev/null
if [ "$extra" ]; then
    "$room/consumer/extra_relmc_extra" >/dev/null
    "$room/consumer/extra_relmc_extra_static" >/dev/null
fi

if [ -x "$build/relmc" ]; then
    echo "tool"
    "$prefix/bin/relmc" version
fi
