#!/bin/sh
# files.sh - files that cannot be written are reported, with exit code 4.
set -eu
. "$(dirname "$0")/support.sh"

few='--seed 1 --warmup 50'

# shellcheck disable=SC2086
{
    run 4 sample banana $few -o nowhere/base
    says err 'cannot write nowhere/base_1.csv'
    is_empty out
    : >file
    run 4 sample banana $few -o file/base
    says err 'file is not a directory'
    mkdir blocked_2.csv
    run 4 sample banana $few -o blocked
    says err 'blocked_2.csv'
    [ ! -e blocked_1.csv ] || fail 'a file of draws was left behind'
    mkdir blocked_2.rmc
    run 4 sample banana $few -o blocked.rmc
    says err 'blocked_2.rmc'
    [ ! -e blocked_1.rmc ] || fail 'a file of draws was left behind'
    mkdir taken_config.json
    run 4 sample banana $few -o taken
    says err 'taken_config.json'
}
ok 'places where no file can be'

# A file per chain: more than the usual limit works, more than the system allows is
# refused before the first file.
limited() (
    # shellcheck disable=SC3045
    ulimit -Sn "$1" && ulimit -Hn "$2"
    shift 2
    code=0
    "$relmc" "$@" >"$folder/out" 2>"$folder/err" </dev/null || code=$?
    echo "$code"
)
for end in csv rmc nc; do
    [ "$(limited 60 300 sample banana --seed 1 --chains 150 --warmup 10 \
        --samples 5 -o "many.$end" --fix)" -eq 0 ] || fail "150 chains, $end"
done
[ -f many_150.csv ] && [ -f many_150.rmc ] && [ -f many.nc ] ||
    fail 'files are missing'
[ "$(limited 60 300 sample banana --seed 1 --chains 100000 -o more)" -eq 2 ] ||
    fail '100000 chains were not refused'
says err '--chains 100000, with a file for each, needs 100064 open files, and the system allows 300'
[ "$(wc -l <err)" -eq 1 ] || fail 'more than one line'
[ -z "$(ls more* 2>/dev/null)" ] || fail 'files of a run that was refused'
ok 'more chains than files that may be open'

if [ -w /dev/full ]; then
    ln -s /dev/full full_1.csv
    # shellcheck disable=SC2086
    run 4 sample banana $few --samples 2000 -o full
    says err 'full_1.csv: No space left on device'
    ln -s /dev/full disk_config.json
    # shellcheck disable=SC2086
    run 4 sample banana $few -o disk
    says err 'disk_config.json: No space left on device'
    for words in 'models' 'help sample' 'version' \
        'sample banana --seed 1 --no-output -q' 'gradcheck banana'; do
        code=0
        # shellcheck disable=SC2086
        "$relmc" $words >/dev/full 2>err || code=$?
        [ $code -eq 4 ] || fail "$words >/dev/full: exit code $code"
        says err 'cannot write to standard output'
    done
    code=0
    "$relmc" sample banana --seed 1 --samples 10 -q -o quiet >out 2>/dev/full ||
        code=$?
    [ $code -eq 0 ] || fail 'a full stderr must not end a run'
    ok 'a full disk'
else
    echo 'skip  a full disk: there is no /dev/full'
fi

# A run goes on if the reader of its progress ends.
{ "$relmc" sample banana --seed 1 --samples 3000 --refresh 1 -o pipe 2>&1 \
    >/dev/null || echo "$?" >code; } | head -n 1 >/dev/null
[ "$(rows pipe_1.csv)" -eq 3000 ] || fail 'a closed pipe ended the run'
rm -f pipe_metric.json
{ "$relmc" sample banana --seed 1 --refresh 1 -o pipe 2>&1 || :; } |
    head -n 1 >/dev/null
[ -s pipe_metric.json ] || fail 'a closed pipe lost what was tuned'
ok 'a closed pipe'
