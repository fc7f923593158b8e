#!/bin/sh
# streaming.sh - a run that keeps no draws needs no more memory if it is a hundred times
# longer, and still prints a summary.
set -eu
. "$(dirname "$0")/support.sh"

few=100000
many=${2:-10000000}
how='gaussian:dim=1 -c 1 --sampler hmc --kinetic newtonian --fix --step-size 1.5
    --leapfrog 1 --jitter 0 --seed 1 --no-output --refresh 0 --memory 0'

# shellcheck disable=SC2086
run 0 sample $how --samples $few
says err 'running estimates, the draws were not kept'
says err '0 of 4 checks failed.'
[ "$(wc -l <out)" -eq 4 ] || fail 'a head, lp__, a blank line, x[1]'
grep -q '^lp__ ' out || fail 'lp__'
grep -q '^x\[1\] ' out || fail 'x[1]'
ok 'running estimates and the checks that need no draws'

if ! has_python || [ ! -r /proc/self/status ]; then
    exit 0
fi

# shellcheck disable=SC2086
run 0 sample $how --samples $few --json -q
python3 - out <<'END' || fail '--json'
import json, sys
root = json.load(open(sys.argv[1]))
assert root["running_estimates"] is True and root["ending"] == "full"
x, lp = root["parameters"][0], root["sampler"][0]
assert lp["name"] == "lp__" and abs(lp["mean"] + 0.5) < 0.02
assert abs(x["mean"]) < 5 * x["mcse_mean"] and abs(x["sd"] - 1) < 0.02
assert abs(x["q5"] + 1.645) < 0.1 and abs(x["q95"] - 1.645) < 0.1
assert x["ess_tail"] is None and x["mad"] is None and x["rhat"] < 1.01
assert {c["check"] for c in root["checks"]} == \
    {"divergences", "E-BFMI", "R-hat", "ESS"}
END
ok 'JSON'

size() {
    # shellcheck disable=SC2086
    largest_size sample $how --samples "$1" -q
}

[ "$many" -gt 0 ] || exit 0
small=$(size $few) || fail "$few draws"
large=$(size "$many") || fail "$many draws"
# One byte per draw would be 10 MB.
[ $((large - small)) -lt 3000 ] ||
    fail "$small kB for $few draws, $large kB for $many"
ok "$small kB for $few draws, $large kB for $many"
