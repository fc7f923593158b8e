#!/bin/sh
# help.sh - help, version, and suggestions for misspelt words.
set -eu
. "$(dirname "$0")/support.sh"

run 0
says out 'Examples:'
says out 'sample MODEL'
is_empty err
cp out overview
for words in help -h --help; do
    run 0 "$words"
    cmp -s out overview || fail "relmc $words is not the overview"
done
ok 'help without arguments, help, -h, --help'

for command in sample models data gradcheck version help; do
    run 0 help "$command"
    says out "relmc $command - "
    says out 'Examples:'
    cp out wanted
    for flag in -h --help; do
        run 0 "$command" "$flag"
        cmp -s out wanted || fail "relmc $command $flag"
    done
done
ok 'help on every command'

run 0 help sample
awk 'length > 80 { exit 1 }' out || fail 'help is wider than 80 columns'
for name in --chains --warmup --tune --num-warmup --samples --draws \
    --num-samples --seed --init --thin --save-warmup --refresh --sig-figs \
    --target-accept --adapt-delta --fix --step-size --sampler --kinetic \
    --integrator --cruise --mass --speed --max-step --leapfrog --int-time \
    --jitter --metric --inv-metric --cores --lanes --chain-id \
    --until-ess --until-rhat --time-limit --memory \
    --output --no-output --progress --color --quiet --config --strict --json
do
    says out "$name"
done
ok 'help lists every option of sample'

run 0 help kinetic
says out 'separable'
says out 'cruise'
says out 'in [1e-12, 1e+12], default 1'
run 0 help hmc
says out 'steps'
run 0 help dual
says out 'delta'
run 0 help model
says out 'banana'
run 0 models
if grep -q '^mlp ' out; then # it has librelmc-extra
    run 0 help mlp
    says out 'hidden'
    run 0 help model
    says out 'feed-forward network'
fi
ok 'help on components comes from their tables'

run 0 --version
[ "$(cat out)" = "$(sed -n 1p out)" ] || fail '--version is one line'
grep -Eq '^relmc [0-9]+\.[0-9]+\.[0-9]+$' out || fail '--version'
run 0 version
if grep -Eq '^isa +avx' out; then # OpenBLAS does not recognise every such processor
    grep -Eq '^blas +(Prescott|Core2|Nehalem|Sandybridge)$' out &&
        fail 'kernels of OpenBLAS for a processor without AVX2'
fi
if grep -q openblas out; then
    with OPENBLAS_CORETYPE=Prescott 0 version
    says out 'blas       Prescott'
fi
run 0 version
says out 'isa'
says out 'compiler'
says out 'jansson'
says out 'gzip'
if has_python; then
    run 0 version --json
    python3 -c 'import json, sys; json.load(sys.stdin)["version"]' <out ||
        fail 'version --json is not JSON'
fi
ok 'version'

run 2 smaple
says err 'no command "smaple" (did you mean "sample"?)'
run 2 banana
says err 'did you mean "relmc sample banana"?'
run 2 xyzzy
says err 'no command "xyzzy"'
run 2 --nonsense
run 2 help sampel
says err 'did you mean "sample"?'
run 2 sample banana --numsamples 500
says err 'relmc sample: unknown option --numsamples (did you mean --num-samples?)'
run 2 sample banana --chain 2
says err 'did you mean --chains?'
run 2 sample banana --kinetic seperable
says err 'did you mean "separable"?'
run 2 sample banana -Z
is_empty out
ok 'misspelt commands and options'

run 3 sample banan
printf '%s\n' 'relmc: no model "banan" (did you mean "banana"?)' \
    '  relmc models        lists the built-in models' >wanted
cmp -s err wanted || fail 'unknown model'
is_empty out
run 3 sample nothinglikeit
says err 'no model "nothinglikeit"'
run 3 models banan
run 3 gradcheck banan
run 3 sample gaussian:dimm=3
says err 'dimm'
run 3 sample gaussian:dim=0
says err 'dim must be in'
run 3 sample gaussian:dim=abc
ok 'misspelt models and parameters'
