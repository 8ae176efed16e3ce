#!/usr/bin/env bash
# usage: run_fuzzers.sh BUILD_DIR RUNS: every fuzz target, RUNS inputs each from a
# fixed seed, starting with the example files. Stops at the first finding.
set -euo pipefail
build=$1
runs=$2
cd "$(dirname "${BASH_SOURCE[0]}")/.."
for target in "$build"/tests/fuzz_*; do
  if [ ! -f "$target" ] || [ ! -x "$target" ]; then continue; fi
  corpus=$(mktemp -d)
  seeds=tests/fuzz/seeds/$(basename "$target")
  [ -d "$seeds" ] && cp "$seeds"/* "$corpus"
  log=$corpus.log
  if ! "$target" -runs="$runs" -seed=1 -max_len=4096 -rss_limit_mb=4096 -timeout=20 \
      -artifact_prefix="$corpus/" "$corpus" >"$log" 2>&1; then
    tail -n 60 "$log"
    echo "$(basename "$target"): a finding, see $corpus" >&2
    exit 1
  fi
  echo "$(basename "$target"): $runs inputs, nothing found"
  rm -rf "$corpus" "$log"
done
