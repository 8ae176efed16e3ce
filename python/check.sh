#!/usr/bin/env bash
# Builds the wheel of the Python package, installs it into fresh virtual environments, and tests it
# there: one with the newest packages of PyPI, one with those of Debian. The checks need PyPI.
# usage: python/check.sh [CMAKE-OPTION ...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$PWD/build-python
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1
mkdir -p "$folder"

install() { # ENVIRONMENT PACKAGE...
  local environment=$1
  shift
  if ! "$folder/$environment/bin/pip" install -q "$@"; then
    echo "python/check.sh: pip cannot install $*; is PyPI reachable?" >&2
    exit 1
  fi
}

# The tools keep their place, so that a second run compiles only what has changed.
if [ ! -x "$folder/tools/bin/pip" ]; then /usr/bin/python3 -m venv "$folder/tools"; fi
install tools 'scikit-build-core>=0.10' 'nanobind>=2.7'
rm -rf "$folder/wheel"
wheel() { # OUTPUT-FOLDER CMAKE-OPTION...
  local output=$1
  shift
  CMAKE_ARGS="-DCVTMESH_CUDA=OFF $*" "$folder/tools/bin/pip" wheel -q --no-deps \
    --no-build-isolation --config-settings build-dir="$folder/cmake" -w "$output" .
}
wheel "$folder/wheel/alone" -DCVTMESH_SOLVERS_ALONE=ON "$@"
if [ "$(stat -c %s "$folder"/wheel/alone/*.whl)" -ge 1000000 ]; then
  echo "python/check.sh: the wheel of the solvers alone has 1,000,000 bytes or more" >&2
  exit 1
fi
wheel "$folder/wheel" -DCVTMESH_SOLVERS_ALONE=OFF "$@"
cmake --build "$folder/cmake" --target cvtmesh_program
export CVTMESH_PROGRAM=$folder/cmake/cvtmesh

test_in() { # ENVIRONMENT FOLDER-OF-WHEEL PYTEST-ARGUMENT...
  local python=$folder/$1/bin/python wheel=$folder/$2
  shift 2
  "${python%/python}/pip" install -q --no-deps --force-reinstall "$wheel"/*.whl
  (cd "$folder" && "$python" -m pytest -q -p no:cacheprovider "$@")
}

rm -rf "$folder/newest" "$folder/debian"
/usr/bin/python3 -m venv "$folder/newest"
install newest numpy scipy pytest meshio mypy typing_extensions
test_in newest wheel/alone ../tests/python/test_solvers.py ../tests/python/test_batches.py
test_in newest wheel ../tests/python --doctest-modules --doctest-ignore-import-errors --pyargs cvtmesh
(cd "$folder" && newest/bin/python -m mypy --strict --cache-dir=/dev/null -p cvtmesh)
/usr/bin/python3 -m venv --system-site-packages "$folder/debian"
install debian scikit-fem # for the tutorial
# NumPy 1.24 and PyTorch
test_in debian wheel/alone ../tests/python/test_torch.py -k 'parameter or steps'
test_in debian wheel ../tests/python/test_torch.py ../tests/python/test_batches.py ../tests/python/test_arguments.py \
  ../tests/python/test_images.py --doctest-modules --pyargs cvtmesh
"$folder/debian/bin/python" docs/tutorial.py
