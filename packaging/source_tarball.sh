#!/usr/bin/env bash
# Writes cvtmesh-VERSION.tar.gz of a commit into a folder: the same bytes each time.
# usage: packaging/source_tarball.sh FOLDER [COMMIT]
set -euo pipefail
folder=$(realpath "$1")
commit=${2:-HEAD}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
part() { git show "$commit:base/version.h" | sed -n "s/^#define CVTMESH_VERSION_$1 //p"; }
name=cvtmesh-$(part MAJOR).$(part MINOR).$(part PATCH)
# git sorts the files and gives all of them the time of the commit; -n leaves the time out of gzip's
# header.
git -c tar.umask=0022 archive --format=tar --prefix="$name/" "$commit" | gzip -9n >"$folder/$name.tar.gz"
echo "$folder/$name.tar.gz"
