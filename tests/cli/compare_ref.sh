#!/bin/sh
# compare_ref.sh - relmc compare --ref: z-scores, tests of two samples, verdict.
set -eu
. "$(dirname "$0")/support.sh"

run 0 sample gaussian --seed 1 --samples 500 -q -o a --sig-figs 17
run 0 sample gaussian --seed 2 --samples 500 -q -o b --sig-figs 17
run 0 sample banana --seed 1 --samples 50 -q -o banana

# one_line TEXT: stderr is one line with this text, stdout is empty.
one_line() {
    says err "$1"
    is_empty out
    [ "$(wc -l <err)" -eq 1 ] || fail 'one line'
}

# ---- exact moments -----------------------------------------------------------

run 0 compare a_*.csv b_*.csv --ref exact
sed -n 1p out | grep -q '^ok    a     worst |z| [0-9.]* (.* of x\[[12]\]), limit 4; 4 values of 2 parameters$' ||
    fail 'verdict first'
says out 'two samples ('
says out 'a against the exact moments'
is_empty err
run 1 compare a_*.csv --ref exact --max-z 0.001
sed -n 1p out | grep -q '^FAIL  a ' || fail 'FAIL'
says out 'limit 0.001'
awk -F, -v OFS=, '!/^#/ && !/^lp__/ { $NF += 1 } { print }' a_1.csv >far.csv
run 1 compare far.csv --ref exact
sed -n 1p out | grep -q 'FAIL  far .* of x\[2\]' || fail 'the worst is named'
grep -v relmc_model a_1.csv >anon.csv
run 3 compare anon.csv --ref exact
one_line '--ref exact: anon: its files name no built-in model'
ok 'exact moments'

# An estimate without a standard error is not compared.
for nu in 4 2 5; do
    run 0 sample student:nu=$nu --sampler nuts --seed 1 --samples 500 -q -o t$nu
done
run 0 compare t5_*.csv --ref exact
says out '4 values of 2 parameters'
run 0 compare t4_*.csv --ref exact
says out '(mean of x['
says out '2 values of 2 parameters'
run 0 compare t2_*.csv --ref exact
says out 'ok    t2    nothing was compared; 0 values of 2 parameters'
says out 'two samples ('
ok 'heavy tails'

# ---- summaries ---------------------------------------------------------------

cat >exact.json <<'END'
{"columns": ["mean", "sd", "q05", "q50", "q95"],
 "params": {"x[1]": [0, 1, -1.644853627, 0, 1.644853627],
            "x[ 2 ]": [0, 1, -1.644853627, 0, 1.644853627]}}
END
run 0 compare a_*.csv --ref exact.json
says out '10 values of 2 parameters'
grep -q 'two samples' out && fail 'there are no reference draws'
is_empty err
cat >some.json <<'END'
{"posterior": "made up", "ndraws": 10000, "ess_bulk_min": 9000,
 "columns": ["mean", "sd", "q05", "q25", "q50", "q75", "q95", "mean_sq"],
 "params": {"x.1": [0, 1, -1.645, -0.674, 0, 0.674, 1.645, 1],
            "tau": [3, 1, 1, 2, 3, 4, 5, 10]}}
END
run 0 compare a_*.csv --ref some.json
says err 'a: not in the reference: x[2]; only in the reference: tau'
[ "$(wc -l <err)" -eq 1 ] || fail 'one line'
says out '7 values of 1 parameter'
run 0 compare a_*.csv b_*.csv --ref some.json
[ "$(wc -l <err)" -eq 1 ] || fail 'one line for both'
if has_python; then
    # the errors of both sides count; that of the draws is computed here
    run 0 summary a_*.csv --json
    cp out a.json
    run 0 compare a_*.csv --ref some.json --json
    python3 - <<'END' || fail 'errors of summaries'
import json, math
z = json.load(open("out"))["runs"][0]["verdict"]["parameters"][0]
a = [r for r in json.load(open("a.json"))["parameters"]
     if r["name"] == "x[1]"][0]
error = math.hypot(a["mcse_mean"], 1 / math.sqrt(9000))
assert abs(z["mean"]["z"] - a["mean"] / error) < 1e-9
END
    sed 's/"ndraws": 10000, "ess_bulk_min": 9000,//' some.json >sure.json
    cp out unsure.json
    run 0 compare a_*.csv --ref sure.json --json
    python3 - <<'END' || fail 'exact summaries'
import json
one, two = (json.load(open(n))["runs"][0]["verdict"]["parameters"][0]
            for n in ("unsure.json", "out"))
for key in ("sd", "q5", "q50", "q95"):
    assert 1 < two[key]["z"] / one[key]["z"] < 1.6, key
END
fi
sed 's/\[0, 1, -1.645,/[0.5, 1, null,/' some.json >wrong.json
run 1 compare a_*.csv --ref wrong.json
says out '(mean of x[1]), limit 4; 6 values'
echo '{"params": {"x[1]": {"mean": 0}, "x[2]": {"q97.5": 1.959964}}}' >few.json
run 0 compare a_*.csv --ref few.json
says out '2 values of 2 parameters'
ok 'summaries'

# ---- reference draws ---------------------------------------------------------

run 0 compare a_*.csv --ref b_1.csv --ref b_2.csv --ref b_3.csv --ref b_4.csv
says out '14 values of 2 parameters'
says out 'two samples ('
is_empty err
if has_python; then
    run 0 compare a_*.csv --json --csv z.csv --ref b_1.csv --ref b_2.csv \
        --ref b_3.csv --ref b_4.csv
    cp out csv.json
    python3 - <<'END'
import json
chains = []
for k in range(1, 5):
    lines = [l.strip().split(",") for l in open(f"b_{k}.csv") if l[0] != "#"]
    at = [lines[0].index(f"x.{i}") for i in (1, 2)]
    chains.append({f"x[{i + 1}]": [float(r[j]) for r in lines[1:]]
                   for i, j in enumerate(at)})
json.dump(chains, open("draws.json", "w"))
END
    run 0 compare a_*.csv --json --ref draws.json
    for base in a b; do
        run 0 summary ${base}_*.csv --json
        cp out $base.json
    done
    run 0 compare a_*.csv --json --ref draws.json
    python3 - <<'END' || fail 'numbers of --ref'
import csv, json, math
one = json.load(open("csv.json"))["runs"][0]["verdict"]
two = json.load(open("out"))["runs"][0]["verdict"]
assert one == two, "draws in CSV and in JSON"
rows = {n: {r["name"]: r for r in json.load(open(n + ".json"))["parameters"]}
        for n in "ab"}
worst = 0
for p in one["parameters"]:
    a, b = rows["a"][p["name"]], rows["b"][p["name"]]
    z = (a["mean"] - b["mean"]) / math.hypot(a["mcse_mean"], b["mcse_mean"])
    assert abs(p["mean"]["z"] - z) < 1e-9
    assert p["mean"]["estimate"] == a["mean"]
    assert p["mean"]["reference"] == b["mean"]
    assert p["q5"]["estimate"] == a["q5"] and p["q95"]["reference"] == b["q95"]
    top = max(abs(p[k]["z"]) for k in ("mean", "sd", "q5", "q25", "q50", "q75",
                                       "q95"))
    assert p["worst"] == top
    worst = max(worst, top)
assert one["worst_z"] == worst and one["is_ok"]
t = one["two_samples"]
assert 400 <= t["draws"] <= 500 and 400 <= t["draws_reference"] <= 500
assert t["permutations"] == 999
for k in ("energy_p", "mmd_p", "sliced_w1_p", "least_ks_p", "least_ad_p"):
    assert 0.001 <= t[k] <= 1
table = list(csv.DictReader(open("z.csv")))
assert [r["name"] for r in table] == ["x[1]", "x[2]"]
for r, p in zip(table, one["parameters"]):
    assert abs(float(r["mean_z"]) - p["mean"]["z"]) < 1e-8
    assert abs(float(r["q95_ref"]) - p["q95"]["reference"]) < 1e-8
END
    # correlated draws with the same means, deviations and quantiles
    python3 - <<'END'
import random
random.seed(4)
for k in range(1, 5):
    with open(f"twin_{k}.csv", "w") as file:
        file.write("x.1,x.2\n")
        for _ in range(500):
            x = random.gauss(0, 1)
            y = 0.8 * x + 0.6 * random.gauss(0, 1)
            file.write(f"{x:.8g},{y:.8g}\n")
END
    run 0 compare twin_*.csv --ref draws.json --json --stein none
    python3 - <<'END' || fail 'a wrong joint law'
import json
t = json.load(open("out"))["runs"][0]["verdict"]["two_samples"]
assert t["energy_p"] <= 0.01 and t["mmd_p"] <= 0.01 and t["sliced_w1_p"] <= 0.01
assert t["least_ks_p"] > 0.001
END
fi
# of a slow chain only as many draws are used as are effective
run 0 sample gaussian --seed 3 --samples 500 -q -o slow --leapfrog 1 --fix \
    --step-size 0.5
run 0 compare slow_*.csv --ref exact --json --max-z 100
if has_python; then
    python3 - <<'END' || fail 'thinning'
import json
run = json.load(open("out"))["runs"][0]
t = run["verdict"]["two_samples"]
assert run["min_ess_bulk"] < 300
assert 4 <= t["draws"] <= run["min_ess_bulk"] + 4 and t["block"] == 2
assert t["draws_reference"] == 500
END
fi
run 0 compare a_*.csv --ref b_1.csv -i 'x[2]'
says out '7 values of 1 parameter'
ok 'reference draws'

# A chain that stands still fails, unless it stands at the exact value.
{
    echo 'x.1,x.2'
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do echo '0,0'; done
} >still.csv
run 1 compare still.csv --ref exact.json --stein none
says out 'FAIL  still  the error of mean of x[1] is undefined'
sed 's/0,0/1,1/' still.csv >ones.csv
echo '{"params": {"x[1]": [1, 0]}, "columns": ["mean", "sd"]}' >one.json
run 0 compare ones.csv --ref one.json --stein none
says out 'worst |z| 0.00'
ok 'what does not move'

# ---- invalid references --------------------------------------------------------

run 4 compare a_*.csv --ref none.csv
one_line 'cannot read none.csv: No such file'
run 2 compare a_*.csv --ref
one_line '--ref'
echo '{"params": {' >broken.json
run 3 compare a_*.csv --ref broken.json
one_line 'broken.json'
for text in '{}' '[]' '[1, 2]' '{"params": []}' '[{}]' '{"params": {}}'; do
    echo "$text" >odd.json
    run 3 compare a_*.csv --ref odd.json
    one_line 'odd.json: '
done
echo '{"columns": ["mean", "sd"], "params": {"x[1]": [0]}}' >ragged.json
run 3 compare a_*.csv --ref ragged.json
one_line 'ragged.json: x[1] has 1 values where there are 2 columns'
echo '{"columns": ["mean", "mode"], "params": {"x[1]": [0, 1]}}' >mode.json
run 3 compare a_*.csv --ref mode.json
one_line 'mode.json: column "mode" is none of mean, sd, q5'
echo '{"columns": ["mean"], "params": {"x[1]": ["zero"]}}' >word.json
run 3 compare a_*.csv --ref word.json
one_line 'word.json: not a number among the values of x[1]'
echo '{"columns": ["mean"], "params": {"x[1]": [0], "x.1": [0]}}' >twice.json
run 3 compare a_*.csv --ref twice.json
one_line 'twice.json: x[1] is there twice'
echo '[{"x[1]": [1, 2, 3]}, {"x[1]": [1, 2]}]' >chains.json
run 3 compare a_*.csv --ref chains.json
one_line 'chains.json: chain 2 has 2 draws of x[1], the first one 3'
echo '[{"x[1]": [1, 2]}, {"x[2]": [1, 2]}]' >names.json
run 3 compare a_*.csv --ref names.json
one_line 'names.json: a chain has no list of draws of x[1]'
printf 'x.1,x.2\n1,2\n3\n' >short.csv
run 3 compare a_*.csv --ref short.csv
one_line 'short.csv:3: 1 value where the header has 2 columns'
echo '{"columns": ["mean"], "params": {"theta[1]": [0]}}' >other.json
run 3 compare a_*.csv --ref other.json
one_line 'a and other.json have no parameter in common: x[1], x[2]; theta[1]'
run 2 compare a_*.csv --ref exact.json --ref some.json
one_line 'of JSON files only one can be given'
run 2 compare a_*.csv --ref exact --max-z -1
one_line '--max-z'
run 2 compare a_*.csv --max-z 3
one_line '--max-z does nothing without --ref'
ok 'what is no reference is refused in one line'
