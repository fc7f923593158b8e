#!/bin/sh
# array.sh - many chains without MPI: every task of an array makes four of its own,
# with a warm-up of its own, and asks for its continuation by itself.
#     sbatch array.sh; later: relmc summary runs/a*.csv
#SBATCH --job-name=relmc
#SBATCH --array=1-8
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=4
#SBATCH --time=4:00:00
#SBATCH --signal=B:USR1@180
set -u

task=$SLURM_ARRAY_TASK_ID
chains=4
if [ -e "run$task.ckpt" ]; then
    set -- resume "run$task.ckpt"
else
    # one seed for all, and numbers of chains that occur once
    set -- sample logistic --data data.csv --samples 1e6 --seed 1 \
        --chains $chains --chain-id $((chains * (task - 1) + 1)) \
        --checkpoint "run$task.ckpt" --checkpoint-every 5m -o "runs/a$task"
fi

relmc "$@" --progress none --cores $chains &
trap 'kill -USR1 $!' USR1
code=75
while kill -0 $! 2>/dev/null; do
    wait $!
    code=$?
done
[ $code -ne 75 ] || sbatch --array="$task" "$0"
exit $code
