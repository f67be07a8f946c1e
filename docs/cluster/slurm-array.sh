#!/bin/bash
# Tags rows.jsonl in eight parts: sbatch slurm-array.sh, then erreval merge part*.jsonl -o tagged.jsonl (docs/cluster.md).
#SBATCH --job-name=erreval
#SBATCH --array=1-8
#SBATCH --cpus-per-task=4
#SBATCH --mem=1G
#SBATCH --requeue
#SBATCH --signal=TERM@60
# With GPUs: #SBATCH --gpus-per-task=1, and --device cuda below.
set -u

part=$SLURM_ARRAY_TASK_ID parts=8 # as --array
srun --kill-on-bad-exit=0 erreval identify rows.jsonl --shard "$part/$parts" -o "part$part.jsonl" --resume --quiet \
  --workers "${SLURM_CPUS_PER_TASK:-4}"
code=$?
case $code in
  0 | 3) exit 0 ;;          # 3: finished, and some rows are untagged or lines rejected
  2 | 4 | 6) exit "$code" ;; # the same again would fail again
esac
# Anything else may pass: a full disk, a lost node, an interruption. Three tries.
if [ "${SLURM_RESTART_COUNT:-0}" -lt 3 ]; then
  scontrol requeue "${SLURM_ARRAY_JOB_ID}_$part"
fi
exit "$code"
