#!/bin/sh
# progress.sh - messages during a run, and options that turn them off.
set -eu
. "$(dirname "$0")/support.sh"

run 0 sample banana --seed 1 -c 2 --no-output --refresh 250 --warmup 1000
grep '^Chain \[2\]' err >lines
cat >wanted <<'END'
Chain [2] Iteration:    1 / 2000 [  0%]  (Warmup)
Chain [2] Iteration:  250 / 2000 [ 12%]  (Warmup)
Chain [2] Iteration:  500 / 2000 [ 25%]  (Warmup)
Chain [2] Iteration:  750 / 2000 [ 37%]  (Warmup)
Chain [2] Iteration: 1000 / 2000 [ 50%]  (Warmup)
Chain [2] Iteration: 1001 / 2000 [ 50%]  (Sampling)
Chain [2] Iteration: 1250 / 2000 [ 62%]  (Sampling)
Chain [2] Iteration: 1500 / 2000 [ 75%]  (Sampling)
Chain [2] Iteration: 1750 / 2000 [ 87%]  (Sampling)
Chain [2] Iteration: 2000 / 2000 [100%]  (Sampling)
END
cmp lines wanted || fail "Stan's lines"
run 0 sample banana --seed 1 -c 1 --no-output --warmup 150 --samples 70
grep '^Chain' err >lines
cat >wanted <<'END'
Chain [1] Iteration:   1 / 220 [  0%]  (Warmup)
Chain [1] Iteration: 100 / 220 [ 45%]  (Warmup)
Chain [1] Iteration: 151 / 220 [ 68%]  (Sampling)
Chain [1] Iteration: 220 / 220 [100%]  (Sampling)
END
cmp lines wanted || fail "Stan's lines when phases are no multiples"
run 0 sample banana --seed 1 --no-output --refresh 0
grep -q '^Chain' err && fail '--refresh 0'
run 0 sample banana --seed 1 --no-output --progress none
grep -q '^Chain' err && fail '--progress none'
ok "Stan's lines"

run 0 sample banana --seed 1 --no-output -q
is_empty err
says out 'x[2]'
run 0 sample banana --seed 1 --warmup 5 --samples 5 -o quiet --quiet --fix
is_empty err
with RELMC_QUIET=1 0 sample banana --seed 1 --no-output
is_empty err
ok 'quiet is quiet'

if has_python; then
    run 0 sample banana --seed 1 --warmup 10 --samples 50 --no-output \
        --progress json
    python3 - err <<'END' || fail '--progress json'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
last = {}
for line in lines:
    if "chain" in line:
        last[line["chain"]] = line
        assert set(line) == {"t", "chain", "it", "of", "phase", "div", "eps",
                             "c", "vbar", "grads"}, line
assert sorted(last) == [1, 2, 3, 4]
assert all(l["it"] == l["of"] == 60 and l["phase"] == "sampling"
           for l in last.values())
assert any("message" in line for line in lines)
assert any("warning" in line for line in lines)
END
    ok 'JSON lines'
fi

escape=$(printf '\033')
weak='sample banana --seed 1 --warmup 5 --samples 20 --no-output'
# shellcheck disable=SC2086
{
    run 0 $weak
    says err 'warning:'
    grep -q "$escape" err && fail 'colour off a terminal'
    with FORCE_COLOR=1 0 $weak
    grep -q "$escape" err || fail 'FORCE_COLOR'
    with 'FORCE_COLOR=1 NO_COLOR=1' 0 $weak
    grep -q "$escape" err && fail 'NO_COLOR'
    with NO_COLOR=1 0 $weak --color always
    grep -q "$escape" err || fail '--color always'
    with FORCE_COLOR=1 0 $weak --color=never
    grep -q "$escape" err && fail '--color never'
    with FORCE_COLOR=1 0 help sample
    grep -q "$escape" out || fail 'FORCE_COLOR and help'
}
ok 'colours'

run 0 sample banana --seed 1 --no-output --progress bar -c 3
says err 'chain 3 ='
says err '1500/1500'
with LC_ALL=C.UTF-8 0 sample banana --seed 1 --no-output --progress bar -c 3
says err 'chain 3 ━'
ok 'bars in ASCII and UTF-8'
