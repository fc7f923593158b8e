#!/bin/sh
# guard.sh - a command that would overwrite its input or another of its outputs ends with
# exit code 2 and one line, and changes no file.
set -eu
. "$(dirname "$0")/support.sh"

few='--seed 1 --warmup 50 --samples 100'
sums() {
    find . -type f ! -name out ! -name err ! -name '*.sums' -exec cksum {} + |
        sort
}
# refused TEXT ARGS...: the message has this text, and no file changes.
refused() {
    text=$1
    shift
    sums >before.sums
    run 2 "$@"
    says err "$text"
    [ "$(wc -l <err)" -eq 1 ] || fail 'not one line'
    is_empty out
    sums >after.sums
    cmp before.sums after.sums || fail "relmc $*: files have changed"
}

# shellcheck disable=SC2086
{
    run 0 sample banana $few --chains 4 -o b
    run 0 sample banana $few --chains 2 -o r.rmc
}
refused '--csv would replace b_1.csv, which holds draws' \
    summary --csv b_1.csv b_2.csv b_3.csv b_4.csv
refused '--csv would replace ./b_1.csv, which is to be read' \
    summary b_1.csv b_2.csv --csv ./b_1.csv
refused '--csv would replace r_1.rmc, which holds draws' \
    summary --csv r_1.rmc r_2.rmc
ln -s b_1.csv link.csv
ln b_1.csv hard.csv
refused 'link.csv, which is to be read' summary b_1.csv --csv link.csv
refused 'hard.csv, which is to be read' summary b_1.csv --csv hard.csv
refused '--csv would replace b_1.csv, which holds draws' \
    compare --csv b_1.csv b_2.csv b_3.csv
refused '--csv would replace b_3.csv, which is the file of --ref' \
    compare b_1.csv b_2.csv --ref b_3.csv --csv b_3.csv
for again in 1 2; do
    run 0 summary b_1.csv b_2.csv --csv table.csv
    run 0 compare b_1.csv b_2.csv --csv table2.csv
done
run 0 summary b_1.csv --csv /dev/null
ok 'tables replace no draws, but older tables'

refused '--output would replace b_1.csv, which is to be read' \
    convert b_1.csv -o b.csv --force
refused 'b_1.csv, which is to be read' convert b_1.csv -o b.csv
ok 'convert'

printf 'a,b,y\n' >my.csv
for i in 1 2 3 4 5 6 7 8; do
    printf '%d,%d,%d\n' $i $((i * i % 5)) $((i % 2)) >>my.csv
done
cp my.csv my_1.csv
cp my.csv my_curve.csv
# shellcheck disable=SC2086
{
    run 0 sample logistic --data my.csv $few -o l
    refused '--output would replace my.csv, which is the file of --data' \
        predict logistic --data my.csv --at l_1.csv -o my.csv
    refused '--output would replace l_1.csv, which is the file of --at' \
        predict logistic --data my.csv --at l_1.csv --at l_2.csv -o l_1.csv
    refused '--output would replace l_3.csv, which holds draws' \
        predict logistic --data my.csv --at l_1.csv -o l_3.csv
    for again in 1 2; do
        run 0 predict logistic --data my.csv --at l_1.csv -o rows.csv
    done
    ok 'predict'

    refused '--output would replace my_1.csv, which is the file of --data' \
        sample logistic --data my_1.csv $few -o my
    refused '--checkpoint would replace my.csv, which is the file of --data' \
        sample logistic --data my.csv $few --checkpoint my.csv -o m
    cp my.csv m.1
    refused '--checkpoint would replace m.1, which is the file of --data' \
        sample logistic --data m.1 $few --checkpoint m -o k
    refused '--output would replace c_1.csv, which is the file of --checkpoint' \
        sample banana $few --checkpoint ./c_1.csv -o c
    echo '{"x": [0, 0]}' >q_config.json
    refused '--output would replace q_config.json, which is the file of --init' \
        sample banana $few --init q_config.json -o q
    refused 'b_metric.json, which is the file of --inv-metric' \
        sample banana $few --inv-metric b_metric.json -o b
    run 0 sample banana $few --inv-metric b_metric.json -o b2
    for again in 1 2; do
        run 0 sample banana $few --chains 4 -o b
        run 0 sample --config b_config.json
    done
    ok 'sample'

    refused '--output would replace my_curve.csv, which is the file of --data' \
        optimize logistic --data my_curve.csv --steps 10 -o my
    refused '--checkpoint would replace my.csv, which is the file of --data' \
        optimize logistic --data my.csv --steps 10 --checkpoint my.csv
    run 0 optimize logistic --data my.csv --steps 10 -o o
    refused '--output would replace o_theta.npy, which is the file of --init' \
        optimize logistic --data my.csv --steps 10 --init o_theta.npy -o o
    run 0 optimize logistic --data my.csv --steps 10 -o o
    ok 'optimize'
}

# shellcheck disable=SC2086
{
    long='gaussian:dim=5 --seed 1 --warmup 50 --samples 1e9 --thin 1000
        --time-limit 0.3'
    run 75 sample $long -o u --checkpoint run.ckpt
    refused 'run.ckpt holds a run that is not finished (' \
        sample $long -o u --checkpoint run.ckpt
    says err 'of 1000000050 iterations): go on with it by relmc resume run.ckpt'
    refused 'holds a run that is not finished' \
        optimize banana --steps 100 -o u --checkpoint run.ckpt
    run 75 resume run.ckpt --time-limit 0.2
    echo 'dear diary' >diary
    refused 'diary is not a checkpoint of relmc, and --checkpoint does not' \
        sample banana $few -o u --checkpoint diary
    head -c 2000 run.ckpt >torn.ckpt
    refused 'torn.ckpt is damaged' sample banana $few -o u --checkpoint torn.ckpt
    : >done.ckpt
    for again in 1 2; do
        run 0 sample banana $few -o d --checkpoint done.ckpt
    done
    run 0 sample banana --seed 1 --until-ess 100 -o d --checkpoint done.ckpt
    for again in 1 2; do
        run 0 optimize banana --steps 100 -o d --checkpoint done.ckpt
    done
    run 75 optimize banana --steps 1e9 --time-limit 0.2 -o d \
        --checkpoint done.ckpt
    refused 'done.ckpt holds a run that is not finished' \
        optimize banana --steps 100 -o d --checkpoint done.ckpt
    ok 'checkpoints of runs that are not finished'
}

# shellcheck disable=SC2086
{
    run 0 sample banana $few --chains 4 -o e
    cp b_1.csv e_5.csv # a file of another run
    run 4 sample banana $few --chains 2 -o e --checkpoint nowhere/e.ckpt
    [ -e e_4.csv ] && [ -e e_metric.json ] || fail 'it did not even start'
    run 0 sample banana $few --chains 4 -o e
    run 0 sample banana $few --chains 2 -o e
    says err 'removed e_3.csv ... e_4.csv of an earlier run'
    [ ! -e e_3.csv ] && [ ! -e e_4.csv ] && [ -e e_5.csv ] || fail 'e_*.csv'
    [ -e e_metric.json ] || fail 'e_metric.json is gone'
    run 0 sample banana $few --chains 2 -o e
    ! grep removed err || fail 'nothing was to be removed'
    run 0 sample banana $few --chains 2 --chain-id 3 -o e # a part of the same
    [ -e e_1.csv ] && [ -e e_metric.json ] || fail 'the other part is gone'
    run 0 sample banana $few --chains 2 -o e
    run 0 sample banana $few --chains 1 --fix --step-size 0.1 \
        --inv-metric e_metric.json -o e
    says err 'removed e_2.csv of an earlier run'
    [ -e e_metric.json ] || fail 'what was read is gone'
    run 0 sample banana $few --chains 1 --fix --step-size 0.1 -o e
    says err 'removed e_metric.json of an earlier run'
    [ ! -e e_metric.json ] || fail 'e_metric.json is there'
    run 0 sample banana $few --chains 3 -o e.rmc
    cp table.csv e_3.rmc
    run 0 sample banana $few --chains 1 -o e.rmc
    says err 'removed e_2.rmc of an earlier run'
    [ -e e_3.rmc ] && [ -e e_1.csv ] || fail 'more than draws, or other files'
    ok 'what an earlier run has left is removed'
}
