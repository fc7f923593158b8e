#!/bin/sh
# compare.sh - relmc compare: which files form a run, and the cost of a run in gradients.
set -eu
. "$(dirname "$0")/support.sh"

run 0 sample gaussian --seed 1 --samples 400 -q -o a --sig-figs 17
run 0 sample gaussian --seed 2 --samples 400 -q -o b --leapfrog 2 \
    --sig-figs 17 --thin 2
run 0 compare a_*.csv b_*.csv
is_empty err
[ "$(sed -n 1p out | tr -s ' ')" = ' min ESS ESS/1000 grad ESS/s divergent KSD' ] ||
    fail 'heads'
[ "$(sed -n '2,$p' out | awk '{print $1}' | tr '\n' ' ')" = 'a b ' ] ||
    fail 'runs'
grep -q '<- best in [1-4] of [1-5]$' out || fail 'the best is marked'
grep -q ' $' out && fail 'blanks at the end of a line'
ok 'files that differ in the number of the chain are a run'

# labels ARGS...: prints the labels of the runs.
labels() {
    run 0 compare "$@"
    sed -n '2,$p' out | awk '{print $1}' | tr '\n' ' '
}
[ "$(labels a_*.csv b_*.csv --label A --label B)" = 'A B ' ] ||
    fail 'labels behind'
[ "$(labels --label A a_1.csv a_2.csv --label B a_3.csv --label C b_*.csv)" = \
    'A B C ' ] || fail 'labels in front'
[ "$(labels b_2.csv a_1.csv b_1.csv)" = 'b a ' ] || fail 'in order of files'
mkdir sub
cp a_*.csv sub/
[ "$(labels a_*.csv sub/a_*.csv)" = 'a sub/a ' ] || fail 'equal names'
cp a_1.csv plain.csv
cp a_1.csv run-3.csv
[ "$(labels plain.csv run-3.csv)" = 'plain run ' ] || fail 'other names'
run 2 compare a_*.csv b_*.csv --label A
says err '1 label for 2 runs'
run 2 compare --label A --label B a_*.csv
says err '--label A: no file follows'
run 0 compare a_*.csv sub/a_*.csv
grep -q 'best' out && fail 'nothing is better than itself'
run 0 compare a_*.csv
grep -q 'best' out && fail 'one run is not the best'
ok 'labels'

if has_python; then
    run 0 compare a_*.csv b_*.csv --json
    cp out compare.json
    for base in a b; do
        run 0 summary ${base}_*.csv --json
        cp out $base.json
    done
    python3 - <<'END' || fail 'numbers'
import json

runs = json.load(open("compare.json"))["runs"]
for run, base, thin in zip(runs, "ab", (1, 2)):
    rows = json.load(open(base + ".json"))["parameters"]
    steps = div = n = 0
    seconds = 0.0
    for k in range(1, 5):
        lines = open(f"{base}_{k}.csv").read().split("\n")
        body = [l.split(",") for l in lines if l and l[0] != "#"][1:]
        steps += sum(float(r[4]) for r in body)
        div += sum(float(r[5]) for r in body)
        n += len(body)
        seconds = max(seconds, float([l for l in lines if "(Sampling)" in l][0]
                                     .split()[1]))
    assert run["label"] == base and run["draws"] == n
    assert run["gradients"] == steps * thin
    assert run["divergent"] == div
    assert run["min_ess_bulk"] == min(r["ess_bulk"] for r in rows)
    assert run["min_ess_tail"] == min(r["ess_tail"] for r in rows)
    assert abs(run["seconds_sampling"] - seconds) < 1e-12
    ess = run["min_ess_bulk"]
    assert abs(run["ess_per_second"] / (ess / seconds) - 1) < 1e-9
    assert abs(run["ess_per_1000_gradients"] / (1000 * ess / steps / thin) - 1) < 1e-9
END
    ok 'numbers'

    for pair in leapfrog:1 mclachlan:2 blanes:2 yoshida:3; do
        run 0 sample gaussian --seed 1 --samples 100 -q -o stages \
            --integrator "${pair%:*}"
        steps=$(awk -F, '!/^#/ && ++n > 1 { s += $5 } END { print s }' \
            stages_1.csv)
        run 0 compare stages_1.csv --json
        python3 - "$steps" "${pair#*:}" <<'END' || fail "gradients of $pair"
import json, sys
run = json.load(open("out"))["runs"][0]
steps, stages = int(sys.argv[1]), int(sys.argv[2])
assert run["gradients_per_step"] == stages
assert run["gradients"] == steps * stages, (run["gradients"], steps, stages)
assert abs(run["ess_per_1000_gradients"] * steps * stages
           / (1000 * run["min_ess_bulk"]) - 1) < 1e-9
END
    done
    # samplers without trajectories ignore the integrator
    run 0 sample gaussian --seed 1 --samples 100 -q -o plain --sampler sghmc \
        --step-size 0.1
    sed 's/relmc_integrator = .*/relmc_integrator = yoshida/' plain_1.csv \
        >ignored_1.csv
    run 0 compare ignored_1.csv --json
    says out '"gradients_per_step": 1'
    ok 'gradients of integrators with several stages'

    run 0 compare a_*.csv b_*.csv --csv runs.csv --json
    cp out runs.json
    says err 'wrote runs.csv'
    python3 - <<'END' || fail 'CSV'
import csv, json
rows = list(csv.DictReader(open("runs.csv")))
runs = json.load(open("runs.json"))["runs"]
assert [r["run"] for r in rows] == ["a", "b"]
for row, run in zip(rows, runs):
    assert abs(float(row["min_ess_bulk"]) / run["min_ess_bulk"] - 1) < 1e-8
    assert abs(float(row["ksd"]) / run["density"]["ksd"] - 1) < 1e-8
    assert row["mae"] == "NaN"
END
    run 4 compare a_*.csv --csv no/such/folder.csv
    says err 'cannot write no/such/folder.csv'
    ok 'CSV'
fi

run 0 compare a_*.csv b_*.csv -i 'x[1]'
says out 'min ESS'
grep -v -e Elapsed -e seconds a_1.csv >untimed.csv
run 0 compare untimed.csv
awk '$1 == "untimed" { exit $4 != "-" }' out || fail 'no timing, no ESS/s'
run 0 sample banana --seed 1 --samples 100 -q -o banana
run 0 compare a_*.csv banana_*.csv
says err 'warning: a is of model gaussian, banana of model banana'
ok 'what is undefined'
