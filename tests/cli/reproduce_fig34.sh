#!/bin/sh
# reproduce_fig34.sh - figures 3 and 4: every claim can hold and fail, and chains that
# diverge are a result.
set -eu
. "$(dirname "$0")/support.sh"

# ---- the experiments, scaled down -----------------------------------------------

mkdir -p data/experiments
cp "$here"/../../paper/experiments/* data/experiments/
sed -e 's/"draws": {[^}]*}/"draws": 40/' -e 's/"chains": 20/"chains": 2/' \
    -e 's/"stein_points": {[^}]*}/"stein_points": 10/' \
    "$here/../../paper/experiments/fig3.json" >data/experiments/fig3.json
sed -e 's/"draws": {[^}]*}/"draws": 60/' -e 's/"chains": 20/"chains": 2/' \
    -e 's/"graph_points": {[^}]*}/"graph_points": 10/' -e 's/steps=50/steps=20/' \
    "$here/../../paper/experiments/fig4.json" >data/experiments/fig4.json
small() {
    with "RELMC_DATADIR=$folder/data" "$@"
}
small 0 reproduce fig3 fig4 --no-plots -q --cores 2 -o one

# value FIGURE PANEL METHOD EPS COLUMN
value() {
    awk -F, -v panel="$2" -v method="$3" -v eps="$4" -v name="$5" '
        !/^#/ && !at[name] {for (i = 1; i <= NF; i++) at[$i] = i; next}
        $1 == panel && $2 == method && $3 == eps {print $at[name]}' "one/$1.csv"
}
# within LOW HIGH VALUE
within() {
    awk -v low="$1" -v high="$2" -v x="$3" \
        'BEGIN {exit !(x != "" && x >= low && x <= high)}' ||
        fail "$3 is not in [$1, $2]"
}

# ---- chains that diverge, or never move -----------------------------------------

within 1 1 "$(value fig4 script NSGHMC 1 failed)"
[ "$(value fig4 script NSGHMC 1 log_gsd)" = nan ] || fail 'a value of nothing'
within 1 1 "$(value fig4 script NHMC 1 failed)"
within 0 1e-9 "$(value fig4 script NHMC 1 var_ratio)"
within 0 0 "$(value fig4 script RSGHMC-split 0.0497870684 failed)"
within 0.6 1.5 "$(value fig4 script RSGHMC-split 0.0497870684 var_ratio)"
within 0 0.5 "$(value fig4 script RSGHMC-split 0.0497870684 bias)"
within 10 1e3 "$(value fig4 script NSGHMC 0.135335283 var_ratio)"
within 1 1 "$(value fig3 gmm1 NHMC 20.0855369 failed)"
within 1 1 "$(value fig3 gmm1 NHMC 20.0855369 ess)"
ok 'chains that fail are counted, and those that do not sample the target'

# ---- claims on made-up tables ----------------------------------------------------

# remake FIGURE PROGRAM VERDICT: an awk program makes a table without errors, for which
# all claims have this verdict.
remake() {
    rm -rf made
    mkdir made
    awk -F, -v OFS=, '
        /^#/ || NF < 5 {print; next}
        !n {for (n = 1; n <= NF; n++) {at[$n] = n; name[n] = $n} print; next}
        {for (i in name) if (name[i] ~ /_se$/) $i = 0}
        function set(name, x) {$at[name] = x}
        {panel = $1; method = $2; eps = $3; '"$2"'; print}' \
        "one/$1.csv" >"made/$1.csv"
    small 0 reproduce "$1" --no-plots -q -o made
    n=$(grep -c "^$1 " out) && [ "$n" -gt 10 ] || fail 'too few claims'
    grep "^$1 " out >lines
    ! grep -vE "^$1 +$3 " lines >others || fail "not all are $3: $(cat others)"
}

# a bump of ESS over log eps, higher and wider for the better methods
bump='
    t = log(eps / (panel == "banana" ? 0.3 : 1)) / (good ? 3 : 1)
    high = 1000 * (good ? 2 : 1) * (good && panel ~ /gmm[23]/ ? 1.5 : 1)
    set("ess", high * exp(-t * t) + 1)
    set("mae", 0.001 * exp(t * t))
    set("mae_floor", 0.0001)
    set("log_gsd", t * t)'
remake fig3 "good = method ~ /^RHMC/; $bump" reproduced
remake fig3 "good = method !~ /^RHMC/; $bump" 'not reproduced'
ok 'the claims of figure 3 can hold and can fail'

# the Newtonian methods fail from 0.006 on, relativistic Euler steps heat up later
remake fig4 '
    slow = method ~ /^N/ && eps > 0.006
    hot = method ~ /^RSG/ && method !~ /split/ && eps > (panel == "script" ? 0.1 : 0.02)
    nht = method ~ /NHT/
    set("failed", slow ? 1 : 0)
    set("log_gsd", slow ? "nan" : method == "RSGNHT" ? 0.5 : nht ? 0.8 : 1)
    set("var_ratio", slow ? "nan" : hot ? (nht ? 3 : 4) : nht ? 1 : 1.1)
    if (method == "NSGNHT" && !slow) set("var_ratio", 1.05)
    set("bias", slow ? "nan" : 0.1)' reproduced
remake fig4 '
    bad = method ~ /^R/
    set("failed", bad ? 1 : 0)
    set("log_gsd", bad ? "nan" : method ~ /NHT/ ? 2 : 1)
    set("var_ratio", bad ? "nan" : method ~ /NHT/ ? 1.5 : 1)
    set("bias", bad ? "nan" : 0.1)' 'not reproduced'
ok 'the claims of figure 4 can hold and can fail'

# ---- pictures ---------------------------------------------------------------------

if command -v gnuplot >/dev/null 2>&1; then
    small 0 reproduce fig3 fig4 -q -o one
    for name in fig3 fig4; do
        grep -q '</svg>' one/$name.svg || fail 'no picture'
        [ -s one/$name.pdf ] || fail 'no PDF file'
    done
    ok 'gnuplot draws'
fi
