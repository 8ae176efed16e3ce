#!/usr/bin/env bash
# Builds the Debian packages of a commit in a folder, from its source tarball, by dpkg-buildpackage.
# usage: packaging/build_deb.sh FOLDER [COMMIT]
set -euo pipefail
mkdir -p "$1"
folder=$(realpath "$1")
commit=${2:-HEAD}
tarball=$("$(dirname "${BASH_SOURCE[0]}")/source_tarball.sh" "$folder" "$commit")
name=$(basename "$tarball" .tar.gz)
cp "$tarball" "$folder/cvtmesh_${name#cvtmesh-}.orig.tar.gz"
rm -rf "${folder:?}/$name"
tar -xzf "$tarball" -C "$folder"
cd "$folder/$name"
cp -r packaging/debian debian
dpkg-buildpackage --no-sign --build-profiles=nocheck
cd ..
ls -l ./*.deb
if command -v lintian >/dev/null; then
  lintian --fail-on error,warning ./*.changes
fi
