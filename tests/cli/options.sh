#!/bin/sh
# options.sh - invalid options are refused before the run starts, and valid ones may be
# spelt in several ways.
set -eu
. "$(dirname "$0")/support.sh"

# The wrong options; the text that the message must have.
while IFS='|' read -r arguments named; do
    # shellcheck disable=SC2086
    run 2 sample banana $arguments
    says err "$named"
    is_empty out
    ls ./*.csv 2>/dev/null && fail "$arguments: files were written"
done <<END
--chains 0|--chains: "0" is not a whole number from 1 to 100000
--chains -1|--chains: "-1"
--chains 1e30|--chains: "1e30"
--chains 2.5|--chains: "2.5"
--chains abc|--chains: "abc"
--chains 4x|--chains: "4x"
--chains=|--chains: ""
--chains|--chains needs a value
-c 0|-c: "0"
--samples 1e30|--samples: "1e30" is not a whole number from 0 to 1000000000000
--samples -5|--samples: "-5"
--samples 99999999999999999999999|--samples:
--draws x|--draws: "x"
--num-samples x|--num-samples: "x"
--warmup -1|--warmup: "-1"
--tune 1e15|--tune: "1e15"
--warmup 0 --samples 0|nothing is left to do
--seed -1|--seed: "-1"
--seed 1.5|--seed: "1.5"
--seed 18446744073709551616|--seed:
--thin 0|--thin: "0"
--chain-id 0|--chain-id: "0"
--cores 0|--cores: "0"
--lanes 0|--lanes: "0"
--sig-figs 0|--sig-figs: "0"
--sig-figs 99|--sig-figs: "99"
--step-size 0|--step-size: "0"
--step-size -1|--step-size: "-1"
--step-size nan|--step-size: "nan"
--step-size inf|--step-size: "inf"
--step-size 1e999|--step-size: "1e999"
--step-size 0x1p3|--step-size: "0x1p3"
--step-size 1,5|--step-size: "1,5"
--init -1|--init: "-1"
--target-accept 0|--target-accept: "0" is not a number from
--target-accept 1.5|--target-accept: "1.5"
--adapt-delta x|--target-accept: "x"
--cruise 1.5|--cruise: "1.5"
--cruise 0|--cruise: "0"
--mass 0|--mass: "0"
--speed -2|--speed: "-2"
--leapfrog 0|--leapfrog: "0"
--leapfrog 2.5|--leapfrog: "2.5" is not a whole number
--jitter 2|--jitter: "2"
--progress sometimes|not one of auto|bar
--color maybe|not one of auto
--metric round|--metric: "round"
--quiet=perhaps|--quiet: "perhaps" is not true or false
--sampler nothing|--sampler: "nothing" is not one of
--kinetic separable:c=0|c must be in
--kinetic separable:speed=1|has no parameter
--integrator euler|--integrator: "euler"
--sampler sghmc --step-size 0.1 --integrator yoshida|sghmc has no trajectories
--sampler sgld --step-size 0.1 --kinetic separable|--kinetic does nothing here: sgld has no momenta
--sampler sgld --step-size 0.1 --mass 2|--mass does nothing here: sgld has no momenta
--sampler sghmc:lr=0.1 --step-size 7|--step-size and lr= in --sampler sghmc:lr=0.1: give one of them
--checkpoint-every 10s|--checkpoint-every does nothing without --checkpoint FILE
--mass 1 --cruise 0.5|--mass and --cruise exclude each other
--leapfrog 5 --int-time 2|exclude each other
--fix --target-accept 0.9|exclude each other
--kinetic separable:c=2 --speed 3|--speed and c= in --kinetic separable:c=2
--kinetic newtonian --cruise 0.5|newtonian has no parameter cruise
--max-step 2|give --fix and --step-size E
--max-step 2 --step-size 0.5|give --fix and --step-size E
--max-step 2 --speed 1 --fix|exclude each other
--max-step 2 --fix --kinetic newtonian|newtonian has no parameter c
-o draws.zarr|only .csv, .rmc and .nc files
extra|one argument too many
END
ok 'bad values are refused, with exit code 2'

run 2 sample
says err 'MODEL is missing: relmc sample MODEL'
run 2 gradcheck
says err 'MODEL is missing'
ok 'a model is needed'

short='--warmup 20 --no-output -q'
# shellcheck disable=SC2086
for arguments in '--samples 30' '--samples=30' '--samples 3e1' '--draws 30' \
    '--num_samples 30' '--num-samples=30' '--save_warmup --samples 30' \
    '--samples 10 --samples 30' '--no-strict --samples 30'; do
    run 0 sample banana --seed 1 $short $arguments --json
    says out '"draws": 120'
done
# shellcheck disable=SC2086
{
    run 0 sample $short --samples 5 -- banana
    run 0 sample $short --samples 5 -c2 banana
    run 0 sample $short --samples 5 -qc 2 banana --color=never
    run 0 sample $short --samples 5 banana --seed 18446744073709551615
    run 0 sample $short --samples 5 banana --speed '[1,2]' --cruise 0.5 \
        --kinetic separable
    run 0 sample $short --samples 5 banana --fix --step-size 0.5 --max-step 1
    run 0 sample $short --samples 5 banana --leapfrog 3 --jitter 0
    run 0 sample $short --samples 5 banana --sampler ghmc:time=1.5,slice=0
    run 0 sample $short --samples 5 banana --int-time 2 --kinetic relativistic
    run 0 sample $short --samples 5 banana --adapt dual:delta=0.7,t0=5
    run 0 sample $short --samples 5 banana --target-accept 0.7 --integrator blanes
    run 0 sample $short --samples 5 banana --init 0
}
ok 'spellings that are right'
