#!/bin/sh
# stan.sh - libraries with the BridgeStan ABI as models of the tool.
# Arguments: the tool, the folder of the mocks (tests/stan/mock.c).
set -eu
. "$(dirname "$0")/support.sh"
mock=$2
[ -f "$mock/plain.so" ] || {
    echo 'no mocks: build the target relmc_mocks'
    exit 77
}
echo '{"m": 1}' >data.json
short='--warmup 50 --samples 40 --seed 3'

# ---- sample -------------------------------------------------------------------
# shellcheck disable=SC2086
run 0 sample "$mock/plain.so" --data data.json $short --cores 1 -o one
says err 'mock: 6 parameters, self-tuning'
grep -q '^# model = mock_model$' one_1.csv || fail 'model'
grep -q '^#   file = data.json$' one_1.csv || fail 'data file'
grep -q "^# relmc_library = $mock/plain.so\$" one_1.csv || fail 'library'
grep -q '^# relmc_coordinates = 6$' one_1.csv || fail 'coordinates'
grep -q '^lp__,.*,speed__,mu,sigma,b\.1\.1,b\.2\.1,b\.1\.2,b\.2\.2,tau,u,k$' \
    one_1.csv || fail 'header'
[ "$(rows one_4.csv)" -eq 40 ] || fail 'rows'
[ "$(grep -v '^#' one_1.csv | awk -F, 'NR > 1 && NF != 17' | wc -l)" -eq 0 ] ||
    fail 'columns'
[ "$(awk '{ print $1 }' out | tr '\n' ' ')" = \
    'Mean lp__  mu sigma b[1,1] b[2,1] b[1,2] b[2,2] tau u k ' ] ||
    fail 'the rows of the table'
[ "$(sed -n '/^# Elements of inverse/,/^[^#]/p' one_1.csv | grep -c '^# [-0-9]')" \
    -eq 6 ] || fail 'the metric is that of the coordinates'
ok 'outputs have the names of Stan'

# the optimiser finds the mode of log(sigma), which is 0
run 0 optimize "$mock/plain.so" --data data.json --steps 3000 --seed 1 -o mode
awk '/^lp / { ok = $2 + 0 > -1e-6 } END { exit !ok }' out ||
    fail 'this is not the mode'
ok 'the mode is that of the coordinates'

for how in plain:4 plain:2 threads:1 threads:4; do
    # shellcheck disable=SC2086
    run 0 sample "$mock/${how%:*}.so" --data data.json $short \
        --cores "${how#*:}" -o two -q
    is_empty err
    for k in 1 2 3 4; do
        grep -v relmc_library "one_$k.csv" >first.csv
        grep -v relmc_library "two_$k.csv" >second.csv
        same_draws first.csv second.csv
    done
done
ok 'the same draws for any number of threads and processes'

run 0 sample --config one_config.json -o again -q
same_draws one_2.csv again_2.csv
ok 'a run can be repeated from its configuration'

# shellcheck disable=SC2086
run 0 sample "$mock/plain.so" --data data.json $short
[ -f mock_1.csv ] && [ -f mock_config.json ] || fail 'names of files'
run 0 summary one_1.csv one_2.csv one_3.csv one_4.csv
says out 'b[2,1]'
code=0
# shellcheck disable=SC2086
run 0 sample "$mock/plain.so" --data data.json $short --sampler nuts -o trees
"$relmc" diagnose trees_*.csv >out 2>err || code=$?
[ "$code" -le 1 ] || fail 'diagnose'
grep -q 'E-BFMI.*expected [0-9]' out || fail 'diagnose knows no coordinates'
ok 'other commands read the files'

# ---- starting points ------------------------------------------------------------
cat >init.json <<'END'
{"mu": 5, "sigma": 2, "b": [[11, 12], [21, 22]]}
END
run 0 sample "$mock/plain.so" --data data.json --init init.json --seed 1 -q \
    --warmup 0 --samples 1 --fix --step-size 1e-9 --sampler hmc:steps=1 \
    --kinetic newtonian -o init
grep -v '^#' init_3.csv | tail -n 1 |
    awk -F, '{ for (i = 9; i <= 15; i++) printf "%.4g ", $i }' >row.txt
[ "$(cat row.txt)" = '5 2 11 21 12 22 4 ' ] ||
    fail "the start is $(cat row.txt)"
echo "[$(cat init.json), $(cat init.json)]" >list.json
run 0 sample "$mock/plain.so" --data data.json --init list.json -c 2 -q \
    --seed 1 --warmup 5 --samples 2 --no-output
run 3 sample "$mock/plain.so" --data data.json --init list.json -q
says err '2 starting points for 4 chains'
echo '{"mu": 5}' >bad.json
run 3 sample "$mock/plain.so" --data data.json --init bad.json
says err 'relmc sample: bad.json: mock: these are no values of its parameters: '
echo '[[1, 2]]' >bad.json
run 3 sample "$mock/plain.so" --data data.json --init bad.json
says err 'expected an object of parameters'
ok 'starting points have the values of parameters'

# ---- refusals: one line, exit code 3 ----------------------------------------------
refused() {
    says err "$1"
    [ "$(wc -l <"$folder/err")" -le "${2:-1}" ] || fail 'more than one line'
    [ ! -f mock_0.csv ] || fail 'a file was left behind'
}
run 3 sample "$mock/version.so" --data data.json
refused 'version.so: speaks version 3.7.0 of the BridgeStan ABI; version 2 is needed'
run 3 sample "$mock/first.so" --data data.json
refused 'first.so: no symbol bs_major_version, so it speaks version 1'
run 3 sample "$mock/missing.so" --data data.json
refused 'missing.so: no symbol bs_param_constrain'
run 3 sample "$mock/empty.so" --data data.json
refused 'the model has no parameters'
run 3 sample nothing.so --data data.json
refused 'relmc sample: cannot load the library ./nothing.so'
echo text >text.so
run 3 sample text.so
refused 'relmc sample: cannot load the library ./text.so'
ok 'libraries that do not fit'

run 3 sample "$mock/plain.so"
refused 'it needs data: variable does not exist; variable name=m' 2
says err '  --data FILE gives it a JSON file'
run 3 sample "$mock/plain.so" --data nothing.json
refused 'relmc sample: cannot read the data nothing.json: No such file or directory'
run 3 sample "$mock/plain.so" --data .
refused 'cannot read the data .'
echo '{"m": 1' >bad.json
run 3 sample "$mock/plain.so" --data bad.json
refused 'it refuses the data of bad.json: Error in JSON parsing at offset 3: Missing a comma'
echo '{"m": "one"}' >bad.json
run 3 sample "$mock/plain.so" --data bad.json
refused 'mismatch in number of dimensions'
run 2 sample banana --data data.json
refused 'relmc sample: --data is for Stan programs and models on data; banana is neither'
run 2 sample "$mock/plain.so" --data data.json --response y
refused '--response is not for Stan models'
run 2 models "$mock/plain.so"
says err 'is a Stan model'
ok 'data that do not fit'

# ---- crashes and failures -----------------------------------------------------------
echo '{"m": 1, "reject": 2}' >reject.json
for cores in 1 4; do
    # shellcheck disable=SC2086
    run 0 sample "$mock/plain.so" --data reject.json $short --cores $cores \
        --no-output
    [ "$(grep -c 'normal_lpdf' err)" -eq 1 ] || fail 'said once'
    grep 'the model rejected' err >said.$cores
done
cmp said.1 said.4 || fail 'counts differ'
grep -q 'warning: the model rejected [1-9][0-9]* points, .* it said: Exception: normal_lpdf: Location parameter is inf, but must be finite!' \
    said.1 || fail 'what was rejected'
echo '{"m": 1, "reject": -9}' >reject.json
# shellcheck disable=SC2086
run 5 sample "$mock/plain.so" --data reject.json $short --no-output
says err 'no finite log density'
says err '  the model said: Exception: normal_lpdf'
ok 'rejected points are counted, and explained once'

echo '{"m": 1, "fail": 1}' >fail.json
# shellcheck disable=SC2086
run 0 sample "$mock/plain.so" --data fail.json $short -o gq
grep -q 'warning: in [1-9][0-9]* draws transformed .* the first time: Exception: u is out of range' \
    err || fail 'failed outputs'
grep -v '^#' gq_1.csv | grep -q ',NaN,NaN$' || fail 'no NaN'
ok 'generated quantities that fail are NaN'

echo '{"m": 1, "crash": 200}' >crash.json
# shellcheck disable=SC2086
run 5 sample "$mock/plain.so" --data crash.json $short --cores 4 --no-output -q
grep -q '^relmc sample: stan: the model crashed in the log density of chain [1-4]: signal 11 (segmentation fault)$' \
    err || fail 'a crash'
[ "$(wc -l <err)" -eq 1 ] || fail 'more than one line'
ok 'a crash in a worker is an error'

echo '{"m": 1, "print": 1}' >print.json
# shellcheck disable=SC2086
run 0 sample "$mock/plain.so" --data print.json $short --no-output --json -q
says err 'hello from the model'
if grep -q hello out; then fail 'prints on stdout'; fi
ok 'print statements go to stderr'

# A signal to the whole process group ends the run normally.
echo '{"m": 1, "slow": 2000}' >slow.json
"$relmc" sample "$mock/plain.so" --data slow.json --seed 1 -q -o slow \
    --cores 4 --sampler hmc:steps=2 --adapt dual --samples 100000 >out 2>err &
tool=$!
workers=
# Bit 14 of the caught signals is SIGTERM; before it is set, SIGTERM ends the process.
catches_term() {
    [ ! -r "/proc/$1/status" ] ||
        grep -q '^SigCgt:.*[4567cdef][0-9a-f][0-9a-f][0-9a-f]$' "/proc/$1/status"
}
while [ "$(echo "$workers" | wc -w)" -lt 4 ] || ! catches_term $tool; do
    kill -0 $tool 2>/dev/null || fail 'no workers'
    sleep 0.1
    workers=$(ps -o pid= --ppid $tool 2>/dev/null || true)
done
# shellcheck disable=SC2086
kill -TERM $tool $workers
code=0
wait $tool || code=$?
[ "$code" -eq 143 ] || fail "exit code $code after SIGTERM"
for worker in $workers; do
    if kill -0 "$worker" 2>/dev/null; then fail 'a worker is left'; fi
done
is_empty err
ok 'a signal ends it in order'

# ---- logp and gradcheck ---------------------------------------------------------------
run 0 logp "$mock/plain.so" --data data.json
says out 'lp  -0.5'
says out 'b[2,1]'
run 0 logp "$mock/plain.so" --data data.json --values init.json --json
if has_python; then
    python3 - out <<'END' || fail 'JSON of logp'
import json, math, sys
r = json.load(open(sys.argv[1]))
p = r["points"][0]
assert r["coordinates"] == ["mu", "sigma", "b.1.1", "b.2.1", "b.1.2", "b.2.2"]
assert p["x"] == [5, math.log(2), 11, 21, 12, 22]
assert p["gradient"] == [-4] + [-v for v in p["x"][1:]]
assert abs(p["lp"] + 0.5 * sum(g * g for g in p["gradient"])) < 1e-9
assert p["outputs"][:7] == [5, 2, 11, 21, 12, 22, 4]
assert len(r["outputs"]) == 9 and "rejected" not in p
END
fi
echo '{"x": [1, 0, 0, 0, 0, 0]}' >at.json
run 0 logp "$mock/threads.so" --data data.json --at at.json
says out 'lp  0'
echo '{"m": 1, "reject": 0}' >reject.json
run 0 logp "$mock/plain.so" --data reject.json --at at.json
says out 'lp  -inf'
says err 'no density at this point: Exception: normal_lpdf'
run 2 logp "$mock/plain.so" --data data.json --at at.json --values init.json
says err '--at and --values exclude each other'
run 2 logp
run 0 logp banana --json
run 3 logp banana --values init.json
run 0 gradcheck "$mock/plain.so" --data data.json --points 3
says out '0 of 3 points failed'
run 3 gradcheck "$mock/plain.so"
ok 'logp and gradcheck'
