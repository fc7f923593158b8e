#!/bin/sh
# stop.sh - runs that end by a rule or a time limit: draws do not depend on cores and
# lanes, files have the right counts, and the reason is one line.
set -eu
. "$(dirname "$0")/support.sh"

common='--sampler hmc --seed 1 --refresh 0'

# ---- rules -------------------------------------------------------------------

# shellcheck disable=SC2086
{
    run 0 sample gaussian:dim=5 $common --until-ess 2000 --cores 1 -o one
    says err 'the stop rule holds: ended after '
    run 0 sample gaussian:dim=5 $common --until-ess 2000 --cores 2 --lanes 1 \
        -o two
    run 0 sample gaussian:dim=5 $common --until-ess 2000 --cores 2 --memory 0 \
        --no-output
    says err 'the stop rule holds'
    says err 'running estimates'
}
for k in 1 2 3 4; do
    same_draws one_$k.csv two_$k.csv
done
n=$(rows one_1.csv)
[ "$n" -gt 100 ] && [ "$n" -lt 100000 ] || fail "$n draws"
for k in 1 2 3 4; do
    [ "$(rows one_$k.csv)" -eq "$n" ] || fail 'the chains are not level'
    grep -qE "^#     num_samples = $n +\$" one_$k.csv || fail 'num_samples'
    grep -q '^#  Elapsed Time: ' one_$k.csv || fail 'no times'
done
ok "--until-ess: $n draws of each chain for any number of cores"

if has_python; then
    run 0 summary one_*.csv --json
    python3 - out <<'END' || fail 'the rule did not hold'
import json, sys
rows = json.load(open(sys.argv[1]))["parameters"]
assert len(rows) == 5
assert min(min(r["ess_bulk"], r["ess_tail"]) for r in rows) >= 1999
END
    ok 'relmc summary says the same of the files'
fi

# shellcheck disable=SC2086
{
    run 0 sample gaussian $common --until-rhat 1.002 --cores 1 -q -o r1
    run 0 sample gaussian $common --until-rhat 1.002 --cores 2 -q -o r2
    run 0 sample gaussian $common --until-rhat 1.002 --until-ess 3000 -q -o both
    run 0 sample gaussian $common --until-ess 3000 -q -o ess
}
same_draws r1_2.csv r2_2.csv
[ "$(rows both_1.csv)" -ge "$(rows ess_1.csv)" ] &&
    [ "$(rows both_1.csv)" -ge "$(rows r1_1.csv)" ] || fail 'both rules'
ok '--until-rhat, and both'

# --samples is the limit
# shellcheck disable=SC2086
{
    run 0 sample gaussian $common --until-ess 1e9 --samples 300 -o limit
    says err 'warning: stop rule: ESS >= 1000000000 did not hold after 300 draws'
    [ "$(rows limit_1.csv)" -eq 300 ] || fail 'the limit'
    grep -q '^#     num_samples = 300$' limit_1.csv || fail 'num_samples'
    run 1 sample gaussian $common --until-ess 1e9 --samples 300 --no-output \
        --strict
    run 0 sample gaussian $common --until-ess 500 --strict --no-output
    # the config file of a run repeats it
    run 0 sample --config one_config.json -q -o again
}
same_draws one_3.csv again_3.csv
ok '--samples is the limit; a run is repeated from its record'

# ---- time --------------------------------------------------------------------

# shellcheck disable=SC2086
run 0 sample gaussian $common --samples 1e12 --time-limit 0.5s --thin 100 -o t
says err 'the time limit ended the run after '
says out 'x[1]'
n=$(rows t_1.csv)
[ "$n" -gt 0 ] || fail 'no draws'
for k in 2 3 4; do
    [ "$(rows t_$k.csv)" -eq "$n" ] || fail 'the chains are not level'
done
run 0 summary t_*.csv
is_empty err
# shellcheck disable=SC2086
run 75 sample gaussian $common --warmup 1e12 --time-limit 0.3 --save-warmup \
    --thin 100 -o w
says err 'the time limit ended the warm-up after '
grep -qE '^#     num_samples = 0 +$' w_1.csv || fail 'num_samples'
grep -q '^#  Elapsed Time: [0-9.]* seconds (Warm-up)' w_1.csv || fail 'times'
grep -q 'Adaptation terminated' w_1.csv && fail 'it did not terminate'
# shellcheck disable=SC2086
run 0 sample gaussian $common --samples 10 --time-limit 1h30m --no-output
grep -q 'time limit' err && fail 'time was not the reason'
for time in 0 1x m -5 1m2 nan; do
    # shellcheck disable=SC2086
    case $time in
    1m2) run 0 sample gaussian $common --samples 9 --no-output --time-limit 1m2 ;;
    *)
        run 2 sample gaussian $common --samples 9 --no-output \
            "--time-limit=$time"
        says err 'is not a time such as'
        ;;
    esac
done
ok '--time-limit: in sampling, in warm-up, and what is no time'
