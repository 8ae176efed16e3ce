#!/usr/bin/env bash
# Every C and CUDA file is as .clang-format lays it out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
git ls-files -z '*.c' '*.h' '*.cu' | xargs -0 clang-format --dry-run --Werror
echo "formatting: $(git ls-files '*.c' '*.h' '*.cu' | wc -l) files checked"
