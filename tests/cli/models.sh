#!/bin/sh
# models.sh - relmc models and relmc gradcheck, for every model.
set -eu
. "$(dirname "$0")/support.sh"

run 0 models
says out 'banana'
says out 'exact moments, exact draws'
is_empty err
names=$(sed -n '/^$/q;/needs --data/d;s/ .*//p' out)
[ -n "$names" ] || fail 'no names'

for name in $names; do
    run 0 models "$name"
    says out "$name - "
    says out 'parameters:'
    run 0 gradcheck "$name" --points 5 --seed 3
    says out '0 of 5 points failed'
    run 0 sample "$name" --seed 1 --warmup 50 --samples 20 --no-output -q
    says out '[1' # x[1], or beta[1,1]
done
ok 'every model is shown, right and can be sampled'

run 0 models gaussian:dim=3,sd=2
says out '3 dimensions'
says out 'x[3]           0           2'
run 3 models gaussian:sd=-1
if has_python; then
    run 0 models --json
    python3 - out <<'END' || fail 'models --json'
import json, sys
models = {m["name"]: m for m in json.load(open(sys.argv[1]))}
banana = models["banana"]
assert banana["dim"] == 2 and banana["exact_draws"] is True
assert banana["variance"][0] == 100
assert [p["name"] for p in banana["parameters"]] == ["sd", "bend", "shift"]
if "mlp" in models:  # it has librelmc-extra
    hidden, activation = models["mlp"]["parameters"][:2]
    assert (hidden["name"], hidden["kind"]) == ("hidden", "vector")
    assert activation["choices"] == "relu|tanh|sigmoid"
END
fi
run 0 models
if grep -q '^mlp ' out; then
    run 0 models mlp
    says out 'number or list in [1, 1e+06], default 100'
    says out 'next: relmc optimize mlp'
fi
ok 'parameters and JSON'

printf '[{"x": [1, 2]}, {"x": [3, 4]}]' >points.json
run 0 gradcheck banana --at points.json
says out '0 of 2 points failed'
printf '{"x": [1, 2, 3]}' >long.json
run 3 gradcheck banana --at long.json
run 4 gradcheck banana --at missing.json
run 2 gradcheck banana --points 0
run 0 gradcheck banana --points 2 --seed 5
cp out first
run 0 gradcheck banana --points 2 --seed 5
cmp out first || fail 'same seed, other points'
ok 'gradcheck'
