#!/usr/bin/env bash
# Make the environment this project runs in: a folder .venv with every package pinned.
#
#   bash scripts/setup.sh              what the CPU profiles need, in .venv
#   bash scripts/setup.sh --dev        and the tools of scripts/test.sh
#   bash scripts/setup.sh --gpu        what the GPU profiles need, in .venv-gpu
#   bash scripts/setup.sh --print-venv print where the environment is (or would be) and do nothing
#
# Safe to call again at any time: what is done is skipped (well under a second), what was interrupted continues,
# and two calls at once take turns. Environment variables:
#
#   PYTHON                the interpreter to use, 3.11 or 3.12 (default: the first suitable one found)
#   TOOL_RL_VENV          where to make the environment (default: .venv or .venv-gpu in the project)
#   TOOL_RL_TORCH_INDEX   an index address or a folder with a CPU build of torch; without it pip takes the build its
#                         own index offers, which for most is the CUDA one: it works, and is some GB larger
#   TOOL_RL_MIN_DISK_GB   free disk asked for before the first install (default: 8; 30 with --gpu)
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
here="$root/scripts"
kind=cpu
dev=no
print_venv=no

say() { printf 'setup: %s\n' "$*"; }
die() {
  printf 'setup: %s\n' "$1" >&2
  shift
  [ "$#" -eq 0 ] || printf '  %s\n' "$@" >&2
  exit 1
}

for option in "$@"; do
  case "$option" in
    --cpu) kind=cpu ;;
    --gpu) kind=gpu ;;
    --dev) dev=yes ;;
    --print-venv) print_venv=yes ;;
    -h | --help)
      sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *)
      printf 'setup: unknown option %s\n  known options: --cpu --gpu --dev --print-venv --help\n' "$option" >&2
      exit 2
      ;;
  esac
done

venv="$root/.venv"
[ "$kind" = cpu ] || venv="$root/.venv-$kind"
venv="${TOOL_RL_VENV:-$venv}"
case "$venv" in /*) ;; *) venv="$PWD/$venv" ;; esac
if [ "$print_venv" = yes ]; then
  printf '%s\n' "$venv"
  exit 0
fi

lock="$here/requirements/$kind.txt"
dev_lock="$here/requirements/dev.txt"
log="$venv/setup.log"
stamps="$venv/.stamps"
pip_version=26.3

# A stamp holds what its step was made from; a step whose stamp says the same is done.
packages_state="$kind $(cksum <"$lock") pip $pip_version"
dev_state="$(cksum <"$dev_lock")"
project_state="$root $(cksum <"$root/pyproject.toml")"
done_before() { [ "$(cat "$stamps/$1" 2>/dev/null)" = "$2" ]; }
mark_done() {
  mkdir -p "$stamps"
  printf '%s\n' "$2" >"$stamps/.new"
  mv "$stamps/.new" "$stamps/$1"
}
all_done() {
  [ -x "$venv/bin/python" ] && done_before place "$venv" && done_before packages "$packages_state" && done_before project "$project_state" &&
    { [ "$dev" = no ] || done_before dev "$dev_state"; }
}
if all_done; then
  say "ready: $venv"
  exit 0
fi

mkdir -p "$(dirname "$venv")" 2>/dev/null || die "cannot make $(dirname "$venv")" "choose another place: TOOL_RL_VENV=/path bash scripts/setup.sh"
[ -w "$(dirname "$venv")" ] || die "cannot write to $(dirname "$venv")" "choose another place: TOOL_RL_VENV=/path bash scripts/setup.sh"
if command -v flock >/dev/null; then
  exec 9>"$venv.lock"
  if ! flock -n 9; then
    say "another set-up of $venv is running; waiting for it"
    flock 9
  fi
  if all_done; then
    say "ready: $venv"
    exit 0
  fi
fi

# Prints "ok", or in words why this interpreter will not do.
judge_python() {
  "$1" - <<'EOF' 2>/dev/null || printf 'does not start'
import sys
version = "%d.%d.%d" % sys.version_info[:3]
if not (3, 11) <= sys.version_info[:2] < (3, 13):
    print("is %s" % version)
else:
    try:
        import ensurepip, venv
        print("ok")
    except ImportError:
        print("is %s, but lacks its venv module (Debian: apt-get install python3.%d-venv)" % (version, sys.version_info[1]))
EOF
}

find_python() {
  local tried=() candidate path verdict
  if [ -n "${PYTHON:-}" ]; then
    set -- "$PYTHON"
  else
    set -- python3.11 python3.12 python3 python "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[12].*/bin/python \
      "$HOME"/.local/share/uv/python/cpython-3.1[12]*/bin/python3
  fi
  for candidate in "$@"; do
    path="$(command -v "$candidate" || true)"
    [ -n "$path" ] || continue
    verdict="$(judge_python "$path")"
    if [ "$verdict" = ok ]; then
      printf '%s\n' "$path"
      return
    fi
    tried+=("$path $verdict")
  done
  [ "${#tried[@]}" -gt 0 ] || tried=("${PYTHON:-none of python3.11 python3.12 python3 python} is on the PATH")
  die "needs Python 3.11 or 3.12, and found none that will do" "${tried[@]}" \
    "Install one (Debian: apt-get install python3.11 python3.11-venv), or name one: PYTHON=/path/to/python3.12 bash scripts/setup.sh"
}

check_disk() {
  local default=8 need free
  [ "$kind" = cpu ] || default=30
  need="${TOOL_RL_MIN_DISK_GB:-$default}"
  free="$(df -Pk "$(dirname "$venv")" | awk 'NR == 2 {print int($4 / 1048576)}')"
  [ "$free" -ge "$need" ] || die "needs $need GB of free disk in $(dirname "$venv"), and $free GB are free" \
    "Free some space (pip cache purge may help), or choose another place: TOOL_RL_VENV=/path bash scripts/setup.sh" \
    "If you know that less will do: TOOL_RL_MIN_DISK_GB=$free bash scripts/setup.sh"
}

# Runs a command with its output in the log; on a terminal shows how far the downloads are.
logged() {
  local total="$1" start now count
  shift
  printf '\n==> %s\n' "$*" >>"$log"
  "$@" >>"$log" 2>&1 </dev/null &
  local job=$!
  trap 'kill "$job" 2>/dev/null; exit 130' INT
  trap 'kill "$job" 2>/dev/null; exit 143' TERM
  if [ -t 1 ] && [ "$total" -gt 0 ]; then
    start="$(grep -c '^Collecting' "$log" || true)"
    while kill -0 "$job" 2>/dev/null; do
      count="$(grep -c '^Collecting' "$log" || true)"
      now=$((count - start))
      printf '\rsetup:   %d of %d packages fetched ' "$now" "$total"
      sleep 1
    done
    printf '\r\033[K'
  fi
  local status=0
  wait "$job" || status=$?
  trap - INT TERM
  return "$status"
}

pip_install() {
  logged "$1" "$venv/bin/python" -m pip install --no-input --progress-bar off "${@:2}"
}

# A download that fails is tried once more; then one message says what to do.
install_or_die() {
  local what="$1" began=$SECONDS
  shift
  say "installing $what"
  if ! pip_install "$@"; then
    say "  that failed; trying once more"
    sleep 3
    pip_install "$@" || die "could not install $what" \
      "$(grep -E '^ *(ERROR|error):|No space left|Connection|timed out' "$log" | tail -n 3 | sed '2,$s/^/  /')" \
      "The whole story: $log" \
      "Check the network and the disk, then give the same command again: it continues where it stopped." \
      "Behind a mirror or a proxy, tell pip by PIP_INDEX_URL, PIP_CERT and HTTPS_PROXY."
  fi
  say "  done in $((SECONDS - began)) s"
}

make_venv() {
  local python
  if [ -e "$stamps/place" ] && ! done_before place "$venv"; then
    say "$venv was moved or copied here, and its commands name the old place: making it anew"
  elif [ -x "$venv/bin/python" ] && "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    return
  fi
  if [ -e "$venv" ] && [ ! -e "$venv/pyvenv.cfg" ] && [ -n "$(ls -A "$venv")" ]; then
    die "$venv exists and is no Python environment; it was left alone" "move it away, or choose another place with TOOL_RL_VENV"
  fi
  python="$(find_python)"
  check_disk
  say "making $venv with $("$python" --version) ($python)"
  "$python" -m venv --clear "$venv" >"$venv.log" 2>&1 || die "could not make $venv" "$(tail -n 2 "$venv.log")" "The whole story: $venv.log"
  mv "$venv.log" "$log"
  mark_done place "$venv"
}

install_packages() {
  local torch index=() todo
  torch="$(grep -m 1 '^torch==' "$lock")"
  if [ "$("$venv/bin/python" -c 'import pip; print(pip.__version__)')" != "$pip_version" ]; then
    install_or_die "pip $pip_version" 0 "pip==$pip_version"
  fi
  todo="$venv/to-install.txt"
  "$venv/bin/python" "$here/check/installed.py" "$lock" >"$todo"
  if grep -q '^torch==' "$todo"; then
    case "${TOOL_RL_TORCH_INDEX:-}" in
      "") ;;
      *://*) index=(--extra-index-url "$TOOL_RL_TORCH_INDEX") ;;
      *) index=(--find-links "$TOOL_RL_TORCH_INDEX") ;;
    esac
    # Under --no-deps torch would lack the libraries its CUDA builds need, hence an ordinary resolve for it alone.
    grep -E '^[A-Za-z]' "$lock" | grep -v '^torch==' >"$todo.bounds"
    install_or_die "$torch" 0 --constraint "$todo.bounds" "${index[@]}" "$torch"
    "$venv/bin/python" "$here/check/installed.py" "$lock" >"$todo"
  fi
  if [ -s "$todo" ]; then
    # --ignore-installed: a package cut short by an interruption can't be uninstalled, only written over.
    grep -E '^setuptools==' "$todo" >"$todo.first" && pip_install 0 --no-deps --ignore-installed -r "$todo.first"
    install_or_die "$(wc -l <"$todo") packages" "$(wc -l <"$todo")" --no-deps --no-build-isolation --ignore-installed -r "$todo"
  fi
  # verl and TransferQueue both ship a stray top-level package named scripts, which would hide ours.
  rm -rf "$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/scripts"
  mark_done packages "$packages_state"
}

install_dev() {
  local todo="$venv/to-install.txt"
  "$venv/bin/python" "$here/check/installed.py" "$dev_lock" >"$todo"
  [ ! -s "$todo" ] || install_or_die "$(wc -l <"$todo") tools" "$(wc -l <"$todo")" --no-deps --ignore-installed -r "$todo"
  mark_done dev "$dev_state"
}

export PIP_RETRIES="${PIP_RETRIES:-5}" PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PYTHONNOUSERSITE=1
unset PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX PIP_USER PIP_REQUIRE_HASHES

make_venv
done_before packages "$packages_state" || install_packages
[ "$dev" = no ] || done_before dev "$dev_state" || install_dev
if ! done_before project "$project_state"; then
  install_or_die "the project itself" 0 --no-deps --no-build-isolation --config-settings editable_mode=compat --editable "$root"
  mark_done project "$project_state"
fi
say "ready: $venv"
