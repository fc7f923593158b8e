#!/bin/sh
# optimize.sh - relmc optimize and relmc predict: equal seeds give equal curves and points;
# runs end early or at a signal; invalid options are refused; scores equal those computed
# here.
set -eu
. "$(dirname "$0")/support.sh"

# ---- a model without data ------------------------------------------------------

run 0 optimize gaussian:dim=3 --seed 1 -o g
says err 'gaussian: 3 parameters, sgd, 10000 steps, 1 chain, seed 1'
says err 'wrote g_curve.csv, g_theta.npy'
says out 'norm of its gradient'
[ "$(head -1 g_curve.csv)" = \
    'epoch,steps,train_loss,train_error,test_loss,test_error,stride,divergent,seconds,chain' ] ||
    fail 'the header of the curve'
[ "$(wc -l <g_curve.csv)" -eq 21 ] || fail 'rows of the curve'
[ "$(wc -c <g_theta.npy)" -eq $((128 + 24)) ] || fail 'the size of theta'
run 0 optimize gaussian:dim=3 --seed 1 -q --json --no-output
awk -F '[:,]' '/"gradient_norm"/ { exit !($2 < 1e-6) }' out ||
    fail 'the gradient at the mode'
ok 'the mode of a gaussian'

run 0 optimize gaussian:dim=3 --seed 1 -o h
cmp g_theta.npy h_theta.npy || fail 'the seed'
run 0 optimize gaussian:dim=3 --seed 2 --steps 100 -o h
cmp -s g_theta.npy h_theta.npy && fail 'another seed'
run 0 optimize gaussian:dim=3 --seed 1 --init g_theta.npy --steps 1 -q -o h
ok 'the same path for a seed'

for optimizer in momentum nesterov adam adamw:decay=0 rmsprop adagrad:lr=1 \
    santa:beta=1e3 santa_sgd sgd:lr=0.1; do
    run 0 optimize gaussian:dim=2 --optimizer "$optimizer" --seed 3 --json \
        --no-output
    awk -F '[:,]' '/"gradient_norm"/ { exit !($2 < 0.1) }' out ||
        fail "$optimizer does not arrive"
done
ok 'every optimiser arrives'

# ---- invalid options ---------------------------------------------------------------

run 2 optimize
says err 'MODEL is missing: relmc optimize MODEL'
run 3 optimize banan
says err 'did you mean "banana"?'
run 2 optimize banana --optimizer nuts
says err 'nuts is no optimiser: '
run 2 optimize banana --optimizer foo
says err '"foo" is not one of sgd, '
grep -q 'nuts\|hmc\|sgld' err && fail 'samplers are no optimisers'
run 2 optimize banana --optimizer nutz
grep -q nuts err && fail 'nuts is none'
run 2 optimize banana --optimizer adam:rate=1
says err "adam has no parameter 'rate'"
run 2 optimize banana --optimizer adam --kinetic newtonian
says err '--kinetic does nothing here: adam has no momenta'
run 2 optimize banana --checkpoint-every 5s
says err '--checkpoint-every does nothing without --checkpoint FILE'
run 2 optimize logistic:intercept=1 --data none.csv --intercept
says err '--intercept and intercept= in logistic:intercept=1: give one of them'
run 2 optimize banana --epochs 3 --steps 3
says err '--epochs and --steps exclude each other'
run 2 optimize banana --patience 3
says err '--patience needs data to test on'
run 2 optimize banana --response y
says err '--response is about data: give --data FILE, too'
run 2 optimize banana --batch-size 10
says err 'no data to take minibatches from'
run 4 optimize banana -o no/such/folder/x
says err 'cannot write no/such/folder/x_curve.csv'
run 2 predict banana
says err 'predict needs --at FILE'
run 2 predict banana --at g_theta.npy
says err 'predict needs --data FILE'
run 0 optimize banana --steps 10 -q --no-output
is_empty out
is_empty err
[ -z "$(ls ./*.tmp 2>/dev/null)" ] || fail 'a file was left behind'
ok 'what makes no sense is refused'

# ---- a model with data ---------------------------------------------------------------

awk 'BEGIN {
    srand(1)
    print "a,b,y"
    for (i = 0; i < 300; i++) {
        a = 6 * rand() - 3
        b = 6 * rand() - 3
        print a "," b "," ((a - b + 3 * rand() - 1.5 > 0) ? 1 : 0)
    }
}' >d.csv
model=mlp:hidden=5
code=0
"$relmc" optimize $model --data d.csv --steps 1 -q --no-output 2>err >out ||
    code=$?
if [ "$code" -ne 0 ]; then
    grep -q 'CBLAS' err || fail 'no network'
    echo 'skip  no mlp in this build'
    exit 0
fi

data="--data d.csv --response y --test 0.3 --standardize"
fit="$data --batch-size 20 --optimizer adam:lr=0.02 --chains 3"
# shellcheck disable=SC2086
run 0 optimize $model $fit --epochs 8 --seed 5 -o m
says err '210 rows'
says out 'test error'
[ "$(wc -l <m_curve.csv)" -eq 25 ] || fail 'three chains, eight epochs'
awk -F , 'NR > 1 && ($1 != $2 / 10 || $4 < 0 || $4 > 1 || $6 > 1) { exit 1 }' \
    m_curve.csv || fail 'the curve'
# shellcheck disable=SC2086
run 0 optimize $model $fit --epochs 8 --seed 5 --cores 2 -q -o m2
cmp m_theta.npy m2_theta.npy || fail 'the same seed, other threads'
# shellcheck disable=SC2086
run 0 optimize $model $fit --epochs 300 --patience 2 --seed 5 -o early
says err 'stopped: the test loss has not fallen for 2 reports'
[ "$(wc -l <early_curve.csv)" -lt 600 ] || fail 'it did not stop'
# shellcheck disable=SC2086
run 2 optimize $model $data --batch-size 1000
says err '--batch-size: there are 210 rows of data, not 1000'
# shellcheck disable=SC2086
run 2 optimize $model $data --test -3 --no-output
says err '-3 test rows of 300: a whole number from 1 to 299, or a share of them between 0 and 1'
# shellcheck disable=SC2086
run 2 optimize $model $data --batch-shared
says err '--batch-shared is for minibatches'
ok 'curves, seeds, early stops'

# shellcheck disable=SC2086
run 0 predict $model $data --at m_theta.npy --json -o p.csv
mv out average.json
[ "$(wc -l <p.csv)" -eq 91 ] || fail 'a row for every test row'
awk -F , -v json=average.json '
NR > 1 {
    n++
    sure = $2 > $3 ? $2 : $3
    class = $2 >= $3 ? 0 : 1
    right = class == $1
    wrong += !right
    nll -= log($1 == 0 ? $2 : $3)
    bin = int(sure * 15)
    if (bin == sure * 15) bin--
    hits[bin] += right
    sum[bin] += sure
}
END {
    for (b in sum) {
        gap = hits[b] - sum[b]
        ece += gap < 0 ? -gap : gap
    }
    while ((getline line <json) > 0) {
        split(line, part, /[:,]/)
        if (line ~ /"average"/) is_here = 1
        if (line ~ /"mean_of/) is_here = 0
        if (is_here && line ~ /"error"/) e = part[2] - wrong / n
        if (is_here && line ~ /"nll"/) l = part[2] - nll / n
        if (is_here && line ~ /"ece"/) c = part[2] - ece / n
    }
    if (e * e > 1e-20 || l * l > 1e-20 || c * c > 1e-20) {
        print "error off by " e ", NLL by " l ", ECE by " c
        exit 1
    }
}' p.csv || fail 'the scores'
run 3 predict mlp:hidden=6 --data d.csv --at m_theta.npy
says err 'm_theta.npy: points of 21 numbers'
head -c 150 m_theta.npy >torn.npy
# shellcheck disable=SC2086
run 3 predict $model $data --at torn.npy
says err 'torn.npy: not a whole npy file'
# shellcheck disable=SC2086
run 0 sample $model $data --sampler sghmc --batch-size 30 --step-size 0.02 \
    --chains 2 --samples 50 --warmup 50 --seed 1 -q -o s
# shellcheck disable=SC2086
run 0 predict $model $data --at s_1.csv --at s_2.csv --thin 5
says out '90 rows, 20 points'
says out 'the average'
is_empty err
run 0 sample gaussian:dim=21 --samples 50 --seed 1 -q -o other
# shellcheck disable=SC2086
run 3 predict $model $data --at s_1.csv --at other_1.csv
says err 'other_1.csv holds draws of gaussian:dim=21,rho=0,ratio=1, not of mlp'
is_empty out
sed 's/relmc_model = mlp:hidden=5/relmc_model = mlp:hidden=6/' s_1.csv >six.csv
# shellcheck disable=SC2086
run 0 predict $model $data --at s_2.csv --at six.csv --at six.csv
says err 'warning: six.csv holds draws of mlp:hidden=6'
[ "$(wc -l <err)" -eq 1 ] || fail 'one warning'
ok 'scores of points, and of averages over draws'

# ---- numbers -----------------------------------------------------------------------------

awk 'BEGIN {
    srand(2)
    print "a,y"
    for (i = 0; i < 200; i++) {
        a = 2 * rand() - 1
        print a "," (2 * a + 0.1 * rand())
    }
}' >n.csv
run 0 optimize $model --data n.csv --task number --test 0.25 --seed 1 \
    --optimizer adam:lr=0.01 --epochs 300 -q -o n
run 0 predict $model --data n.csv --task number --test 0.25 --at n_theta.npy \
    --json -o p.csv
awk -F '[,:]' -v is_json=1 '
FILENAME == "p.csv" && FNR > 1 {
    n++
    sum += ($1 - $2) * ($1 - $2)
    z = ($1 - $2) / $3
    nll += z * z / 2 + log($3) + log(2 * 3.14159265358979324) / 2
}
FILENAME == "out" && /"rmse"/ { rmse = $2 }
FILENAME == "out" && /"nll"/ { said = $2 }
END {
    e = rmse - sqrt(sum / n)
    l = said - nll / n
    exit !(n == 50 && rmse < 0.3 && e * e < 1e-20 && l * l < 1e-20)
}' p.csv out || fail 'the scores of numbers'
ok 'numbers'

# ---- stopped by a signal --------------------------------------------------------------------------

if ! has_python; then # a shell's background jobs ignore SIGINT
    echo 'skip  python3 was not found: no signals'
    exit 0
fi
# Random seeds of runs that start within a second differ in their upper halves, too.
for i in 1 2 3 4 5 6 7 8; do
    run 0 optimize banana --steps 1 --no-output
    seed=$(sed -n 's/.*, seed \([0-9]*\)$/\1/p' err)
    echo $((seed / 65536))
done >halves
[ "$(sort -u halves | wc -l)" -ge 7 ] || fail 'seeds are alike'
ok 'seeds without --seed are random'

cat >stop.py <<'END'
import signal, subprocess, sys, time
run = subprocess.Popen(
    [sys.argv[1], "optimize", "gaussian:dim=50", "--seed", "1", "--steps",
     "1e10", "--every", "100000", "-o", "stop"],
    stdout=open("out", "w"), stderr=open("err", "w"),
    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
deadline = time.time() + 60
while time.time() < deadline and len(open("out").readlines()) < 3:
    time.sleep(0.05)
run.send_signal(signal.SIGINT)
try:
    code = run.wait(60)
except subprocess.TimeoutExpired:
    run.kill()
    sys.exit("it does not stop")
sys.exit(0 if code == 128 + signal.SIGINT else "exit code %d" % code)
END
python3 stop.py "$relmc" || fail 'SIGINT'
says err 'interrupted after'
says err 'wrote stop_curve.csv, stop_theta.npy'
[ "$(wc -l <stop_curve.csv)" -ge 3 ] || fail 'the curve so far'
[ "$(wc -c <stop_theta.npy)" -eq $((128 + 400)) ] || fail 'the point so far'
ok 'interrupted: what there was is written'
