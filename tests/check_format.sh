#!/usr/bin/env bash
# Every C, C++ and CUDA file is as .clang-format lays it out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mapfile -t files < <(find . -path './build*' -prune -o \( -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.cu' \) -print)
clang-format --dry-run --Werror "${files[@]}"
echo "formatting: ${#files[@]} files checked"
