#!/bin/sh
# reproduce.sh - the figures of the paper: cells are kept, results do not depend on cores
# or interruptions, and claims can fail.
set -eu
. "$(dirname "$0")/support.sh"

# ---- the list ----------------------------------------------------------------

run 0 reproduce --list
says out 'fig1-gmm1'
says out 'fig2'
run 2 reproduce
says err 'which figure?'
run 2 reproduce fig1-gmm
says err 'no figure "fig1-gmm" (did you mean "fig1-gmm1"?)'
run 2 reproduce fig9
ok 'figures are listed, and wrong names are named'

# ---- small experiments: those of the paper with less work ---------------------

mkdir -p data/experiments
cp "$here"/../../paper/experiments/* data/experiments/
for name in fig1-gmm1 fig2; do
    sed -e 's/"quick": [0-9]*000/"quick": 200/' -e 's/"quick": 20\b/"quick": 4/' \
        -e 's/"quick": 1[03]/"quick": 7/' \
        "$here/../../paper/experiments/$name.json" >data/experiments/$name.json
done
small() {
    with "RELMC_DATADIR=$folder/data" "$@"
}

small 0 reproduce fig1-gmm1 fig2 --no-plots -q --cores 1 -o one
small 0 reproduce fig1-gmm1 fig2 --no-plots -q --cores 2 -o two
cmp one/fig2.csv two/fig2.csv || fail 'cores change results'
cmp one/claims.json two/claims.json || fail 'cores change claims'
[ ! -e one/fig2.csv.part ] || fail 'a part is left'
grep -q '"verdict": "reproduced"' one/claims.json || fail 'no verdict'
grep -q '"standard_error": [0-9]' one/claims.json || fail 'no errors'
small 0 reproduce fig2 --seed 2 --no-plots -q -o seed
! cmp -s one/fig2.csv seed/fig2.csv || fail 'the seed changes nothing'
ok 'same results for any number of cores'

# ---- existing cells are kept ---------------------------------------------------

mkdir -p part
head -n 9 one/fig2.csv >part/fig2.csv.part
printf 'c=1,RHMC,0.2,na' >>part/fig2.csv.part
small 0 reproduce fig2 --no-plots -o part
says err "7 of "
cmp one/fig2.csv part/fig2.csv || fail 'what was kept changes results'
# cells of another experiment, scale or seed are measured again
mkdir -p other
sed 's/seed 1,/seed 3,/' one/fig2.csv >other/fig2.csv
small 0 reproduce fig2 --no-plots -o other
cmp one/fig2.csv other/fig2.csv || fail 'rows of another seed were kept'
ok 'finished cells are kept, those of others are not'

# ---- a signal -------------------------------------------------------------------

sed -i 's/"quick": 200/"quick": 40000/' data/experiments/fig1-gmm1.json
RELMC_DATADIR=$folder/data "$relmc" reproduce fig1-gmm1 --no-plots -o stopped \
    >out 2>err &
pid=$!
while [ "$(cat stopped/fig1-gmm1.csv.part 2>/dev/null | wc -l)" -lt 5 ]; do
    sleep 0.05
done
kill -TERM $pid
code=0
wait $pid || code=$?
[ "$code" -eq 143 ] || fail "exit code $code after SIGTERM"
[ ! -e stopped/fig1-gmm1.csv ] || fail 'a table that is not complete'
sed -i 's/"quick": 40000/"quick": 200/' data/experiments/fig1-gmm1.json
ok 'a signal ends it, and keeps the part'

# ---- claims on made-up tables ---------------------------------------------------

# remake FIGURE PROGRAM: changes the ESS (column 15) of its table and judges again.
remake() {
    rm -rf made
    mkdir made
    awk -F, -v OFS=, "NR < 3 || NF < 5 {print; next} {\$16 = 0; $2; print}" \
        "one/$1.csv" >"made/$1.csv"
    small 0 reproduce "$1" --no-plots -q -o made
}
# verdict ID VERDICT
verdict() {
    grep -qE "^[^ ]+ +$2 .* $1: " out || fail "$1 is not $2"
}

# the ESS depends on eps ($3) and kappa ($4), or on their product only
remake fig1-gmm1 '$15 = 1e4 * exp(-(log($3)^2 + log($4)^2) / 8)'
verdict independent-tuning reproduced
verdict additive-surface reproduced
remake fig1-gmm1 '$15 = 1e4 * exp(-20 * log($3 / $4)^2 - log($3)^2 / 50)'
verdict independent-tuning '(not reproduced|partly)'
verdict additive-surface 'not reproduced'
# the ESS depends on the speed ($11), or on the mass ($3)
remake fig2 '$15 = 1e4 * exp(-20 * ($11 - 0.5)^2)'
verdict speed-explains-ess reproduced
verdict inner-optimum-c1 reproduced
remake fig2 '$15 = 1e4 / (1 + $3); $12 = 0
    $11 = $1 == "mass-eps" ? $4 / 10 : 1 - 0.001 / $3'
verdict speed-explains-ess 'not reproduced'
verdict inner-optimum-c1 'not reproduced'
verdict speed-falls 'not reproduced'
verdict closed-form 'not reproduced'
ok 'every claim can hold and can fail'

# ---- --check ----------------------------------------------------------------------

cp one/claims.json data/experiments/claims-quick.json
small 0 reproduce fig1-gmm1 fig2 --no-plots -q --check -o one
cp made/fig2.csv one/fig2.csv
small 1 reproduce fig2 --no-plots -q --check -o one
says err 'no longer hold'
says out '<- was reproduced'
ok '--check notices what holds no longer'

# ---- pictures ----------------------------------------------------------------------

if command -v gnuplot >/dev/null 2>&1; then
    small 0 reproduce fig2 -q -o two
    grep -q '</svg>' two/fig2.svg || fail 'no picture'
    [ -s two/fig2.pdf ] || fail 'no PDF file'
    ok 'gnuplot draws'
fi

# ---- the program relmc-reproduce ----------------------------------------------------

run 0 help reproduce
says out '--no-plots'
run 0 reproduce --help
says out '--no-plots'
mkdir -p exec
cat >exec/relmc-reproduce <<'END'
#!/bin/sh
echo "$# $1 $2"
[ "$3" = signal ] && kill -KILL $$
exit 7
END
chmod +x exec/relmc-reproduce
with "RELMC_EXEC_PATH=$folder/exec" 7 reproduce 'a b' --help c
says out '3 a b --help'
with "RELMC_EXEC_PATH=$folder/exec" 137 reproduce a b signal
mkdir -p alone
cp "$relmc" alone/relmc
code=0
alone/relmc reproduce fig2 >out 2>err || code=$?
[ "$code" -eq 4 ] || fail "exit code $code without the program"
says err 'the program relmc-reproduce is not installed'
[ "$(wc -l <err)" -eq 1 ] || fail 'more than a line'
ok 'another program gets the arguments, and gives its exit code and signal'
