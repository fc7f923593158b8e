#!/bin/sh
# formats.sh TOOL - every format holds the same draws, written or converted; incomplete and
# invalid files are refused.
set -eu
. "$(dirname "$0")/support.sh"

case $("$relmc" version) in
*'netcdf     no'*) has_netcdf=false ;;
*) has_netcdf=true ;;
esac

nothing_left() {
    for left in *.tmp; do
        [ ! -e "$left" ] || fail "$left was left behind"
    done
}

# Names and numbers only.
same_rows() {
    grep -v '^#' "$1" >a.txt
    grep -v '^#' "$2" | cmp - a.txt || fail "draws of $1 and $2 differ"
}

how='--seed 5 --chains 3 --warmup 60 --samples 90 --refresh 0'

# ---- files of a run ----------------------------------------------------------

for more in '' '--save-warmup' '--save-warmup --thin 3' '--warmup 0 --fix' \
    '--metric dense_e'; do
    # shellcheck disable=SC2086
    {
        run 0 sample funnel:dim=4 $how $more -o text.csv --sig-figs 17
        run 0 sample funnel:dim=4 $how $more -o plain.rmc
    }
    says err 'wrote plain_1.rmc ... plain_3.rmc, plain_config.json'
    run 0 convert plain_?.rmc -o back.csv
    says err 'wrote back_1.csv ... back_3.csv'
    is_empty out
    for k in 1 2 3; do # blanks follow num_samples
        sed 's/ *$//' text_$k.csv >text.txt
        sed 's/ *$//' back_$k.csv >back.txt
        same_draws text.txt back.txt
    done
    rm -f text_* plain_* back_*
done
nothing_left
ok 'plain numbers are those of CSV files with 17 digits'

# shellcheck disable=SC2086
{
    run 0 sample funnel:dim=4 $how --save-warmup -o eight.csv
    run 0 sample funnel:dim=4 $how --save-warmup -o plain.rmc
}
run 0 convert plain_?.rmc -o short.csv --sig-figs 8
for k in 1 2 3; do
    same_rows eight_$k.csv short_$k.csv
done
grep -q 'sig_figs = 8$' short_1.csv || fail 'sig_figs'
ok '--sig-figs 8 gives the draws of --sig-figs 8'

# ---- converted and converted back ----------------------------------------------

run 0 convert eight_?.csv -o there.rmc
run 0 convert there_?.rmc -o back.csv
for k in 1 2 3; do
    cmp eight_$k.csv back_$k.csv || fail "CSV, raw, CSV: chain $k"
done
run 0 convert back_3.csv back_2.csv -o other.rmc
cmp other_2.rmc there_2.rmc || fail 'chains have their numbers'
[ ! -e other_1.rmc ] || fail 'there is no chain 1'
ok 'CSV, raw, CSV: every byte'

sed 's/^#~$/# /' >arrays.csv <<'END2'
# model = arrays_model
# num_warmup = 2
# save_warmup = 1
# thin = 1
# engine = nuts
# max_depth = 3
# id = 7
# sig_figs = 6
lp__,treedepth__,divergent__,odd__,mu,b.1.1,b.2.1,b.1.2,b.2.2,b.1.3,b.2.3,one.1,gap.1,gap.3,x,x.1,t:1.1,t:1.2,draw
-1,1,0,9,0.5,11,21,12,22,13,23,1,2,3,4,5,6,7,8
-1,1,0,9,0.25,11,21,12,22,13,23,1,2,3,4,5,6,7,8
# Adaptation terminated
# Step size = 0.125
# Diagonal elements of inverse mass matrix:
# 0.1, 0.2, 0.3
-2,3,1,9,1e-05,11,21,12,22,13,23,1,2,3,4,5,6,7,8
-2,2,0,9,NaN,-inf,21,12,22,13,23,1,2,3,4,5,inf,7,8
-2.5,2,0,9,1.5,11,21,12,22,13,23,1,2,3,4,5,6,7,1e+20
#~
#  Elapsed Time: 0.25 seconds (Warm-up)
#                0.5 seconds (Sampling)
#                0.75 seconds (Total)
#~
END2
run 0 convert arrays.csv -o arrays.rmc
run 0 convert arrays_7.rmc -o back.csv
cmp arrays.csv back_7.csv || fail 'arrays: CSV, raw, CSV'
ok 'arrays, statistics, NaN and inf'

# facts FILE...: the summary without names and times.
facts() {
    run 0 summary "$@" --json
    grep -v -e '\.csv' -e '\.rmc' -e '\.nc' -e seconds_sampling out
}

facts eight_?.csv >csv.txt
facts there_?.rmc >rmc.txt
cmp csv.txt rmc.txt || fail 'summary of raw files'
verdict=0
"$relmc" diagnose eight_?.csv >csv.txt 2>&1 || verdict=$?
run $verdict diagnose there_?.rmc
cat out err | cmp - csv.txt || fail 'diagnose of raw files'
run 0 compare eight_?.csv there_?.rmc
says out 'there '
run 0 summary there_?.rmc -i 'x[2]' --memory 0.001
says out 'x[2]'
ok 'summary, diagnose and compare read raw files'

# ---- NetCDF ----------------------------------------------------------------------

if $has_netcdf; then
    run 0 convert eight_?.csv -o eight.nc
    says err 'wrote eight.nc'
    run 0 convert eight.nc -o back.csv --force
    for k in 1 2 3; do
        same_draws eight_$k.csv back_$k.csv
    done
    run 0 convert there_?.rmc -o there.nc -q
    is_empty err
    run 0 convert there.nc -o again.rmc
    run 0 convert again_?.rmc -o back.csv -f
    for k in 1 2 3; do
        same_draws eight_$k.csv back_$k.csv
    done
    ok 'CSV or raw, NetCDF, and back'

    run 0 convert arrays.csv -o arrays.nc
    run 0 convert arrays.nc -o back.csv -f
    sed 's/,x\.1,/,x_.1,/; s/,draw$/,draw_/' arrays.csv >wanted.csv
    cmp wanted.csv back_7.csv || fail 'arrays: CSV, NetCDF, CSV'
    if command -v ncdump >/dev/null; then
        ncdump arrays.nc >dump.txt
        for text in 'group: warmup_sample_stats' 'double b(chain, draw, b_dim_0, b_dim_1)' \
            'b_dim_0 = 2' 'b_dim_1 = 3' 'double mu(chain, draw)' 'double one(chain, draw, one_dim_0)' \
            'double gap.1(chain, draw)' 'double t:1(chain, draw, t:1_dim_0)' \
            'int64 tree_depth(chain, draw)' 'byte diverging(chain, draw)' \
            'diverging:dtype = "bool"' 'byte reached_max_treedepth' 'double odd(chain, draw)' \
            'inv_metric =' 'mu:_FillValue = NaN' ':sampling_time = 0.5' ':tuning_steps = 2' \
            'chain = 6' '11, 12, 13,' 'reached_max_treedepth =' ; do
            sed 's/\\//g' dump.txt | grep -qF -- "$text" || fail "ncdump does not say '$text'"
        done
        grep -q 'creation_library_language = "C"' dump.txt || fail 'no language'
        grep -q 'inference_library_settings' dump.txt || fail 'no settings'
    fi
    facts there.nc >nc.txt
    cmp rmc.txt nc.txt || fail 'summary of NetCDF'
    run $verdict diagnose there.nc
    says out 'E-BFMI'
    run 0 compare eight_?.csv there.nc
    run 0 summary there.nc -i 'x[2]'
    says out '3 chains x 90 draws'
    run 2 summary there.nc there.nc
    says err 'there.nc[1] is given twice'
    ok 'arrays, groups and attributes; summary, diagnose, compare'

    # shellcheck disable=SC2086
    run 0 sample funnel:dim=4 $how --save-warmup -o run.nc
    says err 'wrote run.nc, run_config.json'
    [ ! -e run.nc_1.rmc ] || fail 'rows are left behind'
    run 0 convert run.nc -o run.csv --sig-figs 8
    for k in 1 2 3; do
        same_rows eight_$k.csv run_$k.csv
    done
    # shellcheck disable=SC2086
    run 0 sample funnel:dim=4 $how --save-warmup -o kept.nc --checkpoint kept.ckpt
    says err 'wrote kept.nc, kept_config.json'
    says err 'kept.nc_1.rmc ... stay for relmc resume'
    run 0 summary kept.nc_?.rmc
    export SOURCE_DATE_EPOCH=86400
    run 0 convert kept.nc_?.rmc -o one.nc
    run 0 convert kept.nc_?.rmc -o two.nc
    run 0 convert run.nc -o three.rmc
    unset SOURCE_DATE_EPOCH
    cmp one.nc two.nc || fail 'not the same when made again'
    # shellcheck disable=SC2086
    run 0 sample funnel:dim=4 $how --samples 0 -o none.nc
    [ ! -e none.nc ] && [ -e none.nc_1.rmc ] || fail 'no draws, no NetCDF'
    ok 'sample -o run.nc'

    head -c 3000 there.nc >cut.nc
    run 4 summary cut.nc
    says err 'relmc summary: cut.nc: '
    [ "$(wc -l <err)" -eq 1 ] || fail 'more than one line'
    run 4 convert eight_?.csv -o nowhere/x.nc
    says err 'cannot write nowhere/x.nc'
    [ "$(wc -l <err)" -eq 1 ] || fail 'more than one line'
    sed 's/,x\.1,x\.2/,x.2,x.1/' eight_2.csv >swapped_2.csv
    run 3 convert eight_1.csv swapped_2.csv -o swapped.nc
    says err 'swapped_2.csv has its columns in another order than eight_1.csv'
    sed '$d' eight_2.csv | grep -v '^#  ' | sed '$d' | sed '$d' >less_2.csv
    run 0 convert eight_1.csv less_2.csv -o less.nc
    says err 'the chains have different lengths'
    run 0 summary less.nc
    says out '2 chains x 89 draws'
    ok 'NetCDF that cannot be'
else
    run 2 sample banana -o x.nc
    says err '--output x.nc: this relmc was built without NetCDF'
    run 2 convert eight_1.csv -o x.nc
    says err '--output x.nc: this relmc was built without NetCDF'
    printf '\211HDF\r\n\032\n' >x.nc
    run 3 summary x.nc
    says err 'x.nc: this relmc was built without NetCDF'
    [ "$(wc -l <err)" -eq 1 ] || fail 'more than one line'
    ok 'without NetCDF it is said'
fi

# ---- existing files are kept -------------------------------------------------------

run 2 convert eight_?.csv -o there.rmc
says err 'there_1.rmc is there already (--force replaces it)'
run 2 convert eight_1.csv
says err 'convert needs --output BASE.csv, BASE.rmc or BASE.nc'
run 2 convert eight_1.csv -o x.txt
says err '--output x.txt: the suffix names the format, .csv, .rmc or .nc'
run 2 convert -o x.csv
says err 'FILE is missing'
run 4 convert eight_1.csv -o nowhere/x.rmc
says err 'cannot write nowhere/x_1.rmc: No such file or directory'
run 4 convert missing.csv -o x.rmc
printf 'x,y\n1,2\n3,four\n' >bad.csv
run 3 convert eight_1.csv bad.csv -o x.rmc
run 3 convert bad.csv -o x.rmc
says err 'bad.csv:3: y is "four", not a number'
for left in x_*; do
    [ ! -e "$left" ] || fail "$left was left behind"
done
run 2 sample banana -o x.zarr
says err '--output x.zarr: only .csv, .rmc and .nc files can be written'
run 4 sample banana -o nowhere/x.rmc
says err 'cannot write nowhere/x_1.rmc'
nothing_left
ok 'nothing is replaced unasked, and nothing half-written stays'

# ---- incomplete and invalid files ------------------------------------------------------

if has_python; then
    cat >cut.py <<'END2'
import struct, sys
data = open("there_1.rmc", "rb").read()
columns, = struct.unpack_from("<I", data, 12)
body, warmup, draws_at, rows, text, adaptation = struct.unpack_from("<6Q", data, 16)
row = 8 * columns
assert data[:8] == b"relmcRW\n" and (warmup, rows) == (60, 90), (warmup, rows)
assert body % 8 == 0 and draws_at % 8 == 0
assert data[64:64 + text].endswith(b"x.3\n")
end = draws_at + rows * row
assert data[end:].startswith(b"# \n#  Elapsed Time: ")
# the first draw is that of the CSV file
lines = open("eight_1.csv").read().split("# Adaptation terminated")[1]
first = [x for x in lines.split("\n")[1:] if x and x[0] != "#"][0]
got = struct.unpack_from("<%dd" % columns, data, draws_at)
assert ["%.8g" % x for x in got] == first.split(","), (got, first)
open_ended = bytearray(data)
struct.pack_into("<Q", open_ended, 40, 2**64 - 1)
out = {
    "whole.rmc": data,
    "cut_end.rmc": data[:end],
    "cut_rows.rmc": data[:end - 3 * row],
    "cut_row.rmc": data[:end - 3],
    "open.rmc": open_ended[:end - 5 * row],
    "open_row.rmc": open_ended[:end - 5 * row - 1],
    "cut_warmup.rmc": data[:body + 7 * row],
    "cut_text.rmc": data[:100],
    "cut_head.rmc": data[:20],
    "version.rmc": data[:8] + b"\2" + data[9:],
    "columns.rmc": data[:12] + b"\1" + data[13:],
    "body.rmc": data[:16] + b"\xff" * 8 + data[24:],
    "warmup.rmc": data[:24] + b"\xff" * 8 + data[32:],
    "draws.rmc": data[:33] + b"\xff" + data[34:],
}
early = bytearray(open_ended)
struct.pack_into("<QQ", early, 24, 0, 0)
out["early.rmc"] = early[:body + 9 * row + 5]
for name in out:
    open(name, "wb").write(out[name])
END2
    python3 cut.py || fail 'the layout'
    for file in whole:90 cut_end:90 cut_rows:87 cut_row:89 open:85 open_row:84; do
        run 0 summary "${file%:*}.rmc"
        says out "1 chain x ${file#*:} draws"
    done
    run 0 summary cut_row.rmc
    says err 'cut_row.rmc is cut off: of 90 draws 89 are there'
    run 0 summary open_row.rmc
    says err 'open_row.rmc ends in the middle of a draw: the 84 before it are used'
    run 0 summary open.rmc
    is_empty err
    run 0 convert cut_row.rmc -o cut.csv
    [ "$(rows cut_1.csv)" -eq 149 ] || fail 'rows of a cut file'
    run 3 summary early.rmc
    says err 'early.rmc: no draws, only warm-up'
    for file in cut_warmup cut_text cut_head columns body warmup draws; do
        run 3 summary $file.rmc
        says err "relmc summary: $file.rmc: damaged, or no file of relmc"
        [ "$(wc -l <err)" -eq 1 ] || fail 'more than one line'
    done
    run 3 summary version.rmc
    says err 'version.rmc: version 2 of the format; this relmc reads version 1'
    ok 'cut files are read up to the last whole draw, others refused'

    # killed at any time, it leaves no file or a complete one
    python3 - "$relmc" <<'END2' || fail 'a killed conversion'
import glob, os, random, subprocess, sys
random.seed(1)
with open("tall.csv", "w") as file:
    file.write("lp__,x.1,x.2\n")
    for t in range(100000):
        file.write("%.8g,%.8g,%.8g\n" % (random.random(), t, -t))
n_killed = 0
for target, made in (("k.csv", "k_1.csv"), ("k.rmc", "k_1.rmc")):
    command = [sys.argv[1], "convert", "tall.csv", "-q", "-o", target]
    subprocess.run(command, check=True)
    whole = open(made, "rb").read()
    for i in range(10):
        os.remove(made)
        run = subprocess.Popen(command)
        try:
            run.wait(random.uniform(0, 0.1))
        except subprocess.TimeoutExpired:
            run.kill()
            run.wait()
            n_killed += 1
        assert not os.path.exists(made) or open(made, "rb").read() == whole
        subprocess.run(command + ["--force"], check=True)
        assert open(made, "rb").read() == whole and not glob.glob("*.tmp")
assert n_killed > 0
END2
    ok 'a killed conversion leaves no half file'
fi
