#!/bin/sh
# layout.sh - the files of the tool have the layout of docs/formats.md.  Every word and
# place is written out here, so that a changed constant of relmc_format.h fails.
set -eu
. "$(dirname "$0")/support.sh"

# ---- Stan CSV -------------------------------------------------------------------

short='sample banana --chains 1 --seed 1 --samples 5 --warmup 20 --save-warmup
       --adapt stan --sig-figs 17 -q'
# shellcheck disable=SC2086
run 0 $short -o a --checkpoint cp
grep '^#' a_1.csv | sed -e 's/=.*/=/' \
    -e 's/^\(#  .*\) [0-9.e-]* seconds/\1 0 seconds/' -e 's/^# [-0-9.].*/# 0/' \
    -e 's/ *$//' >found
cat >wanted <<'END'
# stan_version_major =
# stan_version_minor =
# stan_version_patch =
# model =
# method =
#   sample
#     num_samples =
#     num_warmup =
#     save_warmup =
#     thin =
#     adapt
#       engaged =
#     algorithm =
#       hmc
#         engine =
#           nuts
#             max_depth =
#         metric =
#         stepsize =
# id =
# data
#   file =
# init =
# random
#   seed =
# output
#   file =
#   sig_figs =
# num_threads =
# relmc_version =
# relmc_model =
# relmc_sampler =
# relmc_kinetic =
# relmc_integrator =
# relmc_adapt =
# relmc_engine =
# relmc_energy =
# Adaptation terminated
# Step size =
# Diagonal elements of inverse mass matrix:
# 0
#
#  Elapsed Time: 0 seconds (Warm-up)
#                0 seconds (Sampling)
#                0 seconds (Total)
#
END
cmp found wanted || fail "$(diff wanted found)"
[ "$(grep -v '^#' a_1.csv | head -n 1)" = "lp__,accept_stat__,stepsize__,\
treedepth__,n_leapfrog__,divergent__,energy__,speed__,x.1,x.2" ] ||
    fail 'other columns'
ok 'the words of a CSV file'

# ---- plain numbers ---------------------------------------------------------------

# number FILE FORMAT BYTES FROM [COUNT]: numbers printed by od, one per line
number() {
    od -A n -v -t "$2" -j "$4" -N "$(($3 * ${5:-1}))" "$1" |
        tr -s ' ' '\n' | sed '/^$/d'
}
whole() {
    number "$1" u8 8 "$2"
}

# shellcheck disable=SC2086
run 0 $short -o b.rmc
file=b_1.rmc
[ "$(head -c 8 $file)" = relmcRW ] || fail 'other first bytes'
[ "$(number $file u4 4 8)" = 1 ] || fail 'another version'
[ "$(number $file u4 4 12)" = 10 ] || fail 'another number of columns'
body=$(whole $file 16) draws=$(whole $file 32)
[ "$(whole $file 24)" = 20 ] || fail 'other rows of warm-up'
[ "$(whole $file 40)" = 5 ] || fail 'other draws'
text=$(whole $file 48) found=$(whole $file 56)
[ "$body" -eq $(((64 + text + 7) / 8 * 8)) ] || fail 'body is elsewhere'
[ "$draws" -eq $((body + 20 * 80 + (found + 7) / 8 * 8)) ] ||
    fail 'draws are elsewhere'
tail -c +65 $file | head -c "$text" | draws /dev/stdin |
    sed 's/ *$//' >b.head
draws a_1.csv | sed 's/ *$//; /^lp__/q' >a.head
cmp a.head b.head || fail 'another text in front'
tail -c +$((body + 20 * 80 + 1)) $file | head -c "$found" >b.adaptation
grep -A 3 '^# Adaptation' a_1.csv >a.adaptation
cmp a.adaptation b.adaptation || fail 'another text between'
for from in "$body 1" "$draws 21"; do
    number $file f8 8 "${from% *}" 10 >b.row
    grep -v '^#' a_1.csv | tail -n +2 | sed -n "${from#* }p" | tr , '\n' >a.row
    paste a.row b.row | awk '($1 - $2) ^ 2 > 1e-28 * $1 ^ 2 {bad = 1}
        END {exit bad || NR != 10}' || fail "another row at ${from% *}"
done
tail -c +$((draws + 5 * 80 + 1)) $file | sed -n 2p |
    grep -q '^#  Elapsed Time: ' || fail 'another text behind'
ok 'the places in a file of plain numbers'

# ---- checkpoints ------------------------------------------------------------------

[ "$(head -c 8 cp)" = relmcCP ] || fail 'other first bytes'
[ "$(number cp x4 4 8)" = 01020304 ] || fail 'another order of bytes'
[ "$(number cp u4 4 12)" = 5 ] || fail 'another version'
[ "$(whole cp 16)" -eq "$(wc -c <./cp)" ] || fail 'another length'
note=$(whole cp 32)
tail -c +41 cp | head -c "$note" | grep -q '"relmc_version"' ||
    fail 'the note is elsewhere'
cp cp bad # with a wrong hash
printf '\377' | dd of=bad bs=1 seek=24 conv=notrunc 2>/dev/null
run 4 resume bad
says err 'its checksum does not match'
ok 'the head of a checkpoint'
