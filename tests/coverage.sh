#!/usr/bin/env bash
# Which share of the lines of each room the tests run: builds the preset `coverage`, runs CTest and
# prints a table.
#
#   tests/coverage.sh [--figures] [CTEST-ARGUMENT...]
#
#   --figures   only print the table of what has been run so far
#
# CUDA sources (*.cu) are not compiled and not counted. The lines that were not run are listed in
# build-coverage/not-run.txt.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build="build-coverage"
if [ "${1:-}" = --figures ]; then
  shift
else
  cmake --preset coverage
  cmake --build --preset coverage
  find "$build" -name '*.gcda' -delete
  ctest --test-dir "$build" -j "$(nproc)" --output-on-failure "$@" ||
    echo "coverage: some tests failed; the figures are of what ran" >&2
fi

# A header's line counts as run if it was in any file that includes it. What no test loaded counts too.
find "$build/CMakeFiles" -name '*.gcno' -print0 | (cd "$build" && sed -z "s|^$build/||" |
  xargs -0 -n 50 gcov --json-format --stdout 2>gcov.log) | python3 -c '
import json, os, sys
rooms = [line.split(":")[0] for line in open("rooms.txt") if not line.startswith(("cli", "viewer/web", "python"))]
lines, root = {}, os.getcwd() + "/"
for text in sys.stdin:
    for file in json.loads(text)["files"]:
        name = file["file"]
        room = name[len(root):].partition("/")[0]
        if name.startswith(root) and room in [*rooms, "viewer", "cli"]:
            counts = lines.setdefault((room, name[len(root):]), {})
            for line in file["lines"]:
                number = line["line_number"]
                counts[number] = counts.get(number, False) or line["count"] > 0
def row(name, those):
    found = [run for (room, _), counts in lines.items() if room in those for run in counts.values()]
    if found:
        print(f"| {name} | {len(found):,} | {100 * sum(found) / len(found):.1f} % |")
print("| room | lines | run by the tests |\n|---|---|---|")
for room in rooms:
    row(room, [room])
row("**the library**", rooms)
row("viewer", ["viewer"])
row("cli", ["cli"])
with open("build-coverage/not-run.txt", "w") as listed:
    for (_, name), counts in sorted(lines.items()):
        listed.writelines(f"{name}:{number}\n" for number, run in sorted(counts.items()) if not run)
'
