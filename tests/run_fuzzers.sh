#!/usr/bin/env bash
# usage: run_fuzzers.sh BUILD_DIR [--hour | SECONDS]
#
# Runs every fuzz target in BUILD_DIR/tests on its seeds. Without a time: a fixed number of
# inputs from a fixed seed each, as many targets at a time as there are cores. --hour or SECONDS: all targets
# together take that long, each on one core after the other; the seed is the time. Inputs that
# reach new code are kept in BUILD_DIR/corpus. Stops at the first finding, which is a crash, a leak,
# undefined behaviour, 25 seconds or 2 GB for one input.
set -euo pipefail
build=$(cd "$1" && pwd)
budget=${2:-}
[ "$budget" = --hour ] && budget=3600
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LSAN_OPTIONS=suppressions=$PWD/tests/fuzz/lsan.supp:print_suppressions=0

targets=()
for target in "$build"/tests/fuzz_*; do
  if [ -f "$target" ] && [ -x "$target" ]; then targets+=("$target"); fi
done
if [ "${#targets[@]}" -eq 0 ]; then
  echo "$build/tests: no fuzz targets" >&2
  exit 2
fi

# Those whose inputs take longest get fewer.
runs_of() {
  case $1 in
    fuzz_labels | fuzz_checkpoint) echo 600 ;;
    fuzz_triangulate) echo 3000 ;;
    fuzz_job_list | fuzz_journal | fuzz_polygon) echo 6000 ;;
    *) echo 30000 ;;
  esac
}

run_target() {
  local target=$1 name corpus log limit
  name=$(basename "$target")
  log=$(mktemp)
  if [ -n "$budget" ]; then
    corpus=$build/corpus/$name
    mkdir -p "$corpus"
    limit=(-max_total_time=$((budget / ${#targets[@]})) -print_final_stats=1)
  else
    corpus=$(mktemp -d)
    limit=(-runs="$(runs_of "$name")" -seed=1)
  fi
  if ! OMP_NUM_THREADS=1 "$target" "${limit[@]}" -max_len=4096 -rss_limit_mb=2048 -timeout=25 \
    -artifact_prefix="$build/$name-" "$corpus" "tests/fuzz/seeds/$name" >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    echo "$name: a finding, kept as $build/$name-*; log: $log" >&2
    return 1
  fi
  echo "$name: $(grep -o 'Done .*' "$log"), $(grep -o 'cov: [0-9]* ft: [0-9]*' "$log" | tail -n 1)"
  rm -f "$log"
  if [ -z "$budget" ]; then rm -rf "$corpus"; fi
}

if [ -n "$budget" ]; then
  for target in "${targets[@]}"; do run_target "$target"; done
else
  waiting=()
  for target in "${targets[@]}"; do
    if [ "${#waiting[@]}" -ge "$(nproc)" ]; then
      wait "${waiting[0]}"
      waiting=("${waiting[@]:1}")
    fi
    run_target "$target" &
    waiting+=($!)
  done
  for job in "${waiting[@]}"; do wait "$job"; done
fi
