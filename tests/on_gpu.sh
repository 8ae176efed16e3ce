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

# compute-sanitizer TOOL NAME COMMAND...: one line of outcome, the log in the output folder
sanitized() {
  local tool=$1 name=$2 log=$output/$1-$2.log
  shift 2
  if timeout 300 compute-sanitizer --tool "$tool" --error-exitcode 9 "$@" >"$log" 2>&1; then
    echo "$tool $name: $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$log" | sed 's/=* *//')"
  else
    echo "$tool $name: exit $?"
    tail -n 15 "$log"
    status=1
  fi
}

if [ -n "$sanitize" ]; then
  export CVTMESH_TEST_DEVICE=cuda
  ctest --preset cuda -N -L gpu | sed -n 's/.*: \(test_[a-z0-9_]*\)_cuda$/\1/p' >"$output/gpu-tests"
  while read -r name; do
    sanitized memcheck "$name" "build-cuda/tests/$name"
  done <"$output/gpu-tests"
  # Racecheck is slow, so it watches every kernel at work on a small picture.
  program=build-cuda/cvtmesh
  tiny=$output/tiny.pgm
  { printf 'P2\n24 20\n255\n'; seq 0 479 | awk '{print ($1 * 7) % 200}'; } >"$tiny"
  small=(--device cuda -q --iterations 12 -n 60)
  sanitized racecheck exact $program run "$tiny" "${small[@]}" -o "$output/tiny.csv"
  sanitized racecheck periodic $program run "$tiny" "${small[@]}" --periodic -o "$output/tiny-p.csv"
  sanitized racecheck pixel $program run "$tiny" "${small[@]}" --energy pixel -o "$output/tiny-x.csv"
  sanitized racecheck one-site $program run "$tiny" --device cuda -q -n 1 -o "$output/tiny-1.csv"
  for method in jfa 1+jfa jfa+1 jfa+2 jfa2 exact; do
    sanitized racecheck "voronoi-$method" $program voronoi "$output/tiny.csv" --device cuda -q \
      --width 24 --height 20 --method "$method" -o "$output/tiny.npy"
  done
fi

if [ -n "$bench" ]; then
  for program in build-cuda/bench/bench_*; do
    if [ ! -x "$program" ] || [ ! -f "$program" ]; then continue; fi
    "$program" --device cuda | tee "$output/$(basename "$program").md" || status=1
  done
fi
exit $status
