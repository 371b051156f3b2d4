#!/usr/bin/env bash
# Set up what the tests need, then run the whole test suite.
#
#   bash scripts/test.sh                everything
#   bash scripts/test.sh --fast         all but the slow and end-to-end tests (some minutes after set-up)
#   bash scripts/test.sh [--fast] PATH  only the tests under PATH (the other stages run as always)
#
# Stages: set-up, scripts (bash -n, shellcheck where installed), ruff, pyright, architecture, fast tests, slow tests, the
# main job end to end (alone, for it takes every core). A failing stage does not hide the others: every stage up to the
# fast tests runs, and the slow ones run only when all those passed. Exit status 0 only if every stage passed. The whole output of each stage is in runs/test/<stage>.log.
# The slow tests drive a headless Chromium where there is one; as root it is installed from Debian if need be.
set -uo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$root" || exit 1
fast=no
paths=()
for option in "$@"; do
  case "$option" in
    --fast) fast=yes ;;
    -h | --help)
      sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    -*)
      printf 'test: unknown option %s\n  known options: --fast --help\n' "$option" >&2
      exit 2
      ;;
    *) paths+=("$option") ;;
  esac
done

began=$SECONDS
logs="$root/runs/test"
mkdir -p "$logs"
failed=()

bash scripts/setup.sh --dev || exit 1
python="$(bash scripts/setup.sh --print-venv)/bin/python"
unset PYTHONPATH

# stage NAME COMMAND...: one line at the end; the output only if it failed.
stage() {
  local name="$1" start=$SECONDS
  shift
  if "$@" >"$logs/$name.log" 2>&1 </dev/null; then
    printf 'test: %-13s passed in %d s\n' "$name" $((SECONDS - start))
  else
    failed+=("$name")
    tail -n 60 "$logs/$name.log"
    printf 'test: %-13s FAILED in %d s (%s)\n' "$name" $((SECONDS - start)) "$logs/$name.log"
  fi
}

# pytest_stage NAME MARKERS ARGUMENT...: the output is shown as it comes; no test selected is no failure.
pytest_stage() {
  local name="$1" markers="$2" start=$SECONDS status
  shift 2
  printf 'test: %s ...\n' "$name"
  "$python" -m pytest -q -m "$markers" "$@" ${paths[@]+"${paths[@]}"} </dev/null 2>&1 | tee "$logs/$name.log"
  status=${PIPESTATUS[0]}
  if [ "$status" -eq 0 ] || [ "$status" -eq 5 ]; then
    printf 'test: %-13s passed in %d s\n' "$name" $((SECONDS - start))
  else
    failed+=("$name")
    printf 'test: %-13s FAILED in %d s (%s)\n' "$name" $((SECONDS - start)) "$logs/$name.log"
  fi
}

check_scripts() {
  local files=() file
  while IFS= read -r file; do files+=("$file"); done < <(git ls-files '*.sh' '*.sbatch' .ci/run 2>/dev/null || find . -name '*.sh' -not -path './.venv*' -not -path './runs/*')
  for file in "${files[@]}"; do bash -n "$file" || return 1; done
  if command -v shellcheck >/dev/null; then shellcheck "${files[@]}"; else echo "shellcheck is not installed; only bash -n ran"; fi
}

# The tests of pages need a browser; where none can be had they are skipped by name.
if [ "$fast" = no ] && ! command -v chromium >/dev/null && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
  if { timeout 120 apt-get -qq update && DEBIAN_FRONTEND=noninteractive timeout 300 apt-get -qq install -y --no-install-recommends chromium; } \
    >"$logs/chromium.log" 2>&1 </dev/null; then
    printf 'test: installed chromium\n'
  else
    printf 'test: chromium could not be installed; the tests that need it are skipped (%s)\n' "$logs/chromium.log"
  fi
fi

stage scripts check_scripts
stage ruff "$python" -m ruff check .
stage pyright "$python" -m pyright --pythonpath "$python"
stage architecture "$python" -m scripts.check.architecture
pytest_stage fast-tests "not slow and not e2e" -n "$(nproc)" --dist loadfile
if [ "$fast" = yes ]; then
  echo "test: the slow and end-to-end tests were not asked for (--fast)"
elif [ "${#failed[@]}" -gt 0 ]; then
  echo "test: the slow and end-to-end tests were left out, since an earlier stage failed"
else
  pytest_stage slow-tests "slow and not e2e" -n "$(nproc)" --dist loadfile --timeout 900
  pytest_stage end-to-end "e2e" --timeout 1500
fi

if [ "${#failed[@]}" -gt 0 ]; then
  printf 'test: FAILED after %d s: %s\n' $((SECONDS - began)) "${failed[*]}"
  exit 1
fi
printf 'test: all stages passed in %d s\n' $((SECONDS - began))
