#!/usr/bin/env bash
# Builds and tests the CUDA side on a machine with a GPU, and runs the benchmarks.
#
#   tests/on_gpu.sh [OPTION...]
#
#   --packages DIR   unpack DIR/*.deb beside the system (for machines without a registry)
#   --build DIR      use what is built in DIR; configure and build nothing
#   --wheels DIR     test DIR/*.whl of the Python package, which is else built here by pip
#   --only           leave out the GPU tests as they are; do what the other options ask for
#   --capped         run the GPU tests with at most 4 blocks in every launch
#   --fail-cuda N    let the first, second, ... N-th CUDA call of small runs fail
#   --sanitize       run the GPU tests and small runs under compute-sanitizer
#   --tools LIST     of memcheck,racecheck,initcheck,synccheck (default: all)
#   --small-only     only small runs under compute-sanitizer, no whole tests of memcheck
#   --share I/N      of the small runs and of the sanitized tests those with number I modulo N
#   --soak SECONDS   run tests/soak.c on the GPU
#   --bench          run the benchmarks and write their tables to the output folder
#   --output DIR     where logs and tables go (default: out)
#
# It ends with 1 if anything failed; what it was is in DIR/failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() { sed -n '2,21s/^# \{0,1\}//p' "$0" >&2; exit 2; }

packages='' build='' wheels='' plain=yes capped='' fail_cuda='' sanitize='' small_only='' soak='' bench=''
output=out tools=memcheck,racecheck,initcheck,synccheck share=0/1
while [ $# -gt 0 ]; do
  case "$1" in
    --only) plain='' ;;
    --capped) capped=yes ;;
    --sanitize) sanitize=yes ;;
    --small-only) small_only=yes ;;
    --bench) bench=yes ;;
    --packages | --build | --wheels | --fail-cuda | --tools | --share | --soak | --output)
      [ $# -gt 1 ] || usage
      case "$1" in
        --packages) packages=$(realpath "$2") ;;
        --build) build=$2 ;;
        --wheels) wheels=$(realpath "$2") ;;
        --fail-cuda) fail_cuda=$2 ;;
        --tools) tools=$2 ;;
        --share) share=$2 ;;
        --soak) soak=$2 ;;
        --output) output=$2 ;;
      esac
      shift ;;
    *) usage ;;
  esac
  shift
done
case "$share" in [0-9]*/[1-9]*) ;; *) usage ;; esac
for tool in ${tools//,/ }; do
  case "$tool" in memcheck | racecheck | initcheck | synccheck) ;; *) usage ;; esac
done
mkdir -p "$output"
output=$(realpath "$output")
rm -f "$output/failed" "$output"/*.runs

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
prebuilt=$build
if [ -z "$build" ]; then
  build="build-cuda"
  cmake --preset cuda -DCMAKE_CUDA_ARCHITECTURES=native >"$output/configure.log" ||
    { cat "$output/configure.log"; exit 1; }
  cmake --build --preset cuda >"$output/build.log" || { tail -n 60 "$output/build.log"; exit 1; }
fi
program=$(realpath "$build/cvtmesh")

# --- jobs side by side ----------------------------------------------------------------------------

at_a_time=4
wait_for_room() { while [ "$(jobs -rp | wc -l)" -ge "$at_a_time" ]; do wait -n || true; done; }
wait_for_all() { while [ -n "$(jobs -rp)" ]; do wait -n || true; done; }

failed() { # WHAT LOG
  echo "$1" >>"$output/failed"
  echo "FAILED $1"
  tail -n 15 "$2"
}

# Writes a line for the summary of LABEL: does CODE say that the run did what it should?
outcome() { # LABEL CODE GOOD...
  local label=$1 code=$2 word=failed good
  shift 2
  for good in "$@"; do if [ "$code" -eq "$good" ]; then word=good; fi; done
  if [ "$code" -eq 77 ]; then word=skipped; fi
  echo $word >>"$output/$label.runs"
}

# "LABEL: N runs, M skipped, K failed"
summary() { # LABEL
  local file=$output/$1.runs
  touch "$file"
  echo "$1: $(wc -l <"$file") runs, $(grep -c skipped "$file") skipped," \
    "$(grep -c failed "$file") failed"
}

# Nonzero if this item belongs to another share.
item=0
mine() {
  item=$((item + 1))
  [ $(((item - 1) % ${share#*/})) -eq "${share%/*}" ]
}

# --- whole tests ----------------------------------------------------------------------------------

# The programs that CTest runs with the label gpu; its files hold absolute paths, which need not be
# those of this machine.
gpu_tests() { grep -l 'test_devices\.h' tests/*/test_*.c | sed 's|.*/||; s|\.c$||'; }

run_test() { # LABEL NAME
  local log=$output/$1-$2.log code=0
  if [ ! -x "$build/tests/$2" ]; then # of a part that this build does not have
    outcome "$1" 77 77
    return
  fi
  CVTMESH_TEST_DEVICE=cuda timeout 600 "$build/tests/$2" >"$log" 2>&1 || code=$?
  outcome "$1" $code 0 77
  case $code in 0 | 77) ;; *) failed "$1 $2: exit $code" "$log" ;; esac
}

run_tests() { # LABEL
  local name
  at_a_time=4
  for name in $(gpu_tests); do
    [ "$name" != test_cuda_faults ] || continue
    wait_for_room
    run_test "$1" "$name" &
  done
  wait_for_all
  run_test "$1" test_cuda_faults # alone: it looks at the device's free memory
  summary "$1"
}

# --- the Python package ---------------------------------------------------------------------------

python_has() { python3 -c "import $1" 2>/dev/null; }

# The tests on arrays of PyTorch, CuPy, JAX and Numba, as python3 has them.
run_python_tests() {
  local log=$output/python.log code=0 site=$output/site
  if ! python_has 'numpy, pytest' ||
    { [ -z "$wheels" ] && { [ -n "$prebuilt" ] || ! python_has 'nanobind, scikit_build_core'; }; }; then
    outcome python 77 77
    summary python
    return
  fi
  if [ -z "$wheels" ]; then
    wheels=$output/wheels
    CMAKE_ARGS="-DCVTMESH_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=native" python3 -m pip wheel -q \
      --no-deps --no-build-isolation -w "$wheels" . >"$log" 2>&1 || code=$?
  fi
  if [ $code -eq 0 ]; then
    rm -rf "$site"
    python3 -m pip install -q --no-deps --no-index --target "$site" "$wheels"/*.whl >"$log" 2>&1 &&
      PYTHONPATH=$site timeout 600 python3 -m pytest -q -p no:cacheprovider \
        tests/python/test_cuda.py tests/python/test_torch.py >"$log" 2>&1 || code=$?
  fi
  outcome python $code 0
  if [ $code -ne 0 ]; then failed "python: exit $code" "$log"; fi
  tail -n 1 "$log"
  summary python
}

# --- small runs -----------------------------------------------------------------------------------

# Calls `$1 NAME RESULT ARGUMENTS...` for every small run of the program. RESULT is the file that
# the run writes, - for none. Together they put every kernel to work on a small problem: racecheck is slow.
small_runs() {
  local each=$1 method problem
  local small=(-n 60 --effort low --iterations 8) size=(--width 24 --height 20)
  "$each" exact exact.csv run "$tiny" "${small[@]}" -o exact.csv
  "$each" coarse-to-fine fine.csv run "$tiny" -n 300 --iterations 3 -o fine.csv
  "$each" periodic torus.csv run "$tiny" "${small[@]}" --periodic -o torus.csv
  "$each" equal-mass mass.csv run "$tiny" -n 20 --effort low --iterations 4 --equal-mass -o mass.csv
  "$each" blue-noise blue.csv run "$tiny" -n 40 --iterations 4 --noise blue -o blue.csv
  "$each" colours colours.csv run "$tiny" "${small[@]}" --colours cmyk -o colours.csv
  "$each" pixel pixel.csv run "$tiny" "${small[@]}" --preset paper -o pixel.csv
  "$each" mesh mesh.obj mesh "$points" -o mesh.obj
  "$each" mesh-lattice lattice.obj mesh "$lattice" -o lattice.obj
  "$each" one-site one.csv run "$tiny" -n 1 -o one.csv
  for method in jfa 1+jfa jfa+1 jfa+2 jfa2 exact; do
    "$each" "voronoi-$method" "$method.npy" voronoi "$points" "${size[@]}" --method "$method" \
      -o "$method.npy"
  done
  "$each" warm warm.npy voronoi "$points" "${size[@]}" --labels-from "$labels" -o warm.npy
  for problem in ept pjb msa odc ssc gl2; do
    "$each" "minimize-$problem" - minimize "$problem" --nx 8 --ny 6 --iterations 6
  done
  # Two blocks, so that each warp loads several tiles of the history ahead of their use.
  CVTMESH_TEST_MAX_BLOCKS=2 "$each" minimize-tiles - minimize ept --nx 60 --ny 50 --iterations 12
  "$each" minimize-exact - minimize ept --nx 12 --ny 12 --cauchy exact --iterations 8
  "$each" minimize-gl1 - minimize gl1 --n 40 --iterations 6
  "$each" minimize-lj - minimize lj --atoms 9 --dim 2 --iterations 6
  for method in psor tnnmg pdas; do
    "$each" "lcp-$method" - lcp --problem torsion --size 15 --method "$method" --iterations 4
  done
  for method in psor tnnmg; do
    "$each" "lcp-grid-$method" - lcp --problem torsion --size 31 --storage matrix-free \
      --method "$method" --iterations 4
  done
  for method in mmj mmgs mmsor newton; do
    "$each" "hlcp-$method" - hlcp --example 3 --size 8 --splits 4 --method "$method"
  done
  "$each" grade grade.npy density "$tiny" --grade 4 -o grade.npy
  "$each" bias bias.npy density "$tiny" --smooth 4,0.1 -o bias.npy
  "$each" sphere globe.obj sphere 2500 --iterations 3 -o globe.obj
  "$each" sphere-map map.obj sphere "$tiny" --picture-widths 1000,2000 --fixed "$points" \
    --iterations 3 -o map.obj
  "$each" segment segment.png segment "$tiny" --inside 6,6,3 --outside 20,15,2 --steps 3 \
    -o segment.png
}

# Calls `$1 NAME TEST FILTER` for what no command of the program does.
small_tests() {
  "$1" pull test_cvt '*pull*'
  "$1" batch test_lbfgsb_features 'test_batch_of_few*'
}

make_inputs() {
  tiny=$output/tiny.pgm points=$output/points.csv lattice=$output/lattice.csv labels=$output/labels.npy
  { printf 'P2\n24 20\n255\n'; seq 0 479 | awk '{print ($1 * 7) % 200}'; } >"$tiny"
  "$program" run "$tiny" --device cpu -q -n 60 -o "$points"
  seq 0 99 | awk '{print $1 % 10 "," int($1 / 10)}' >"$lattice"
  "$program" voronoi "$points" --width 24 --height 20 --device cpu -q -o "$labels"
}

# --- compute-sanitizer ----------------------------------------------------------------------------

# One line of outcome, the log in the output folder. A solver that stops at its limit exits with 4:
# that is no failure of the check.
sanitized() { # TOOL NAME COMMAND...
  local tool=$1 name=$2 log=$output/$1-$2.log code=0 checks=(--error-exitcode 9)
  shift 2
  # Some tests provoke errors of the API, and see that they are told.
  if [ "$tool" = memcheck ]; then checks+=(--report-api-errors no); fi
  # A kernel of the optimiser has 33 barriers in shared memory for each of its blocks. With four
  # times as many, four runs at once fill the device's memory.
  if [ "$tool" = synccheck ]; then checks+=(--num-cuda-barriers 16384); fi
  timeout 900 compute-sanitizer --tool "$tool" "${checks[@]}" "$@" >"$log" 2>&1 || code=$?
  outcome "$tool" $code 0 4 77
  echo "$tool $name: exit $code, $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$log" | sed 's/=* *//')"
  case $code in 0 | 4 | 77) ;; *) failed "$tool $name: exit $code" "$log" ;; esac
}

sanitized_small_run() { # NAME RESULT ARGUMENTS...
  local name=$1
  shift 2
  mine || return 0
  wait_for_room
  (mkdir -p "$output/$tool.d" && cd "$output/$tool.d" &&
    sanitized "$tool" "$name" "$program" "$@" --device cuda -q) &
}

sanitized_small_test() { # NAME TEST FILTER
  mine || return 0
  [ -x "$build/tests/$2" ] || return 0
  wait_for_room
  (CVTMESH_TEST_DEVICE=cuda CVTMESH_TEST_FILTER=$3 sanitized "$tool" "$1" "$build/tests/$2") &
}

sanitize_all() {
  # With a policy of waiting in the environment the program does not start itself again.
  export OMP_WAIT_POLICY=passive
  # The host drives the loops: racecheck cannot follow graphs with conditions, and memcheck has told
  # of errors in them that came and went between runs.
  export CVTMESH_HOST_LOOPS=1
  local name
  if [ -z "$small_only" ] && [[ ,$tools, == *,memcheck,* ]]; then
    # One at a time and to the end: with twelve processes on one device tests failed under memcheck
    # that pass alone, and a timeout does not end its children.
    for name in $(gpu_tests); do
      # Thousands of solves, each with a failure; memcheck reports the failures.
      [ "$name" != test_cuda_faults ] && [ -x "$build/tests/$name" ] || continue
      mine || continue
      CVTMESH_TEST_DEVICE=cuda sanitized memcheck "$name" "$build/tests/$name"
    done
  fi
  for tool in ${tools//,/ }; do
    at_a_time=8
    if [ "$tool" = synccheck ]; then at_a_time=2; fi # its barriers fill 80 GB
    small_runs sanitized_small_run
    small_tests sanitized_small_test
  done
  wait_for_all
  for tool in ${tools//,/ }; do summary "$tool"; done
  unset CVTMESH_HOST_LOOPS
}

# --- CUDA calls that fail -------------------------------------------------------------------------

# What a run may not do when call k failed: end in any other way than with one line and the exit
# code of a failure, leave a file behind, or end as if nothing had been with another result.
judge_failure() { # RESULT CODE, in the folder of the run
  if [ "$2" -eq 1 ] || [ "$2" -eq 5 ]; then
    [ "$(wc -l <stderr)" -eq 1 ] && grep -q '^cvtmesh' stderr && [ -z "$(ls -A new)" ]
  else
    [ "$2" -eq "$(cat code)" ] && { [ "$1" = - ] || cmp -s "new/$1" "$1"; }
  fi
}

# Call 1, 2, ... of one run fails, until 20 failures in a row change nothing: there are no more.
fail_calls() { # NAME RESULT ARGUMENTS...
  local name=$1 result=$2 k code unchanged=0 bad=0
  shift 2
  rm -rf "$output/fail.d/$name"
  mkdir -p "$output/fail.d/$name/new"
  cd "$output/fail.d/$name"
  code=0
  "$program" "$@" --device cuda -q >stdout 2>stderr || code=$?
  echo $code >code
  for ((k = 1; k <= fail_cuda && unchanged < 20; ++k)); do
    rm -rf new
    mkdir new
    code=0
    (cd new && CVTMESH_FAIL_CUDA=$k timeout 120 "$program" "$@" --device cuda -q >../stdout \
      2>../stderr) || code=$?
    if [ $code -eq "$(cat code)" ]; then unchanged=$((unchanged + 1)); else unchanged=0; fi
    if ! judge_failure "$result" $code; then
      bad=$((bad + 1))
      failed "fail-cuda $name: call $k: exit $code" stderr
    fi
  done
  echo "fail-cuda $name: $((k - 1)) calls, $bad failures"
  outcome fail-cuda $bad 0
}

failing_small_run() {
  mine || return 0
  wait_for_room
  (fail_calls "$@") &
}

# --------------------------------------------------------------------------------------------------

if [ -n "$plain" ]; then
  run_tests gpu
  run_python_tests
fi
if [ -n "$capped" ]; then CVTMESH_TEST_MAX_BLOCKS=4 run_tests capped; fi
if [ -n "$sanitize$fail_cuda" ]; then make_inputs; fi
if [ -n "$sanitize" ]; then sanitize_all; fi
if [ -n "$fail_cuda" ]; then
  at_a_time=8
  small_runs failing_small_run
  wait_for_all
  summary fail-cuda
fi
if [ -n "$soak" ]; then
  "$build/tests/soak" --device cuda --seconds "$soak" --callers 4 >"$output/soak.log" 2>&1 ||
    failed soak "$output/soak.log"
  tail -n 3 "$output/soak.log"
fi
if [ -n "$bench" ]; then
  for each in "$build"/tests/bench/bench_*; do
    if [ ! -x "$each" ] || [ ! -f "$each" ]; then continue; fi
    "$each" --device cuda | tee "$output/$(basename "$each").md" || echo "$each" >>"$output/failed"
  done
fi
[ ! -f "$output/failed" ]
