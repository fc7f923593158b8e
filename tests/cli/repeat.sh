#!/bin/sh
# repeat.sh - draws do not depend on cores, lanes, code path and first chain.
set -eu
. "$(dirname "$0")/support.sh"

all='--seed 42 --warmup 60 --samples 40 -c 9 -q --sig-figs 17'

# shellcheck disable=SC2086
for model in banana gaussian:dim=3 funnel; do
    run 0 sample $model $all --cores 1 --lanes 1 -o one
    cp out wanted
    for how in '--cores 2 --lanes 1' '--cores 1 --lanes 8' \
        '--cores 2 --lanes 8' '--cores 4 --lanes 2'; do
        run 0 sample $model $all $how -o two
        cmp out wanted || fail "$model $how: another summary"
        for k in 1 2 3 4 5 6 7 8 9; do
            same_draws one_$k.csv two_$k.csv
        done
    done
    with RELMC_ISA=baseline 0 sample $model $all -o two
    for k in 1 9; do
        same_draws one_$k.csv two_$k.csv
    done
    # with an adaptation of its own a chain does not depend on the others
    run 0 sample $model $all --adapt dual -o one
    run 0 sample $model $all --adapt dual -c 2 --chain-id 8 -o two
    same_draws one_8.csv two_8.csv
    same_draws one_9.csv two_9.csv
    ok "$model: any cores, lanes, code path and first chain"
done

run 0 sample banana --seed 1 --samples 20 -q -o one
run 0 sample banana --seed 2 --samples 20 -q -o two
draws one_1.csv >a.txt
draws two_1.csv >b.txt
if cmp -s a.txt b.txt; then
    fail 'two seeds, the same draws'
fi
ok 'another seed, other draws'
with RELMC_ISA=nonsense 2 sample banana --no-output
ok 'an unknown code path is refused'
