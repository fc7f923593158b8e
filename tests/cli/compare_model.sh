#!/bin/sh
# compare_model.sh - relmc compare against the density of built-in models:
# histogram errors and Stein discrepancies.
set -eu
. "$(dirname "$0")/support.sh"

run 0 sample gmm1 --seed 1 --samples 500 -q -o g --sig-figs 17
run 0 sample gmm1 --seed 2 --samples 500 -q -o h --sig-figs 17
run 0 sample banana --seed 1 --samples 250 -q -o b --sig-figs 17
run 0 sample gaussian:dim=3,sd=2 --seed 1 --samples 100 -q -o n --sig-figs 17

# ---- histogram errors --------------------------------------------------------

run 0 compare g_*.csv h_*.csv
says out 'MAE     (iid)       TV    (iid)        KSD'
is_empty err
run 0 compare n_*.csv
grep -q MAE out && fail 'there are no bins for a normal law'
run 0 compare g_*.csv --stein none
grep -q KSD out && fail 'KSD was not wanted'
says out MAE
if has_python; then
    run 0 compare g_*.csv --json
    python3 - <<'END' || fail 'histogram error'
import json, math
def phi(x): return 0.5 * math.erfc(-x / math.sqrt(2))
def cdf(x): return sum(phi((x - m)) for m in (-5, 0, 5)) / 3
x = []
for k in range(1, 5):
    lines = [l.split(",") for l in open(f"g_{k}.csv") if l[0] != "#"]
    x += [float(r[-1]) for r in lines[1:]]
got = json.load(open("out"))["runs"][0]["density"]
edges = [-12 + i / 2 for i in range(49)]
total = inside = inside_p = 0
for a, b in zip(edges, edges[1:]):
    n = sum(a <= v < b for v in x)
    p = cdf(b) - cdf(a)
    total += abs(n / len(x) - p)
    inside += n
    inside_p += p
total += abs((len(x) - inside) / len(x) - (1 - inside_p))
assert got["bins"] == 49 and got["draws"] == len(x) == 2000
assert abs(got["mae"] - total / 49) < 1e-9, (got["mae"], total / 49)
assert abs(got["tv"] - total / 2) < 1e-9
assert 0 < got["mae_iid"] < got["mae"] * 3
END
fi
ok 'histogram errors of gmm1'

# ---- kernel Stein -------------------------------------------------------------

if has_python; then
    run 0 compare n_1.csv --json
    python3 - <<'END' || fail 'KSD'
import json, math
lines = [l.split(",") for l in open("n_1.csv") if l[0] != "#"]
# in units of the standard deviation this is N(0, I), whose scores are -x
x = [[float(v) / 2 for v in r[-3:]] for r in lines[1:]]
v = 0.0
for a in x:
    for b in x:
        z = [p - q for p, q in zip(a, b)]
        r2 = sum(c * c for c in z)
        y = 1 / math.sqrt(1 + r2)
        dot = sum(p * q for p, q in zip(a, b))
        v += y * (dot + y * y * (3 - r2 - 3 * r2 * y * y))
v /= len(x) ** 2
got = json.load(open("out"))["runs"][0]["density"]
assert got["ksd_kind"] == "all pairs"
assert abs(got["ksd"] - math.sqrt(v)) < 1e-9, (got["ksd"], math.sqrt(v))
END
    ok 'kernel Stein discrepancy by its definition'
fi

# -i restricts the ESS; the density needs all coordinates.
run 0 compare b_*.csv --json
grep '"ksd"' out >all.txt
run 0 compare b_*.csv --json -i 'x[1]'
grep '"ksd"' out >some.txt
cmp -s all.txt some.txt || fail 'KSD depends on -i'
run 0 compare b_*.csv --memory 0.001
says out 'for want of memory'
ok 'all coordinates count'

run 0 sample gmm1 --seed 3 --samples 6000 -q -o long
run 0 compare long_*.csv g_*.csv
says out 'KSD >='
run 0 sample gaussian:dim=5 --seed 3 --samples 6000 -q -o wide --leapfrog 2
run 0 compare wide_*.csv
says out 'KSD^2 (U)'
ok 'other ways for many draws'

# ---- graph Stein --------------------------------------------------------------

run 0 compare g_*.csv --stein graph
says out 'graph Stein'
grep -q KSD out && fail 'KSD was not wanted'
grep -q 'g: graph Stein in \[0\.[0-9]*, 0\.[0-9]*\], 2000 of its 2000 draws' \
    out || fail 'the interval'
run 0 compare g_*.csv h_1.csv --stein both --graph-draws 100 --json
if has_python; then
    python3 - <<'END' || fail 'graph'
import json
for run in json.load(open("out"))["runs"]:
    d = run["density"]
    assert d["graph_draws"] == 100 and d["graph_points"] <= 100
    assert 0 < d["graph_lower"] <= d["graph_upper"] <= d["graph_lower"] * 1.00001
    assert d["ksd"] > 0
END
fi
run 0 version
if grep -q 'extra .*CHOLMOD' out; then
    run 0 compare b_*.csv --stein graph --graph-draws 50
    says out 'b: graph Stein in ['
else
    run 2 compare b_*.csv --stein graph
    says err 'librelmc-extra'
fi
ok 'graph Stein discrepancy'

# ---- files without a density ---------------------------------------------------

grep -v relmc_model g_1.csv >anon.csv
run 0 compare anon.csv
says err 'anon: no Stein discrepancy: its files name no built-in model'
grep -q -e KSD -e MAE out && fail 'nothing is known'
run 3 compare anon.csv --stein ksd
says err '--stein ksd: no scores for anon'
[ "$(wc -l <err)" -eq 1 ] || fail 'one line'
run 0 compare anon.csv --stein none
is_empty err
sed 's/relmc_model = gmm1/relmc_model = mine.so/' g_1.csv >mine.csv
run 0 compare mine.csv
says err 'mine.so is no built-in model'
sed 's/relmc_model = gmm1/relmc_model = gaussian:dim=2/' g_1.csv >other.csv
run 0 compare other.csv
says err 'its files have no column x.2'
run 2 compare g_*.csv --stein all
says err '--stein'
ok 'models that are not there'
