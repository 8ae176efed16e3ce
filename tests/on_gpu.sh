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

# sanitized TOOL NAME COMMAND...: one line of outcome, the log in the output folder; up to $at_a_time
# side by side. The host drives the loops: racecheck cannot follow graphs with conditions, and memcheck
# has told of errors in them that came and went between runs. A solver that stops at its limit exits
# with 4: that is no failure of the check.
sanitized() {
  local tool=$1 name=$2 log=$output/$1-$2.log checks=(--error-exitcode 9)
  shift 2
  # Some tests provoke errors of the API, and see that they are told.
  if [ "$tool" = memcheck ]; then checks+=(--report-api-errors no); fi
  while [ "$(jobs -rp | wc -l)" -ge "$at_a_time" ]; do wait -n || true; done
  {
    local code=0
    timeout 900 compute-sanitizer --tool "$tool" "${checks[@]}" "$@" >"$log" 2>&1 || code=$?
    echo "$tool $name: exit $code, $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$log" | sed 's/=* *//')"
    if [ $code -ne 0 ] && [ $code -ne 4 ]; then
      echo "$tool $name" >>"$output/failed"
      tail -n 15 "$log"
    fi
  } &
}

if [ -n "$sanitize" ]; then
  rm -f "$output/failed"
  export CVTMESH_HOST_LOOPS=1
  ctest --preset cuda -N -L gpu | sed -n 's/.*: \(test_[a-z0-9_]*\)_cuda$/\1/p' >"$output/gpu-tests"
  # Whole tests run alone and to the end: with twelve processes on one device tests failed under
  # memcheck that pass alone, and a timeout does not end its children.
  at_a_time=1
  while read -r name; do
    CVTMESH_TEST_DEVICE=cuda sanitized memcheck "$name" "build-cuda/tests/$name"
  done <"$output/gpu-tests"
  at_a_time=8
  # Both watch every kernel at work on a small problem: racecheck is slow, and some tests are large.
  program=build-cuda/cvtmesh
  tiny=$output/tiny.pgm
  { printf 'P2\n24 20\n255\n'; seq 0 479 | awk '{print ($1 * 7) % 200}'; } >"$tiny"
  $program run "$tiny" --device cpu -q -n 60 -o "$output/points.csv"
  $program voronoi "$output/points.csv" --width 24 --height 20 --device cpu -q -o "$output/labels.npy"
  small_run() {
    local name=$1
    shift
    sanitized "$tool" "$name" "$program" "$@" --device cuda -q
  }
  small=(-n 60 --effort low --iterations 8)
  for tool in racecheck memcheck; do
    small_run exact run "$tiny" "${small[@]}" -o "$output/tiny.csv"
    small_run coarse-to-fine run "$tiny" -n 300 --iterations 3 -o "$output/tiny-c.csv"
    small_run periodic run "$tiny" "${small[@]}" --periodic -o "$output/tiny-p.csv"
    small_run equal-mass run "$tiny" -n 20 --effort low --iterations 4 --equal-mass -o "$output/tiny-e.csv"
    small_run pixel run "$tiny" "${small[@]}" --energy pixel -o "$output/tiny-x.csv"
    small_run one-site run "$tiny" -n 1 -o "$output/tiny-1.csv"
    for method in jfa 1+jfa jfa+1 jfa+2 jfa2 jfa-short exact; do
      small_run "voronoi-$method" voronoi "$output/points.csv" --width 24 --height 20 \
        --method "$method" -o "$output/tiny-$method.npy"
    done
    small_run warm voronoi "$output/points.csv" --width 24 --height 20 \
      --labels-from "$output/labels.npy" -o "$output/tiny-warm.npy"
    for problem in ept pjb msa odc ssc gl2; do
      small_run "minimize-$problem" minimize "$problem" --nx 8 --ny 6 --iterations 6
    done
    small_run minimize-exact minimize ept --nx 12 --ny 12 --cauchy exact --iterations 8
    small_run minimize-gl1 minimize gl1 --n 40 --iterations 6
    small_run minimize-lj minimize lj --atoms 9 --dim 2 --iterations 6
    for method in psor projected-multigrid monotone truncated tnnmg pdas; do
      small_run "lcp-$method" lcp --problem torsion --size 15 --method "$method" --iterations 4
    done
    for method in psor monotone truncated tnnmg; do
      small_run "lcp-grid-$method" lcp --problem torsion --size 31 --storage matrix-free \
        --method "$method" --iterations 4
    done
    for method in mmj mmgs mmsor newton; do
      small_run "hlcp-$method" hlcp --example 3 --size 8 --splits 4 --method "$method"
    done
    small_run grade density "$tiny" --grade 4 -o "$output/tiny-g.npy"
    small_run bias density "$tiny" --bias 0.1 --smooth 4 -o "$output/tiny-b.npy"
    small_run segment segment "$tiny" --inside 6,6,3 --outside 20,15,2 --steps 3 -o "$output/tiny-s.png"
  done
  while [ -n "$(jobs -rp)" ]; do wait -n || true; done
  unset CVTMESH_HOST_LOOPS
  if [ -f "$output/failed" ]; then status=1; fi
fi

if [ -n "$bench" ]; then
  for program in build-cuda/bench/bench_*; do
    if [ ! -x "$program" ] || [ ! -f "$program" ]; then continue; fi
    "$program" --device cuda | tee "$output/$(basename "$program").md" || status=1
  done
fi
exit $status
