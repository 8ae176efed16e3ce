#!/usr/bin/env bash
# Which share of the lines of each room the tests run: builds the preset `coverage`, runs CTest and
# prints gcovr's figures.
#
#   tests/coverage.sh [--figures] [CTEST-ARGUMENT...]
#
#   --figures   only print the figures of what has been run so far
#
# Needs gcovr. The library is base jfa lbfgsb lcp meshes density cvt; the viewer and the program are
# listed beside it. CUDA sources (*.cu) are not compiled and not counted. A list of all lines that
# were not run is written to build-coverage/coverage/index.html.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build="build-coverage"
if [ "${1:-}" = --figures ]; then
  shift
else
  cmake --preset coverage
  cmake --build --preset coverage
  find "$build" -name '*.gcda' -delete
  # Barriers that spin would hold up tests that run side by side.
  OMP_WAIT_POLICY=passive ctest --test-dir "$build" -j "$(nproc)" --output-on-failure "$@" ||
    echo "coverage: some tests failed; the figures are of what ran" >&2
fi

# Negative counts of branches that gcov writes are no matter here.
gcovr --root . --gcov-ignore-parse-errors "$build/CMakeFiles" --json "$build/lines.json" \
  2>"$build/gcovr.log" || { tail -n 20 "$build/gcovr.log" >&2; exit 1; }

figures() { # NAME ROOM...
  local name=$1 room filters=()
  shift
  for room in "$@"; do filters+=(--filter "$room/"); done
  gcovr --root . -a "$build/lines.json" "${filters[@]}" --json-summary "$build/$name.json"
  python3 - "$name" "$build/$name.json" <<'PY'
import json, sys
found = json.load(open(sys.argv[2]))
print("%-8s %6d of %6d lines  %5.1f %%" % (sys.argv[1], found["line_covered"],
                                          found["line_total"], found["line_percent"]))
PY
}

library=(base jfa lbfgsb lcp meshes density cvt)
for room in "${library[@]}" viewer cli; do figures "$room" "$room"; done
figures library "${library[@]}"
mkdir -p "$build/coverage"
gcovr --root . -a "$build/lines.json" --html-details "$build/coverage/index.html"
