#!/usr/bin/env bash
# The main job: set up what it needs, then train and evaluate a tool caller on the hardware it finds.
#
#   bash training/launch/run.sh                          the profile that fits this machine
#   bash training/launch/run.sh --profile cpu_tiny       a named profile
#   bash training/launch/run.sh --dry-run                check everything, print the plan, start nothing
#   bash training/launch/run.sh --fresh                  a new run directory; nothing is ever deleted
#   bash training/launch/run.sh tool_rl.seed=2           any Hydra key=value
#   LEARNING_RATE=2e-6 ROLLOUT_N=8 bash training/launch/run.sh
#
# Works from any directory. Given again after an interruption it continues; after the end it does nothing.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"

kind=--cpu
previous=
for word in "$@"; do
  case "$word" in
    -h | --help)
      sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    --profile=gpu* | --profile=multinode | profile=gpu* | profile=multinode) kind=--gpu ;;
    --profile=* | profile=*) kind=--chosen ;;
  esac
  if [ "$previous" = --profile ]; then
    case "$word" in gpu* | multinode) kind=--gpu ;; *) kind=--chosen ;; esac
  fi
  previous="$word"
done
# No profile named: the packages follow the hardware, as the profile will.
if [ "$kind" = --cpu ] && [ "${CUDA_VISIBLE_DEVICES-unset}" != "" ] && [ "${CUDA_VISIBLE_DEVICES-}" != -1 ] &&
  command -v nvidia-smi >/dev/null 2>&1 && [ -n "$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null)" ]; then
  kind=--gpu
fi
[ "$kind" = --gpu ] || kind=--cpu

# A dry run of a GPU profile needs no GPU packages: the CPU set checks it just as well where it is there already.
case " $* " in
  *" --dry-run "*)
    if [ "$kind" = --gpu ] && [ ! -x "$(bash "$root/scripts/setup.sh" --gpu --print-venv)/bin/python" ]; then
      kind=--cpu
    fi
    ;;
esac

bash "$root/scripts/setup.sh" "$kind"
venv="$(bash "$root/scripts/setup.sh" "$kind" --print-venv)"

if [ "$(ulimit -n)" != unlimited ] && [ "$(ulimit -n)" -lt 65535 ]; then
  ulimit -n 65535 2>/dev/null || ulimit -n "$(ulimit -Hn)" 2>/dev/null || true
fi
unset PYTHONHOME PYTHONSTARTUP
export PYTHONPATH="$root"
# -P: a folder called scripts where you stand must not be taken for ours.
exec "$venv/bin/python" -P -m scripts.cli run "$@"
