#!/bin/sh
# reproduce_check.sh - what we found to be reproduced still is: the figures that
# take little, at the quick scale, against experiments/claims-quick.json.
set -eu
. "$(dirname "$0")/support.sh"

run 0 reproduce fig1 fig2 fig3 --check --no-plots -q -o found
[ "$(grep -c ' reproduced ' out)" -ge 10 ] || fail 'too little is reproduced'
ok 'figures 1, 2 and 3: what was reproduced is'
