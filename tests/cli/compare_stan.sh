#!/bin/sh
# compare_stan.sh - summary, diagnose and compare on files of Stan.
set -eu
. "$(dirname "$0")/support.sh"

cp "$here"/../golden/cmdstan/*.csv .

# title FILES... TITLE: the first line of the summary.
title() {
    last=
    files=
    for word in "$@"; do
        files="$files $last"
        last=$word
    done
    # shellcheck disable=SC2086
    run 0 summary $files
    is_empty err
    [ "$(sed -n 1p out)" = "Model $last" ] ||
        fail "$files: not 'Model $last'"
}

title v2.23_1.csv v2.23_2.csv \
    'small, NUTS, 2 chains x 60 draws (warm-up 1000, thin 1), 0.022 s sampling'
title v2.36_dense.csv \
    'small, NUTS, 1 chain x 40 draws (warm-up 40, thin 2), 0.009 s sampling'
awk '$1 == "mu" { exit !($2 < 2) }' out || fail 'warm-up was counted'
title v2.28_static.csv \
    'small, HMC, 1 chain x 40 draws (warm-up 1000, thin 1), 0.05 s sampling'
title v2.30_fixed_param.csv \
    'simulate, fixed parameters, 1 chain x 30 draws (warm-up 1000, thin 1), 0.003 s sampling'
title rstan_1.csv rstan_2.csv \
    'unknown, NUTS, 2 chains x 30 draws (warm-up 30, thin 1), 0.0005 s sampling'
title rstan_dense.csv \
    'unknown, NUTS, 1 chain x 15 draws (warm-up 30, thin 2), 0.00052 s sampling'
ok 'summary'

run 1 diagnose v2.23_1.csv v2.23_2.csv
says out 'tree depth        0 of 120 transitions reached the limit 10'
says out 'divergences       0 of 120'
says out 'target 0.80 +- 0.15'
run 1 diagnose v2.36_dense.csv
says out 'target 0.90 +- 0.15'
run 1 diagnose rstan_1.csv rstan_2.csv
says out 'tree depth        0 of 60 transitions reached the limit 10'
says out 'target 0.80 +- 0.15'
run 1 diagnose v2.28_static.csv
grep -q 'tree depth' out && fail 'static trajectories have no trees'
ok 'diagnose'

run 0 compare v2.23_1.csv v2.23_2.csv v2.36_dense.csv v2.28_static.csv \
    --stein none
is_empty err
awk '$1 == "v2.28_static" { exit $3 != "-" }' out ||
    fail 'no n_leapfrog__, no gradients'
# every second transition was kept, but all of them cost gradients
steps=$(awk -F, '/Adaptation/ { s = 0 } !/^#/ && $1 != "lp__" { s += $5 }
    END { print 2 * s }' v2.36_dense.csv)
run 0 compare v2.36_dense.csv --stein none --json
says out "\"gradients\": $steps.0"
ok 'compare'

for method in v2.36_optimize v2.29_variational v2.33_pathfinder; do
    for command in summary diagnose compare 'compare v2.23_1.csv --ref'; do
        # shellcheck disable=SC2086
        run 3 $command $method.csv
        says err "$method.csv: made by method = ${method#*_}: these are no draws"
        [ "$(wc -l <err)" -eq 1 ] || fail 'one line'
        is_empty out
    done
done
ok 'what is no sample is refused'

# Draws of one version agree with those of another.
run 0 compare v2.23_1.csv v2.23_2.csv --ref v2.36_dense.csv --stein none
says out 'ok    v2.23  worst |z|'
says out 'two samples ('
run 0 compare v2.36_dense.csv --ref v2.23_1.csv --ref v2.23_2.csv --stein none
cat >truth.json <<'JSON'
{"params": {"mu": {"mean": 1, "sd": 0.5}, "theta[1]": {"mean": 1, "sd": 1},
            "theta[2]": {"mean": 2, "sd": 1, "q50": 2}}}
JSON
run 0 compare v2.23_1.csv v2.23_2.csv --ref truth.json --stein none
says out '7 values of 3 parameters'
is_empty err
ok 'references'
