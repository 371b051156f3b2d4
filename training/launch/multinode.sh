#!/usr/bin/env bash
# Start one machine's part of the Ray cluster that profile `multinode` trains on.
#
#   on the first machine    bash training/launch/multinode.sh head
#   on every other one      RAY_ADDRESS=HEAD:6379 bash training/launch/multinode.sh worker
#   then, on the first      RAY_ADDRESS=HEAD:6379 NNODES=2 bash training/launch/run.sh --profile multinode
#   at the end, everywhere  bash training/launch/multinode.sh stop
#
# Variables: NODE_IP (this machine's address in the cluster's network; default: the first of `hostname -I`),
# RAY_PORT (6379), N_GPUS_PER_NODE (8), TOOL_RL_LOGICAL_CPUS (what Ray may hand out; default: the cores).
# The repository and the run directory must lie on storage that all machines share, under one path.
# Ray's ports have no password: use a closed network.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
usage() { sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }

role="${1:-}"
case "$role" in
  head | worker | stop) ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac

kind=--gpu
[ "${N_GPUS_PER_NODE:-8}" != 0 ] && command -v nvidia-smi >/dev/null 2>&1 || kind=--cpu
bash "$root/scripts/setup.sh" "$kind"
ray="$(bash "$root/scripts/setup.sh" "$kind" --print-venv)/bin/ray"
export PYTHONPATH="$root" RAY_USAGE_STATS_ENABLED=0

address="${NODE_IP:-$(hostname -I | awk '{print $1}')}"
port="${RAY_PORT:-6379}"
common=(--node-ip-address "$address" --num-gpus "${N_GPUS_PER_NODE:-8}" --disable-usage-stats)
[ -z "${TOOL_RL_LOGICAL_CPUS:-}" ] || common+=(--num-cpus "$TOOL_RL_LOGICAL_CPUS")

case "$role" in
  head)
    "$ray" start --head --port "$port" --include-dashboard false "${common[@]}"
    printf 'head ready. On the other machines: RAY_ADDRESS=%s:%s bash training/launch/multinode.sh worker\n' "$address" "$port"
    ;;
  worker)
    if [ -z "${RAY_ADDRESS:-}" ]; then
      printf 'multinode: RAY_ADDRESS is not set\n  give the head'"'"'s address: RAY_ADDRESS=HEAD:%s bash training/launch/multinode.sh worker\n' "$port" >&2
      exit 2
    fi
    "$ray" start --address "$RAY_ADDRESS" "${common[@]}"
    ;;
  stop) "$ray" stop ;;
esac
