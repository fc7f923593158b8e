#!/bin/sh
# summary.sh - relmc summary equals sample --json of the same run, and numbers computed
# here.
set -eu
. "$(dirname "$0")/support.sh"

run 0 sample gaussian:dim=3,rho=0.5 --seed 3 --warmup 300 --samples 500 -q \
    --json --sig-figs 17 --save-warmup -o g
cp out sample.json
run 0 summary g_1.csv g_2.csv g_3.csv g_4.csv
is_empty err
cp out table
says out 'Model gaussian, self-tuning, relativistic energy, 4 chains x 500 draws (warm-up 300, thin 1), '
[ -z "$(sed -n 2p out)" ] || fail 'the second line is empty'
[ "$(sed -n 3p out | tr -s ' ')" = \
    ' Mean MCSE StdDev MAD 5% 50% 95% ESS_bulk ESS_tail R_hat' ] ||
    fail 'the heads of the columns'
sed -n '4,$p' out | awk '{print $1}' >names
printf '%s\n' lp__ accept_stat__ stepsize__ treedepth__ n_leapfrog__ \
    divergent__ energy__ speed__ '' 'x[1]' 'x[2]' 'x[3]' >wanted
cmp names wanted || fail 'rows and their order'
grep -q ' $' out && fail 'blanks at the end of a line'
awk '/^accept_stat__|^n_leapfrog__|^speed__/ && !/- +- +-$/ { exit 1 }' out ||
    fail 'ESS of statistics that have none'
awk '/^(lp__|energy__|x)/ && /-$/ { exit 1 }' out || fail 'R_hat is missing'
ok 'layout'

if has_python; then
    run 0 summary g_*.csv --json --csv table.csv -p 2.5,50,97.5
    says err 'wrote table.csv'
    cat >check.py <<'END'
import csv, json, math, statistics, sys

def draws(path):
    rows = [l.strip().split(",") for l in open(path) if not l.startswith("#")]
    head, body = rows[0], [[float(v) for v in r] for r in rows[1:]]
    assert len(body) == 800, len(body)  # 300 of them are warm-up
    return {h: [r[j] for r in body[300:]] for j, h in enumerate(head)}

def quantile(x, p):
    x = sorted(x)
    h = (len(x) - 1) * p
    k = min(int(h), len(x) - 2)
    return x[k] + (h - k) * (x[k + 1] - x[k])

def close(a, b, tol=1e-10):
    assert abs(a - b) <= tol * (abs(b) + 1e-12), (a, b)

chains = [draws(f"g_{k}.csv") for k in range(1, 5)]
root = json.load(open("out"))
rows = {r["name"]: r for r in root["sampler"] + root["parameters"]}
assert root["chains"] == 4 and root["draws"] == 2000 and root["warmup"] == 300
assert root["model"] == "gaussian" and len(root["files"]) == 4
for name in chains[0]:
    pretty = name.replace(".", "[") + "]" if "." in name else name
    x = [v for c in chains for v in c[name]]
    r = rows[pretty]
    close(r["mean"], math.fsum(x) / len(x))
    close(r["sd"], statistics.stdev(x))
    for p in (2.5, 50, 97.5):
        close(r["q%g" % p], quantile(x, p / 100))
    if name != "stepsize__":
        m = quantile(x, 0.5)
        close(r["mad"], 1.4826 * quantile([abs(v - m) for v in x], 0.5), 1e-5)
assert rows["divergent__"]["mcse_mean"] is None
assert rows["stepsize__"]["rhat"] is None and rows["lp__"]["rhat"] is not None

# the summary of the run itself used all digits of its draws
for r in json.load(open("sample.json"))["parameters"]:
    for key in ("mean", "sd", "mcse_mean", "ess_bulk", "ess_tail", "rhat"):
        close(rows[r["name"]][key], r[key], 1e-9)

table = list(csv.reader(open("table.csv")))
assert table[0] == ["name", "Mean", "MCSE", "StdDev", "MAD", "2.5%", "50%",
                    "97.5%", "ESS_bulk", "ESS_tail", "R_hat"], table[0]
assert [t[0] for t in table[1:]] == list(rows)
for t in table[1:]:
    r = rows[t[0]]
    for text, key in zip(t[1:], ("mean", "mcse_mean", "sd", "mad", "q2.5", "q50",
                                 "q97.5", "ess_bulk", "ess_tail", "rhat")):
        if r[key] is None:
            assert text == "NaN"
        else:
            close(float(text), r[key], 1e-9)

# the table has these numbers, rounded
for line in open("table"):
    words = line.split()
    if words and words[0] in rows:
        r = rows[words[0]]
        for word, key in zip((words[1], words[3]), ("mean", "sd")):
            close(float(word), r[key], 6e-3)
END
    python3 check.py || fail 'numbers'
    ok 'numbers, JSON and CSV'
fi

run 0 summary g_*.csv -i x
[ "$(grep -c '^x\[' out)" -eq 3 ] || fail '-i x'
grep -q 'lp__' out && fail '-i x leaves out lp__'
run 0 summary g_*.csv -i 'x[2]' --include lp__
[ "$(sed -n '4,$p' out | awk 'NF {print $1}' | tr '\n' ' ')" = 'lp__ x[2] ' ] ||
    fail '-i x[2] --include lp__'
run 0 summary g_*.csv -i x.3
says out 'x[3]'
grep -q 'x\[1\]' out && fail '-i x.3'
run 2 summary g_*.csv -i lp_
says err 'no variable "lp_" in g_1.csv (did you mean "lp__"?)'
run 2 summary g_*.csv -i 'x[4]'
run 0 summary g_*.csv -p 10
[ "$(sed -n 3p out | tr -s ' ')" = \
    ' Mean MCSE StdDev MAD 10% ESS_bulk ESS_tail R_hat' ] || fail '-p 10'
for list in 101 -1 a 5,x; do
    run 2 summary g_*.csv -p "$list"
    says err "is not a number from 0 to 100"
done
run 0 summary g_*.csv -s 8
awk '$1 == "x[1]" { gsub(/[-.]/, "", $4); exit length($4) < 8 }' out ||
    fail '-s 8'
run 2 summary g_*.csv -s 0
run 4 summary g_*.csv --csv nowhere/table.csv
says err 'cannot write nowhere/table.csv'
ok 'options'

for command in summary diagnose compare; do
    run 0 help "$command"
    says out "relmc $command - "
    says out "relmc $command FILE... [options]"
    awk 'length > 80 { exit 1 }' out || fail 'help is wider than 80 columns'
    cp out wanted
    run 0 "$command" --help
    cmp -s out wanted || fail "relmc $command --help"
done
run 0
says out 'summary FILE...'
ok 'help'

printf 'x\n1\n1\n1\n1\n' >constant.csv
run 0 summary constant.csv
printf 'x\n1\n' >single.csv
run 0 summary single.csv
awk '$1 == "x" { exit !($2 == "1.00" && $3 == "-" && $4 == "-") }' out ||
    fail 'one draw has a mean and nothing else'
run 0 sample gaussian --seed 1 -c 1 --samples 50 -q --thin 5 -o t
run 0 summary t_1.csv
says out '1 chain x 10 draws (warm-up 500, thin 5)'
ok 'little to say'
