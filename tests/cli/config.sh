#!/bin/sh
# config.sh - a config file repeats a run, and command line options override it.
set -eu
. "$(dirname "$0")/support.sh"

run 0 sample gaussian:dim=3,rho=0.5 --warmup 100 --samples 50 -c 3 -q \
    --kinetic relativistic --cruise 0.6 --leapfrog 9 --init 0.5 -o base
mkdir again
cd again
run 0 sample --config ../base_config.json -q
cd ..
for k in 1 2 3; do
    same_draws "base_$k.csv" "again/base_$k.csv"
done
cmp base_config.json again/base_config.json || fail 'config files differ'
ok 'the same draws and files from --config'

run 0 sample --config base_config.json -q --samples 20 -o other
[ "$(rows other_1.csv)" -eq 20 ] || fail 'option over config'
run 0 sample banana --config base_config.json -q -o other
grep -q '^# model = banana' other_1.csv || fail 'model over config'
run 0 sample --config base_config.json -q --kinetic newtonian -o other
grep -q '^# relmc_kinetic = newtonian' other_1.csv || fail 'kinetic over config'
run 0 sample --config base_config.json -q --mass 2 -o other
grep -q '^# relmc_kinetic = relativistic:m=2' other_1.csv ||
    fail 'mass over cruise of config'
run 0 sample --config other_config.json -q -o third
same_draws other_1.csv third_1.csv
run 0 sample --config base_config.json -q --leapfrog 5 -o other
grep -q '^# relmc_sampler = hmc:steps=5,' other_1.csv ||
    fail 'leapfrog over config'
ok 'options override the config file'

for how in '--mass 2 --speed 3' '--cruise 0.5 --int-time 3' '--kinetic newtonian' \
    '--fix --step-size 0.2' '--fix --step-size 0.2 --max-step 1' \
    '--target-accept 0.9 --sampler ghmc:time=1' '--kinetic separable --speed [1,2] --jitter 0'; do
    # shellcheck disable=SC2086
    run 0 sample banana $how --warmup 50 --samples 30 -q -o how
    run 0 sample --config how_config.json -q -o again/how
    for k in 1 2 3 4; do
        same_draws how_$k.csv again/how_$k.csv
    done
done
ok 'every shorthand is repeated'

if has_python; then
    python3 - base_config.json <<'END' || fail 'content of the config file'
import json, sys
root = json.load(open(sys.argv[1]))
assert root["command"] == "sample" and root["model"] == "gaussian:dim=3,rho=0.5"
assert root["options"]["chains"] == 3
assert root["options"]["kinetic"] == "relativistic:cruise=0.6"
assert root["options"]["sampler"] == "hmc:steps=9"
assert root["options"]["thin"] == 1 and root["options"]["save_warmup"] is False
assert isinstance(root["options"]["seed"], int)
assert root["manifest"]["chains"] == 3
assert "relmc_version" in root
END
    ok 'the config file holds everything'
fi

run 0 sample gaussian --seed 18446744073709551615 --samples 5 -q -o big
run 0 sample --config big_config.json -q -o big2
same_draws big_1.csv big2_1.csv
ok 'a seed of 64 bits'

few='--seed 1 --warmup 10 --samples 5 -q --no-output --json'
count() {
    sed -n 's/^ *"chains": \([0-9]*\).*/\1/p' out
}
mkdir -p xdg/relmc
echo '{"sample": {"chains": 5}, "gradcheck": {"points": 2}}' \
    >xdg/relmc/config.json
echo '{"chains": 6}' >flat.json
# shellcheck disable=SC2086
{
    run 0 sample banana $few
    [ "$(count)" = 5 ] || fail 'user file over default'
    run 0 sample banana $few --config flat.json
    [ "$(count)" = 6 ] || fail 'config over user file'
    with RELMC_CHAINS=7 0 sample banana $few --config flat.json
    [ "$(count)" = 7 ] || fail 'environment over config'
    with RELMC_CHAINS=7 0 sample banana $few --chains 8
    [ "$(count)" = 8 ] || fail 'option over environment'
    with RELMC_CHAINS=0 2 sample banana $few
    says err 'RELMC_CHAINS: "0"'
}
run 0 gradcheck banana
says out '0 of 2 points failed'
ok 'defaults < user file < config < environment < options'

echo '{"chians": 6}' >typo.json
echo '{"chains": ' >broken.json
echo '{"chains": [6]}' >list.json
echo '{"chains": 0}' >zero.json
run 2 sample banana --config typo.json
says err 'typo.json: no option "chians" (did you mean "chains"?)'
run 2 sample banana --config broken.json
says err 'broken.json:'
run 2 sample banana --config list.json
says err 'list.json: chains'
run 2 sample banana --config zero.json
says err 'zero.json: chains: "0" is not a whole number'
run 4 sample banana --config missing.json
says err 'cannot read missing.json'
run 4 sample banana --config .
ok 'config files that are wrong'
