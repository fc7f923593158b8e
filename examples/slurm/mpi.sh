#!/bin/sh
# mpi.sh - one run in many processes, on one machine or several; when its time is
# up it asks for its own continuation.  sbatch mpi.sh
#SBATCH --job-name=relmc
#SBATCH --ntasks=16
#SBATCH --cpus-per-task=1
#SBATCH --time=4:00:00
#SBATCH --signal=USR1@180
set -u

if [ -e run.ckpt ]; then
    set -- resume run.ckpt
else
    set -- sample logistic --data data.csv --chains 16 --samples 1e6 \
        --checkpoint run.ckpt --checkpoint-every 5m -o runs/a
fi

# SIGUSR1 comes three minutes before the end, to all processes; the first of them
# ends the run, and srun returns its exit code: 75 if there is more to do.
srun relmc-mpi "$@" --progress none
code=$?
[ $code -ne 75 ] || sbatch "$0"
exit $code
