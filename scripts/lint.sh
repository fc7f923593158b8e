#!/usr/bin/env bash
# lint.sh [text] [names] [words] [size] [format] [tidy] [reformat] - rules that CI checks.
#
#   text      banned functions, spaces at line ends, notes to oneself, paths
#             of one machine
#   names     files and functions that pages and comments name exist
#   words     words of scripts/retired_words.txt do not come back
#   size      no file and no function is too long
#   format    clang-format 14 would change nothing
#   tidy      clang-tidy 14 over all C files (needs: cmake --preset lint)
#   reformat  let clang-format change the files
#
# Without arguments: text.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
failed=0

complain() {
    echo "lint: $1"
    failed=1
}

# The files of the repository, or of an unpacked archive.
list_files() {
    git -c safe.directory="$PWD" ls-files --cached --others \
        --exclude-standard 2>/dev/null ||
        find . -path ./build -prune -o -path ./.git -prune -o -type f -print |
        sed 's,^\./,,'
}

c_files() {
    find include src extra cli paper tests examples bench -name '*.[ch]' | sort
}

jobs_at_once() {
    nproc 2>/dev/null || echo 2
}

search() { # PATTERN MESSAGE < list of files
    local found
    found=$(xargs -r -d '\n' grep -nEIH -e "$1" -- 2>/dev/null)
    if [ -n "$found" ]; then
        echo "$found"
        complain "$2"
    fi
}

lint_text() {
    local texts
    texts=$(list_files | grep -E '\.(c|h|def|py|sh|md|cmake|in|json|cff|txt)$|(^|/)(Makefile|run|LICENSE|\.[a-z-]+)$' |
        while read -r file; do [ -f "$file" ] && echo "$file"; done)
    python3 scripts/check_banned.py || failed=1
    search '[[:space:]]+$' 'spaces at the end of a line' <<<"$texts"
    # The brackets keep these patterns from finding themselves.
    search '\b(T[O]DO|F[I]XME|X[X]X)\b' 'an open end; finish it or write an issue' \
        <<<"$texts"
    search '(^|[^A-Za-z0-9_.}*-])/(h[o]me|r[o]ot|w[o]rk|U[s]ers)/[A-Za-z]' \
        'a path of one machine' <<<"$texts"
}

lint_format() {
    if ! command -v clang-format-14 >/dev/null; then
        complain 'clang-format-14 is not installed: scripts/bootstrap.sh ci'
        return
    fi
    local found
    if ! found=$(c_files | xargs -r -n 16 -P "$(jobs_at_once)" \
        clang-format-14 --dry-run -Werror 2>&1 |
        sed -nE 's/^([^:]*):.* error: .*/\1: not formatted/p' | sort -u); then
        echo "$found"
        complain 'run: make format'
    fi
}

# C files that the lint build compiles: without MPI or CBLAS some are left out, and those
# that a build makes are not there.
tidy_files() {
    sed -nE 's/^ *"file": "(.*)",?$/\1/p' build/lint/compile_commands.json |
        sort -u | grep -vF "$PWD/build/" |
        # the long files first, so that all processors are busy to the end
        xargs -r -d '\n' stat -c '%s %n' | sort -rn | cut -d' ' -f2-
}

lint_tidy() {
    if ! command -v clang-tidy-14 >/dev/null; then
        complain 'clang-tidy-14 is not installed: scripts/bootstrap.sh ci'
        return
    fi
    if ! [ -f build/lint/compile_commands.json ]; then
        complain 'no compile commands; run: make lint'
        return
    fi
    tidy_files | xargs -r -d '\n' -n 1 -P "$(jobs_at_once)" \
        clang-tidy-14 -p build/lint --quiet 2>&1 |
        grep -vE '^[0-9]+ warnings? generated\.$|^Suppressed |^Use -header-filter'
    [ "${PIPESTATUS[1]}" -eq 0 ] || complain 'clang-tidy has remarks'
}

reformat() {
    if ! command -v clang-format-14 >/dev/null; then
        complain 'clang-format-14 is not installed'
        return
    fi
    c_files | xargs -r clang-format-14 -i
}

for what in "${@:-text}"; do
    case $what in
    text) lint_text ;;
    names) python3 scripts/check_docs.py || failed=1 ;;
    words) python3 scripts/check_words.py || failed=1 ;;
    size) python3 scripts/check_size.py || failed=1 ;;
    format) lint_format ;;
    tidy) lint_tidy ;;
    reformat) reformat ;;
    *)
        echo "usage: scripts/lint.sh [text|names|words|size|format|tidy|reformat]..." >&2
        exit 2
        ;;
    esac
done
exit $failed
