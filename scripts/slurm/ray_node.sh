#!/usr/bin/env bash
# Ray on this node, for training over several machines.
#
#   ray_node.sh head              start the first node; prints the address the others need
#   ray_node.sh worker ADDRESS    join the node that listens at ADDRESS (host:port)
#   ray_node.sh stop              stop what this script started here
#
# Environment: RAY_PORT (6379), RAY_NODE_IP (the address others reach this node by; default: Ray's own guess),
# RAY_GPUS and RAY_CPUS (what Ray may hand out; default: what it finds), RAY_NODE_STATE (where Ray's session and log lie),
# TOOL_RL_VENV (the environment; default: .venv-gpu, else .venv, in the project).
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
venv="${TOOL_RL_VENV:-$root/.venv-gpu}"
[ -x "$venv/bin/ray" ] || venv="$root/.venv"
ray="$venv/bin/ray"
state="${RAY_NODE_STATE:-/tmp/tool-rl-ray-$(id -u)-${SLURM_JOB_ID:-by-hand}}"

fail() {
  printf 'ray_node: %s\n' "$@" >&2
  exit 1
}
[ -x "$ray" ] || fail "no Ray in $venv" "make the environment first: bash scripts/setup.sh --gpu"

# Without a token anyone who reaches the ports may run code here. The token lies in the project, which all nodes see; it
# is made for this cluster alone and is not the user's own.
export RAY_AUTH_MODE="${RAY_AUTH_MODE:-token}"
export RAY_AUTH_TOKEN_PATH="${RAY_AUTH_TOKEN_PATH:-$root/runs/ray-token-${SLURM_JOB_ID:-by-hand}}"
make_token() {
  [ "$RAY_AUTH_MODE" = token ] && [ ! -s "$RAY_AUTH_TOKEN_PATH" ] || return 0
  mkdir -p "$(dirname "$RAY_AUTH_TOKEN_PATH")"
  (umask 077 && od -An -tx1 -N32 /dev/urandom | tr -d ' \n' >"$RAY_AUTH_TOKEN_PATH")
}

# What runs here as this script's own Ray: its folder stands on the command line of each of its processes.
own_processes() {
  local process
  for process in /proc/[0-9]*; do
    if { tr "\\0" " " <"$process/cmdline"; } 2>/dev/null | grep -qF -- "$state/"; then
      printf '%s\n' "${process#/proc/}"
    fi
  done
}
stop_own() {
  local left
  mapfile -t left < <(own_processes)
  [ "${#left[@]}" -eq 0 ] || kill "${left[@]}" 2>/dev/null || true
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    mapfile -t left < <(own_processes)
    [ "${#left[@]}" -gt 0 ] || return 0
    sleep 1
  done
  kill -9 "${left[@]}" 2>/dev/null || true
}

options=(--disable-usage-stats --temp-dir "$state")
[ -z "${RAY_NODE_IP:-}" ] || options+=(--node-ip-address "$RAY_NODE_IP")
[ -z "${RAY_GPUS:-}" ] || options+=(--num-gpus "$RAY_GPUS")
[ -z "${RAY_CPUS:-}" ] || options+=(--num-cpus "$RAY_CPUS")

case "${1:-}" in
  head)
    port="${RAY_PORT:-6379}"
    make_token
    "$ray" start --head --port "$port" --include-dashboard=false "${options[@]}" >"$state.log" 2>&1 ||
      fail "the head did not start" "$(tail -n 3 "$state.log")" "the whole story: $state.log"
    printf '%s:%s\n' "${RAY_NODE_IP:-$(hostname -I | awk '{print $1}')}" "$port"
    ;;
  worker)
    [ -n "${2:-}" ] || fail "a worker needs the head's address: ray_node.sh worker HOST:PORT"
    "$ray" start --address "$2" "${options[@]}" >"$state.log" 2>&1 ||
      fail "could not join $2" "$(tail -n 3 "$state.log")" "the whole story: $state.log"
    # Under SLURM a step that returns takes its processes along, so stay.
    if [ -n "${SLURM_JOB_ID:-}" ]; then exec sleep infinity; fi
    ;;
  stop)
    stop_own
    if [ -z "${SLURM_JOB_ID:-}" ]; then rm -f "$root/runs/ray-token-by-hand"; fi
    ;;
  *)
    sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
    exit 2
    ;;
esac
