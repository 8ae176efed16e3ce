#!/usr/bin/env bash
# clang-tidy over every C file of the tree that a build compiles, by the checks of .clang-tidy.
# usage: tests/check_tidy.sh [--analyze] BUILD_FOLDER
# --analyze: the static analyser too, which takes minutes and has some false alarms
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
checks=
if [ "${1:-}" = --analyze ]; then
  checks='clang-analyzer-*,-clang-analyzer-security.insecureAPI.*,-clang-analyzer-optin.*'
  shift
fi
build=${1:?"usage: tests/check_tidy.sh [--analyze] BUILD_FOLDER"}
mapfile -t files < <(sed -n 's/^ *"file": "\(.*\.c\)",\{0,1\}$/\1/p' "$build/compile_commands.json" | grep -v "^$(realpath "$build")/" | sort -u)
if [ "${#files[@]}" -eq 0 ]; then
  echo "check_tidy: $build/compile_commands.json names no C file" >&2
  exit 1
fi
# Each process takes some files. It prints the number of warnings outside the project to stderr.
printf '%s\0' "${files[@]}" |
  xargs -0 -n 8 -P "$(nproc)" clang-tidy --quiet ${checks:+"--checks=$checks"} -p "$build" 2>/dev/null
echo "clang-tidy: ${#files[@]} files checked"
