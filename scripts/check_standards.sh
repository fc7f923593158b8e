#!/bin/sh
# check_standards.sh CC [CXX] - every public header compiles alone, without a warning, as
# C99 to C23 and as C++11 to C++20, and its macros do what they should in each of them.
set -eu
cd "$(dirname "$0")/.."

room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
status=0

check() { # LANGUAGE STANDARD COMPILER
    set -- "$1" "$3" "-std=$2" -Wall -Wextra -pedantic-errors -Werror -Iinclude
    language=$1
    shift
    for file in include/*.h tests/install/macros.c; do
        "$@" -fsyntax-only -x "$language" "$file" || {
            echo "$file: not as $2"
            status=1
        }
    done
    if ! "$@" -x "$language" -o "$room/init" tests/install/init.c ||
        ! "$room/init"; then
        echo "tests/install/init.c: not as $2"
        status=1
    fi
}

for standard in c99 c11 c17 c2x; do
    check c "$standard" "$1"
done
if [ "${2:-}" ]; then
    for standard in c++11 c++14 c++17 c++20; do
        check c++ "$standard" "$2"
    done
fi
exit "$status"
