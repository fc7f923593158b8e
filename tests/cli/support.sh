# support.sh - functions for tests of the tool.  Source it with the path of the tool as
# $1: it makes a folder to work in and removes it at the end.

relmc=$1
case $relmc in
/*) ;;
*) relmc=$PWD/$relmc ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
cd "$folder" || exit 1

for name in $(env | sed -n 's/^\(RELMC_[A-Z_]*\)=.*/\1/p'); do
    unset "$name"
done
unset NO_COLOR FORCE_COLOR LC_ALL LC_CTYPE OPENBLAS_CORETYPE
XDG_CONFIG_HOME=$folder/xdg
LANG=C
export XDG_CONFIG_HOME LANG

fail() {
    echo "FAIL  $*"
    echo "----- stdout"
    cat "$folder/out" 2>/dev/null
    echo "----- stderr"
    cat "$folder/err" 2>/dev/null
    exit 1
}

ok() {
    echo "ok    $*"
}

# run CODE ARGS...: the tool must end with that code; its output is in the files out and
# err.
settings=
run() {
    wanted=$1
    shift
    code=0
    # shellcheck disable=SC2086
    env $settings "$relmc" "$@" >"$folder/out" 2>"$folder/err" </dev/null ||
        code=$?
    [ "$code" -eq "$wanted" ] ||
        fail "relmc $*: exit code $code, not $wanted"
}

# with 'NAME=VALUE ...' CODE ARGS...: run, with these in the environment.
with() {
    settings=$1
    shift
    run "$@"
    settings=
}

# says out|err TEXT: the file has this text.
says() {
    grep -qF -e "$2" "$folder/$1" || fail "'$2' is not in std$1"
}

is_empty() {
    [ ! -s "$folder/$1" ] || fail "std$1 should be empty"
}

# The draws of a file, without times and names of files.
draws() {
    grep -v -e 'Elapsed' -e 'seconds' -e '#   file = ' "$1"
}

same_draws() {
    draws "$1" >"$folder/a.txt"
    draws "$2" >"$folder/b.txt"
    cmp "$folder/a.txt" "$folder/b.txt" || fail "$1 and $2 differ"
}

# rows FILE: the number of draws.
rows() {
    grep -v '^#' "$1" | tail -n +2 | wc -l | tr -d ' '
}

has_python() {
    command -v python3 >/dev/null 2>&1
}

# largest_size ARGS...: the largest resident size of the tool in kB.  The system counts
# in batches of pages: equal runs differ by up to 1 MB.
largest_size() {
    python3 - "$relmc" "$@" <<'END_OF_SIZE'
import os, sys
null = os.open(os.devnull, os.O_WRONLY)
tool = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ,
                      file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)])
_, status, used = os.wait4(tool, 0)
print(used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status) != 0)
END_OF_SIZE
}
