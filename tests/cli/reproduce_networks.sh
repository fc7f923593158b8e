#!/bin/sh
# reproduce_networks.sh - figures that train networks have the rows of relmc optimize, for
# any number of threads; without their data they are left out.
set -eu
. "$(dirname "$0")/support.sh"

run 0 reproduce --list
says out 'fig5'
says out 'fig6-search'
XDG_DATA_HOME=$folder/none
XDG_CACHE_HOME=$folder/none
export XDG_DATA_HOME XDG_CACHE_HOME
if ! "$relmc" models mlp >/dev/null 2>&1; then
    run 3 reproduce fig5 --no-plots -o r
    says err 'fig5 is left out: this relmc was built without BLAS'
    ok 'without networks (the rest is skipped)'
    exit 0
fi

# ---- missing data --------------------------------------------------------------

run 3 reproduce fig6 --no-plots -o r
says err 'fig6-100 is left out: the data set mnist is not here (relmc data mnist'
says err '3 figures were left out'
grep -q fig6-search err && fail 'fig6 is without the search'
run 3 reproduce fig6-search --no-plots -o r
says err 'fig6-search is left out'
ls r/*.csv 2>/dev/null && fail 'files of figures that were left out'
ok 'figures without data are left out'

# ---- small data, made here -----------------------------------------------------

mkdir -p share/experiments data/pima
awk 'BEGIN {
    srand(4)
    print "a,b,c,class"
    for (i = 0; i < 330; i++) {
        a = rand(); b = rand(); c = rand()
        print 9 * a "," b "," 0.1 * c "," (a + b * b + 0.3 * rand() > 1 ? 1 : 0)
    }
}' >data/pima/pima.csv
echo '{}' >share/experiments/fig1-gmm1.json
# two methods of one seed and one of three, after 30 epochs of 5 steps
small() {
    cat <<END
{
  "title": "a small one",
  "seconds": {"quick": 1, "paper": 1},
  "measure": ["weights"],
  "chains": 1, "epochs": 30, "every": 5,
  "data": "pima", "test": 80, "scale": "max",
  "batch": 50, "steps": $1,
  "panels": [{"name": "max-flat", "model": "mlp:hidden=4,output=softmax,sd=inf"}],
  "methods": [
    {"name": "RSGD", "sampler": "momentum:lr=0.1,momentum=0.8,steps={steps}"},
    {"name": "RHMC", "sampler": "hmc:steps={steps}", "kinetic": "separable:m=1,c=1",
     "step_size": 0.05, "steps": 10, "batch": 0},
    {"name": "SGLD-Adam", "sampler": "adam:lr={lr},steps={steps}", "chains": 3,
     "axes": {"lr": {"values": [0.01, 0.1]}}}
  ]
}
END
}
small 1 >share/experiments/fig5.json
small 1 | sed 's/"pima"/"mnist"/' >share/experiments/fig6-100.json
places="RELMC_DATADIR=$folder/share RELMC_DATA=$folder/data"

with "$places" 3 reproduce fig6-100 fig5 --no-plots -o one --cores 1
says err 'fig6-100 is left out'
says err '1 figure was left out; the others are done'
[ -e one/fig5.csv ] || fail 'the other figure'
says out 'weights-explode'
with "$places" 0 reproduce fig5 --no-plots -o two --cores 3
cmp one/fig5.csv two/fig5.csv || fail 'threads change the rows'
with "$places" 0 reproduce fig5 --no-plots -o three --seed 2
cut -d , -f 7 one/fig5.csv >a
cut -d , -f 7 three/fig5.csv >b
cmp -s a b && fail 'another seed'
ok 'the same rows for a seed'

# value METHOD EPOCH COLUMN: of the table
value() {
    awk -F , -v method="$1" -v epoch="$2" -v name="$3" '
        /^#/ { next }
        /^panel/ { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $2 == method && $at["epoch"] == epoch { print $at[name]; exit }
    ' one/fig5.csv
}
with "$places" 0 optimize mlp:hidden=4,output=softmax,sd=inf --data pima \
    --test 80 --split-seed 1000 --scale max --batch-size 50 --seed 1 \
    --optimizer momentum:lr=0.1,momentum=0.8,steps=1 --epochs 30 --every 5 -o o
for epoch in 5 30; do
    theirs=$(awk -F , -v e="$epoch" '$1 == e { print $5, $6 }' o_curve.csv)
    ours="$(value RSGD "$epoch" nll) $(value RSGD "$epoch" test_error)"
    [ -n "$theirs" ] && [ "$ours" = "$theirs" ] ||
        fail "after $epoch epochs: $ours, but relmc optimize says $theirs"
done
ok 'the curve of relmc optimize'

# each of the three seeds has its own start and split
with "$places" 0 optimize mlp:hidden=4,output=softmax,sd=inf --data pima \
    --test 80 --split-seed 1000 --scale max --batch-size 50 --seed 1 \
    --optimizer adam:lr=0.01,steps=1 --epochs 30 --chains 3 -o o
awk -F , -v ours="$(value SGLD-Adam 30 nll)" '
    $1 == 30 { theirs += $5 / 3; n++ }
    END { d = ours / theirs - 1; exit !(n == 3 && (d > 1e-6 || d < -1e-6)) }
' o_curve.csv || fail 'seeds share a split'
awk -v rms="$(value SGLD-Adam 0.2 rms)" -v se="$(value SGLD-Adam 0.2 rms_se)" \
    'BEGIN { exit !(se > 0.01 * rms && se < rms) }' || fail 'seeds share a start'
ok 'seeds have starts and splits of their own'

# 330 - 80 rows are 5 steps of 50; RHMC uses all rows 10 times
awk -F , '
    /^#/ { next }
    /^panel/ { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $at["epoch"] != "nan" { seen = seen " " $2 ":" $at["epoch"] }
    $at["share"] != "nan" { sum[$2 $3] += $at["share"] }
    END {
        if (seen !~ /^ RSGD:0.2 RSGD:5 RSGD:10 .* RSGD:30 RHMC:10 RHMC:20 RHMC:30 SGLD/) {
            print "rows: " seen; exit 1
        }
        for (i in sum) {
            n++
            if (sum[i] < 0.999999 || sum[i] > 1.000001) { print "shares"; exit 1 }
        }
        exit n != 4
    }' one/fig5.csv || fail 'rows and histograms'
ok 'rows after epochs, and the weights after the first iteration'

small 3 >share/experiments/fig5.json
with "$places" 4 reproduce fig5 --no-plots -o four
says err 'do not make whole epochs'
ok 'steps that do not fit an epoch are refused'
