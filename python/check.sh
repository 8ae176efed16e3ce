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
CMAKE_ARGS="-DCVTMESH_CUDA=OFF $*" "$folder/tools/bin/pip" wheel -q --no-deps \
  --no-build-isolation --config-settings build-dir="$folder/cmake" -w "$folder/wheel" .
cmake --build "$folder/cmake" --target cvtmesh_program
export CVTMESH_PROGRAM=$folder/cmake/cvtmesh

test_in() { # ENVIRONMENT PYTEST-ARGUMENT...
  local python=$folder/$1/bin/python
  shift
  "${python%/python}/pip" install -q --no-deps "$folder"/wheel/*.whl
  (cd "$folder" && "$python" -m pytest -q -p no:cacheprovider "$@")
}

rm -rf "$folder/newest" "$folder/debian"
/usr/bin/python3 -m venv "$folder/newest"
install newest numpy scipy pytest meshio mypy typing_extensions
test_in newest ../tests/python --doctest-modules --doctest-ignore-import-errors --pyargs cvtmesh
(cd "$folder" && newest/bin/python -m mypy --strict --cache-dir=/dev/null -p cvtmesh)
/usr/bin/python3 -m venv --system-site-packages "$folder/debian"
install debian scikit-fem # for the tutorial
# NumPy 1.24 and PyTorch
test_in debian ../tests/python/test_torch.py ../tests/python/test_batches.py ../tests/python/test_arguments.py \
  ../tests/python/test_images.py --doctest-modules --pyargs cvtmesh
"$folder/debian/bin/python" docs/tutorial.py
