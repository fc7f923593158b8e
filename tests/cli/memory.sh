#!/bin/sh
# memory.sh TOOL [MANY] - a run that writes its draws needs no more memory if it is a
# thousand times longer: with MANY draws of 100 parameters the resident size is that with
# 10 000, up to 2 MB.  The files are links to /dev/null, to spare disks.
set -eu
. "$(dirname "$0")/support.sh"

few=10000
many=${2:-10000000}
if ! has_python || [ ! -r /proc/self/status ]; then
    echo 'skip  python3 or /proc was not found'
    exit 77
fi

size() { # SUFFIX DRAWS
    ln -sf /dev/null "d_1$1"
    largest_size sample gaussian:dim=100 -c 1 --sampler hmc \
        --kinetic newtonian --fix --step-size 0.3 --leapfrog 1 --jitter 0 \
        --seed 1 --warmup 0 --no-summary --samples "$2" -q -o "d$1"
}

# check SUFFIX DRAWS
check() {
    small=$(size "$1" $few) || fail "$few draws"
    large=$(size "$1" "$2") || fail "$2 draws"
    [ $((large - small)) -lt 2000 ] ||
        fail "$1: $small kB for $few draws, $large kB for $2"
    ok "$1: $small kB for $few draws, $large kB for $2"
}

check .rmc "$many"
check .csv $((many / 20))

# --no-summary prints no table and does not change the draws.
run 0 sample banana --seed 1 -o a --no-summary
is_empty out
run 0 sample banana --seed 1 -o b
same_draws a_1.csv b_1.csv
run 2 sample banana --no-summary --until-ess 100
says err '--no-summary and --until-ess exclude each other'
run 0 sample banana --seed 1 -o c --no-summary --checkpoint c.ckpt --samples 500
run 0 resume c.ckpt --samples 1000
same_draws b_2.csv c_2.csv
ok '--no-summary'
