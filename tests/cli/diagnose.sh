#!/bin/sh
# diagnose.sh - relmc diagnose: every check can pass and fail.
set -eu
. "$(dirname "$0")/support.sh"

run 0 sample gaussian --sampler nuts --seed 1 --samples 1000 -q -o fine
run 0 diagnose fine_*.csv
is_empty err
for check in divergences E-BFMI R-hat ESS acceptance 'step sizes' \
    'cruising speed'; do
    grep -q "^ok    $check  " out || fail "no verdict on $check"
done
grep -q '^ok    tree depth' out || fail "no verdict on tree depth"
[ "$(tail -n 1 out)" = '0 of 8 checks failed.' ] || fail 'the last line'
run 0 sample gaussian --leapfrog 5 --seed 1 --samples 1000 -q -o static
run 0 diagnose static_*.csv
grep -q 'tree depth' out && fail 'static trajectories have no tree depth'
run 0 diagnose fine_*.csv -i 'x[1]'
grep -q '^ok    divergences' out || fail '-i keeps the statistics'
ok 'a good run'

# an engine that auto chooses may accept nearly everything: that is not a failure
run 0 sample banana --seed 1 --samples 100 -q -o banana
for file in banana_?.csv; do
    awk -F, -v OFS=, '/^[#l]/ { print; next } { $2 = 0.98; print }' "$file" \
        >edited && mv edited "$file"
done
sed -i 's/^\(# relmc_engine =\).*/\1 nuts/' banana_?.csv
run 1 diagnose banana_?.csv
grep -q '^ok    acceptance  *0.98 on average, limit 0.65' out ||
    fail 'high acceptance'
ok 'an engine that accepts more than nuts'

# files name the engine, the energy and the step size that were used
run 0 sample banana --adapt auto:warp=0 --seed 1 --samples 100 -q -o banana
grep -q '^# relmc_engine = walnuts *$' banana_1.csv || fail 'the engine'
grep -q '^# relmc_energy = relativistic *$' banana_1.csv || fail 'the energy'
step=$(sed -n 's/^# Step size = //p' banana_1.csv)
[ "$(grep -v '^[#l]' banana_1.csv | cut -d, -f3 | sort -u)" = "$step" ] ||
    fail 'the step that adaptation ended with'
run 1 diagnose banana_?.csv
grep -q 'acceptance' out && fail 'walnuts was not tuned to its share of steps'
run 0 sample logistic --cruise 0.3 --seed 1 --samples 500 -o chosen
says err 'newtonian energy'
grep -q 'cruising' err && fail 'momenta of another energy than asked for'
grep -q '^# relmc_energy = newtonian *$' chosen_1.csv || fail 'the energy'
run 0 diagnose chosen_*.csv
grep -q 'cruising' out && fail 'momenta of another energy than asked for'
grep -q '^ok    E-BFMI.*limit 0.30)' out || fail 'E-BFMI of normal momenta'
run 1 sample 'gaussian:sd=[1,1e5]' --metric unit_e --seed 1 --samples 50 \
    --strict -o deep
says err 'reached the limit 10'
run 1 diagnose deep_*.csv
grep -q '^FAIL  tree depth' out || fail 'trees of auto that are cut short'
ok 'what is in use, not what was asked for'

# a chain of an earlier run among those of another
run 0 sample gaussian --sampler hmc --seed 2 --chains 2 --samples 1000 -q -o mixed
run 0 sample gaussian --sampler nuts --seed 1 --chains 1 --samples 1000 -q -o mixed_1
mv mixed_1_1.csv mixed_1.csv
run 0 diagnose mixed_1.csv mixed_2.csv
says err 'mixed_1.csv and mixed_2.csv are of different runs: sampler is nuts:'
ok 'chains of different runs'

# E-BFMI needs successive draws with fresh momenta
run 0 sample gaussian:dim=20 --sampler nuts --thin 5 --samples 5000 --seed 1 \
    -q -o thin
run 0 diagnose thin_*.csv
grep -q 'E-BFMI' out && fail 'E-BFMI of thinned draws'
run 0 sample gaussian:dim=20 --sampler ghmc:time=10,record=1 --seed 1 \
    --samples 9000 -q -o kept
run 0 diagnose kept_*.csv
grep -q 'E-BFMI' out && fail 'E-BFMI of momenta that are kept'
ok 'no E-BFMI without a limit'

# sick NAME=VALUE...: writes four chains with the named faults only.
sick() {
    python3 - "$@" <<'END'
import random, sys

given = dict(a.split("=", 1) for a in sys.argv[1:])
number = lambda key, default: float(given.get(key, default))
random.seed(5)
n, warm = 400, 50
for k in range(1, 5):
    with open(f"sick_{k}.csv", "w") as f:
        f.write("# model = sick_model\n# method = sample\n#   sample\n"
                f"#     num_samples = {n}\n#     num_warmup = {warm}\n"
                "#     save_warmup = 1\n#     thin = 1\n#     adapt\n"
                "#       engaged = 1\n#       delta = 0.8\n"
                f"#         engine = {given.get('engine', 'nuts')}\n"
                "#             max_depth = 10\n")
        f.write("lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,"
                "divergent__,energy__,x,y,one\n")
        eps = 0.5 * number("ratio", 1) ** (k == 2)
        x = energy = 0
        for t in range(-warm, n):
            rho = number("rho", 0)
            x = rho * x + (1 - rho * rho) ** 0.5 * random.gauss(0, 1)
            slow = number("slow", 0)
            energy = slow * energy + (1 - slow * slow) ** 0.5 * random.gauss(0, 1)
            bad = t < 0 or (x > 1.5 and number("div", 0) > 0) \
                or number("div", 0) == 2
            y = random.gauss(number("shift", 0) * (k == 3), 1)
            if given.get("binary"):
                y = int(y > 0)
            if given.get("nan") and t == 7 and k == 4:
                y = float("nan")
            depth = 10 if t < 0 or (number("deep", 0) and t % 100 == 0) else 3
            f.write(f"-1,{number('accept', 0.8)},{eps},{depth},7,{int(bad)},"
                    f"{energy},{x},{y},1\n")
            if t == -1:
                f.write(f"# Adaptation terminated\n# Step size = {eps}\n")
END
}

# finds CHECK TEXT: this check is the only one that fails, with this text.
finds() {
    run 1 diagnose sick_*.csv
    grep -q "^FAIL  $1 .*$2" out || fail "$1 does not fail with '$2'"
    [ "$(tail -n 1 out)" = "1 of ${3-7} checks failed." ] || fail 'the last line'
    [ "$(grep -c '^ok  ' out)" -eq $((${3-7} - 1)) ] || fail 'other checks'
    grep -A 1 "^FAIL  $1" out | tail -n 1 | grep -q '^ \{24\}[A-Z].*\.$' ||
        fail 'advice below'
}

if has_python; then
    sick
    run 0 diagnose sick_*.csv
    grep -q '^ok    tree depth        0 of 1600 transitions reached the limit 10$' \
        out || fail 'tree depth; warm-up must not count'
    grep -q '^ok    divergences       0 of 1600$' out || fail 'divergences'
    says out 'limit 400; 1 constant left out'
    [ "$(tail -n 1 out)" = '0 of 7 checks failed.' ] || fail 'the last line'
    ok "a good run of CmdStan's, warm-up and constants left out"

    sick binary=1
    run 0 diagnose sick_*.csv
    grep -q '^ok    ESS  *smallest bulk [0-9]* (.), tail [0-9]* (x)' out ||
        fail 'a quantity that is 0 or 1'
    ok 'quantities without tails'

    sick deep=1
    finds 'tree depth' ' 16 of 1600 transitions reached the limit 10'
    sick deep=1 engine=static
    run 0 diagnose sick_*.csv
    [ "$(tail -n 1 out)" = '0 of 6 checks failed.' ] || fail 'static'
    ok 'tree depth'

    sick div=1
    finds divergences ' of 1600 ([0-9.]* %), all with x >= 1.5'
    says out 'Raise --target-accept (now 0.80)'
    n=$(sed -n 's/^FAIL  divergences *\([0-9]*\) of.*/\1/p' out)
    wanted=$(python3 - <<'END'
n = 0
for k in range(1, 5):
    rows = [l.split(",") for l in open(f"sick_{k}.csv") if l[0] != "#"][51:]
    assert len(rows) == 400
    n += sum(r[5] == "1" for r in rows)
print(n)
END
)
    [ "$n" -eq "$wanted" ] || fail "$n divergences, not $wanted"
    sick div=2
    finds divergences '1600 of 1600 (100.0 %)$'
    ok 'divergences, where they are, at most 100 %'

    sick slow=0.97
    finds E-BFMI '(limit 0.30)'
    sick shift=1
    run 1 diagnose sick_*.csv
    grep -q '^FAIL  R-hat  *largest 1.[0-9]* (y), limit 1.01' out || fail 'R-hat'
    grep -q '^ok    E-BFMI' out || fail 'E-BFMI has nothing to do with it'
    sick rho=0.9
    run 1 diagnose sick_*.csv
    grep -q '^FAIL  ESS  *smallest bulk [0-9]* (x), tail [0-9]* (x), limit 400' out ||
        fail 'ESS'
    grep -Eq 'Try --samples [0-9]+000' out || fail 'how many draws would do'
    sick nan=1
    run 1 diagnose sick_*.csv
    says out 'that of y is undefined'
    sick accept=0.3
    finds acceptance '0.30 on average, target 0.80'
    sick ratio=20
    finds 'step sizes' '0.500 10.0 0.500 0.500'
    says out '(sick_1.csv has 0.5, sick_2.csv 10)'
    ok 'E-BFMI, R-hat, ESS, acceptance, step sizes'

    # a model without parameters of its own has neither steps nor energies
    for k in 1 2; do
        printf 'lp__,stepsize__,energy__,x\n' >none_$k.csv
        seq 1 500 | awk -v s=$k 'BEGIN { srand(s) }
            { print "0,nan,0," rand() }' >>none_$k.csv
    done
    run 0 diagnose none_*.csv
    [ "$(tail -n 1 out)" = '0 of 2 checks failed.' ] || fail 'no step sizes'
    ok 'what is undefined is left out'

    sick div=1 shift=1
    run 1 diagnose sick_*.csv --json
    python3 - out <<'END' || fail '--json'
import json, sys
root = json.load(open(sys.argv[1]))
bad = {c["check"] for c in root["checks"] if not c["ok"]}
assert bad == {"divergences", "R-hat", "ESS"}, bad
assert root["n_failed"] == 3 and root["n_checks"] == len(root["checks"]) == 7
assert all((c["advice"] is None) == c["ok"] for c in root["checks"])
END
    ok 'JSON'
fi

escape=$(printf '\033')
run 0 diagnose fine_*.csv --color always
grep -q "$escape" out || fail '--color always'
run 0 diagnose fine_*.csv
grep -q "$escape" out && fail 'colour off a terminal'
run 0 diagnose fine_1.csv
says out 'limit 100'
grep -q 'step sizes' out && fail 'one chain has no other step sizes'
ok 'colours, one chain'
