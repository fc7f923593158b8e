#!/bin/sh
# files.sh - what cannot be written is said, with exit code 4.
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

# A reader of progress that goes away must not end the run.
{ "$relmc" sample banana --seed 1 --samples 3000 --refresh 1 -o pipe 2>&1 \
    >/dev/null || echo "$?" >code; } | head -n 1 >/dev/null
[ "$(rows pipe_1.csv)" -eq 3000 ] || fail 'a closed pipe ended the run'
rm -f pipe_metric.json
{ "$relmc" sample banana --seed 1 --refresh 1 -o pipe 2>&1 || :; } |
    head -n 1 >/dev/null
[ -s pipe_metric.json ] || fail 'a closed pipe lost what was tuned'
ok 'a closed pipe'
