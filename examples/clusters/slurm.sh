#!/bin/bash
#SBATCH --nodes=8 --ntasks-per-node=1 --exclusive --time=24:00:00 --signal=B:TERM@120
source /shared/environment/bin/activate
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export RAY_ADDRESS="$first:6379"

srun --nodes=1 --ntasks=1 -w "$first" ray start --head --port=6379 --block &
head=$!
for _ in {1..30}; do                     # wait until the head answers
  ray status >/dev/null 2>&1 && break
  kill -0 "$head" || exit 1
  sleep 1
done
if [ "$SLURM_NNODES" -gt 1 ]; then       # the run uses the other nodes as they join
  srun --nodes=$((SLURM_NNODES - 1)) --ntasks=$((SLURM_NNODES - 1)) -x "$first" \
    ray start --address="$RAY_ADDRESS" --block &
fi

trap 'kill -TERM "$run"; wait "$run"' TERM   # before the time limit: stop in order
curate run recipe.yaml --executor streaming & run=$!
wait "$run"
