#!/usr/bin/env bash
# Builds and tests the CUDA side on a machine with a GPU, and runs the benchmarks.
#
#   tests/on_gpu.sh [--packages DIR] [--sanitize] [--bench] [--output DIR]
#
#   --packages DIR   unpack DIR/*.deb beside the system (for machines without a registry)
#   --sanitize       run the GPU tests under compute-sanitizer too (memcheck, racecheck)
#   --bench          run the benchmarks and write their tables to the output folder
#   --output DIR     where logs and tables go (default: out)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages='' sanitize='' bench='' output=out
while [ $# -gt 0 ]; do
  case "$1" in
    --packages) packages=$(realpath "$2"); shift ;;
    --sanitize) sanitize=yes ;;
    --bench) bench=yes ;;
    --output) output=$2; shift ;;
    *) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
  shift
done
mkdir -p "$output"

options=(-DCMAKE_CUDA_ARCHITECTURES=native)
if [ -n "$packages" ]; then
  beside=$(mktemp -d)
  for package in "$packages"/*.deb; do dpkg -x "$package" "$beside"; done
  libraries=$beside/usr/lib/$(gcc -print-multiarch)
  sed -i "s|/usr/|$beside/usr/|g; s|^prefix=/usr$|prefix=$beside/usr|" "$libraries"/pkgconfig/*.pc
  export PKG_CONFIG_PATH=$libraries/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
  export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export CMAKE_PREFIX_PATH=$beside/usr${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}
fi

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
cmake --preset cuda "${options[@]}" >"$output/configure.log" || { cat "$output/configure.log"; exit 1; }
cmake --build --preset cuda >"$output/build.log" || { tail -n 60 "$output/build.log"; exit 1; }

status=0
ctest --preset cuda -L gpu --output-log "$output/ctest.log" || status=1

if [ -n "$sanitize" ]; then
  for tool in memcheck racecheck; do
    for test in build-cuda/tests/test_*; do
      if [ ! -x "$test" ] || [ ! -f "$test" ]; then continue; fi
      log=$output/$tool-$(basename "$test").log
      # Small sizes: the tests read CVTMESH_TEST_SMALL where the full ones would take long.
      if CVTMESH_TEST_DEVICE=cuda CVTMESH_TEST_SMALL=1 timeout 240 compute-sanitizer \
          --tool "$tool" --error-exitcode 9 "$test" >"$log" 2>&1; then
        echo "$tool $(basename "$test"): clean"
      else
        code=$?
        if [ "$code" -eq 77 ]; then continue; fi
        echo "$tool $(basename "$test"): exit $code"
        tail -n 15 "$log"
        status=1
      fi
    done
  done
fi

if [ -n "$bench" ]; then
  for program in build-cuda/bench/bench_*; do
    if [ ! -x "$program" ] || [ ! -f "$program" ]; then continue; fi
    "$program" --device cuda | tee "$output/$(basename "$program").md" || status=1
  done
fi
exit $status
