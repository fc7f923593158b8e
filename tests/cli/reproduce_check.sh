#!/bin/sh
# reproduce_check.sh - fast figures, at the quick scale, have the verdicts of
# paper/experiments/claims-quick.json.
set -eu
. "$(dirname "$0")/support.sh"

figures='fig1 fig2'
case $("$relmc" version) in
*CHOLMOD*) figures="$figures fig3" ;;
*) echo 'note: no graph Stein discrepancy of the Banana, figure 3 is left out' ;;
esac
# shellcheck disable=SC2086
run 0 reproduce $figures --check --no-plots -q -o found
[ "$(grep -c ' reproduced ' out)" -ge 4 ] || fail 'too little is reproduced'
ok "$figures: what was reproduced is"
