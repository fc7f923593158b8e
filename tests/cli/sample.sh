#!/bin/sh
# sample.sh - relmc sample from end to end: files, rows, summary, checks.
set -eu
. "$(dirname "$0")/support.sh"

run 0 sample banana --seed 1234 --warmup 100 --samples 50
for k in 1 2 3 4; do
    [ -f "banana_$k.csv" ] || fail "no banana_$k.csv"
    [ "$(rows "banana_$k.csv")" -eq 50 ] || fail "rows of banana_$k.csv"
    grep -q '^lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,.*x\.1,x\.2$' \
        "banana_$k.csv" || fail 'header'
    grep -q '^# Adaptation terminated' "banana_$k.csv" || fail 'adaptation'
done
says err 'banana: 2 parameters, self-tuning, relativistic energy, 4 chains, 100+50 draws, seed 1234'
says err '200 draws in '
says err 'wrote banana_1.csv ... banana_4.csv, banana_config.json, banana_metric.json'
says err 'chosen: '
says err 'next: relmc sample --config banana_config.json'
[ "$(sed -n 1p out | tr -s ' ')" = \
    ' Mean MCSE StdDev MAD 5% 50% 95% ESS_bulk ESS_tail R_hat' ] ||
    fail 'the heads of the columns'
[ "$(awk '{ print $1 }' out | tr '\n' ' ')" = 'Mean lp__  x[1] x[2] ' ] ||
    fail 'the rows of the table'
ok 'four chains, their files and the summary'
says err 'coordinates: bent along x[1]'
run 3 sample banana --seed 1 --samples 5 --fix --step-size 0.1 -q \
    --inv-metric banana_metric.json -o again
says err 'banana_metric.json: this metric is that of warped coordinates'
[ ! -e again_1.csv ] || fail 'a file of a run that was refused'
run 0 sample banana --seed 1 --samples 5 --adapt auto:warp=0 -q -o own
run 0 sample banana --seed 1 --samples 5 --fix --step-size 0.1 -q \
    --inv-metric own_metric.json -o again
ok 'what was tuned can be given'

run 0 sample gaussian:dim=3 --seed 1 -c 1 --warmup 20 --samples 10 -o g.csv
[ -f g_1.csv ] && [ ! -f g_2.csv ] || fail 'one chain, one file'
says err 'wrote g_1.csv, g_config.json'
says err '1 chain,'
run 0 sample gaussian --seed 1 -c 2 --chain-id 7 --warmup 20 --samples 10 -o h
[ -f h_7.csv ] && [ -f h_8.csv ] && [ ! -f h_1.csv ] || fail 'chain-id'
says err 'wrote h_7.csv, h_8.csv'
mkdir sub
run 0 sample gaussian --seed 1 -c 1 --warmup 20 --samples 10 -o sub/
[ -f sub/gaussian_1.csv ] || fail 'a folder as base'
ok 'names of files'

run 0 sample banana --seed 1 -c 1 --warmup 40 --samples 21 --thin 2 \
    --save-warmup -o t
run 0 sample banana --seed 1 -c 1 --warmup 40 --samples 21 -o u
[ "$(rows u_1.csv)" -eq 21 ] || fail 'rows without thinning'
[ "$(rows t_1.csv)" -gt 21 ] || fail 'warm-up was not saved'
ok 'thin, save-warmup'

run 0 sample banana --seed 1 --warmup 60 --samples 0 -o zero
says err 'warm-up only (--samples 0)'
[ "$(rows zero_1.csv)" -eq 0 ] || fail 'rows of a warm-up'
grep -q '^lp__' zero_4.csv || fail 'header of a warm-up'
is_empty out
ok '--samples 0 is a warm-up'

run 0 sample banana --seed 1 --warmup 50 --samples 20 --fix -o fixed
says err 'no adaptation and no --step-size: it is 1'
run 0 sample banana --seed 1 --warmup 0 --samples 20 --fix --step-size 0.25 \
    -o fixed
grep -q '^# Step size = 0.25$' fixed_1.csv || fail 'step size'
run 0 sample banana --seed 1 --samples 20 --fix --step-size 0.5 --max-step 2 \
    -o fixed
grep -q '^# relmc_kinetic = relativistic:.*c=4' fixed_1.csv || fail 'max-step'
run 0 sample banana --seed 1 --samples 20 --mass 2 --leapfrog 7 --jitter 0 \
    --target-accept 0.75 --adapt dual --kinetic separable:c=3 -o merged
grep -q 'hmc:steps=7,.*jitter=0' merged_1.csv || fail 'leapfrog, jitter'
grep -q '^# relmc_kinetic = separable:m=2,c=3' merged_1.csv || fail 'mass'
grep -q '^# relmc_adapt = dual:delta=0.75,' merged_1.csv || fail 'delta'
ok 'shorthands reach the components'

printf '{"x": [3, 4]}' >one.json
printf '[[1, 1], [2, 2]]' >two.json
printf '{"x": [1]}' >short.json
printf '{"y": [1, 2]}' >other.json
printf '{"x": [1e200, 1e200]}' >nowhere.json
printf '{"x": [1, ' >broken.json
few='--seed 1 --warmup 0 --samples 5 --no-output -q'
# shellcheck disable=SC2086
{
    run 0 sample banana $few --init one.json
    run 0 sample banana $few --init two.json -c 2
    run 3 sample banana $few --init two.json -c 3
    says err '2 starting points for 3 chains'
    run 3 sample banana $few --init short.json
    says err 'expected 2 numbers'
    run 3 sample banana $few --init other.json
    says err '{"x": [2 numbers]}'
    run 3 sample banana $few --init broken.json
    says err 'broken.json:1:'
    run 5 sample banana $few --init nowhere.json
    says err 'try another --init'
    run 4 sample banana $few --init missing.json
    says err 'cannot read missing.json'
}
ok '--init'

printf '{"inv_metric": [100, 200]}' >diag.json
printf '{"stepsize": 1, "inv_metric": [[2, 1], [1, 2]]}' >dense.json
printf '{"inv_metric": [1, 2, 3]}' >long.json
# shellcheck disable=SC2086
{
    run 0 sample banana $few --inv-metric diag.json --metric diag_e
    run 0 sample banana $few --inv-metric dense.json
    run 2 sample banana $few --inv-metric dense.json --metric diag_e
    says err 'dense.json holds a dense_e'
    run 3 sample banana $few --inv-metric long.json
}
printf '{"inv_metric": [1, -2]}' >negative.json
run 3 sample banana --inv-metric negative.json --no-output
says err 'negative.json: variance 2 of inv_metric is -2, it must be positive'
printf '{"inv_metric": [[0, 0], [0, 1]]}' >flat.json
run 3 sample banana --inv-metric flat.json --no-output
says err 'flat.json: variance 1 of inv_metric is 0'
printf '{"inv_metric": [[2, 1.00000000000001], [1, 2]]}' >rounded.json
printf '{"inv_metric": [[2, 1, 0], [1, 2, 0.5], [0, 0.4, 2]]}' >skew.json
run 0 sample banana --samples 5 --inv-metric rounded.json --no-output
run 3 sample gaussian:dim=3 --inv-metric skew.json --no-output
says err 'skew.json: inv_metric must be symmetric, but row 3, column 2 is 0.4 and row 2, column 3 is 0.5'
run 0 sample banana --seed 1 -c 1 --samples 5 --inv-metric diag.json -o metric
grep -q '^# Diagonal elements of inverse mass matrix:' metric_1.csv ||
    fail 'metric in the file'
ok '--inv-metric'

run 1 sample banana --seed 1 --warmup 20 --samples 20 --no-output --strict
says err 'warning: '
says err ' of 7 checks failed.'
says err 'warning: R-hat: largest '
run 0 sample gaussian --seed 1 --no-output --strict
says err '0 of 7 checks failed.'
[ ! -f gaussian_config.json ] || fail '--no-output wrote a file'
ok '--strict'

# A run ends with the summary and checks that the commands print for its files.
for model in banana gaussian:dim=3; do
    verdict=0
    how='--samples 500'
    if [ $model = banana ]; then # here a check fails
        verdict=1
        how='--samples 500 --adapt auto:warp=0'
    fi
    run 0 sample $model --seed 1 $how --sig-figs 17 -q -o same
    tail -n +2 out >mine
    run 0 summary same_*.csv -i lp__ -i x
    tail -n +4 out >theirs
    cmp mine theirs || fail 'the summary is not that of relmc summary'
    has_python || continue
    run 0 sample $model --seed 1 $how --sig-figs 17 -q --json -o same
    cp out mine
    run $verdict diagnose same_*.csv --json
    python3 - mine out <<'END' || fail 'the verdict is not that of relmc diagnose'
import json, sys
mine, theirs = (json.load(open(path))["checks"] for path in sys.argv[1:])
assert len(mine) == 7
for a, b in zip(mine, theirs):
    for key in ("check", "ok", "text", "advice"):
        assert a[key] == b[key], (a, b)
END
done
ok 'the summary and the verdict are those of the commands on files'

run 0 sample gaussian:dim=30 --seed 1 --samples 40 --no-output -q
says out '... and 10 more'
if has_python; then
    run 0 sample gaussian:dim=30 --seed 1 --samples 40 --no-output -q --json
    python3 - out <<'END' || fail '--json'
import json, sys
root = json.load(open(sys.argv[1]))
rows = root["parameters"]
assert len(rows) == 30 and rows[29]["name"] == "x[30]"
assert root["draws"] == 160 and root["seed"] == 1 and root["chains"] == 4
assert all(abs(r["mean"]) < 1 and 0.5 < r["sd"] < 2 for r in rows)
END
fi
ok 'many coordinates, --json'

run 0 sample gaussian --no-output --samples 10 --refresh 0
sed -n 's/.*, seed //p' err >first
run 0 sample gaussian --no-output --samples 10 --refresh 0
sed -n 's/.*, seed //p' err >second
[ -s first ] || fail 'the seed is not printed'
cmp -s first second && fail 'two random seeds are equal'
ok 'random seeds'

# without a Metropolis step: other defaults, other checks
run 0 sample gaussian --sampler sghmc --step-size 0.3 --seed 1 -o sg
says err 'relativistic SGHMC (separable)'
says err '0 of 4 checks failed.'
run 0 diagnose sg_?.csv
grep -q BFMI out && fail 'a check of momenta that are drawn anew'
run 0 sample --config sg_config.json -o sg2 -q
grep -v '^#' sg_1.csv >first
grep -v '^#' sg2_1.csv >second
cmp first second || fail 'the run is not repeated'
run 0 sample gaussian --sampler sgld --step-size 0.1 --seed 1 --no-output
says err 'SGLD, 4 chains'
run 0 sample gaussian --sampler sgd:lr=0.01 --seed 1 --no-output
says err '0 of 1 checks failed.'
run 0 sample gaussian --sampler sgld-adam --step-size 0.1 --seed 1 --no-output
says err 'SGLD-ADAM, 4 chains'
# a step size has to be given, and one that is too large is reported
run 2 sample gaussian --sampler sghmc --no-output
says err 'sghmc has no Metropolis step and tunes nothing: give it a --step-size'
run 1 sample gaussian --sampler sghmc:scheme=euler,law=bounded \
    --kinetic newtonian --step-size 0.8 --seed 1 --no-output --strict
says err 'warning: temperature: 1.'
says err 'Lower --step-size (now 0.8)'
run 0 sample gaussian --sampler sghmc --kinetic newtonian --step-size 0.8 \
    --seed 1 --no-output --strict
run 0 sample gaussian --sampler sghmc:temperature=3 --step-size 0.3 --seed 1 \
    --no-output --strict
run 1 sample quartic --sampler sghmc --kinetic newtonian --step-size 2 \
    --seed 1 --no-output --strict
says err 'divergences: 4000 of 4000 (100.0 %). Lower --step-size (now 2).'
run 0 sample gaussian --sampler sghmc:scheme=euler,law=bounded,variance=100 \
    --step-size 0.3 --seed 1 --no-output
says err 'gradient noise: in 40000 steps'
run 0 sample gaussian --sampler sghmc:law=bounded --friction 2 --step-size 0.3 \
    --seed 1 -o friction
grep -q 'friction=2' friction_config.json || fail '--friction'
run 2 sample gaussian --sampler sghmc --batch-shared --step-size 0.1 --no-output
says err 'is for minibatches: give --batch-size N, too'
run 2 sample gaussian --sampler sghmc --batch-rows fresh --step-size 0.1 \
    --no-output
says err '--batch-rows is for minibatches: give --batch-size N, too'
for rows in auto epochs fresh replace; do
    run 0 sample logistic:n=50 --sampler sgnht --batch-size 5 --step-size 0.01 \
        --batch-rows $rows --samples 20 --seed 1 --sig-figs 17 -q -o rows_$rows
done
cmp_draws() {
    grep -v '^#' "rows_$1_1.csv" >first
    grep -v '^#' "rows_$2_1.csv" >second
    cmp -s first second
}
cmp_draws auto fresh || fail 'a thermostat takes fresh minibatches'
cmp_draws auto epochs && fail '--batch-rows epochs'
cmp_draws auto replace && fail '--batch-rows replace'
run 2 sample gaussian --friction 2 --no-output
says err 'these have it: --sampler sghmc, sgnht, sgd'
run 2 sample gaussian --sampler sghmc --batch-size 3 --step-size 0.1 --no-output
says err 'no data to take minibatches from'
ok 'samplers without a Metropolis step'
