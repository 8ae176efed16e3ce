#!/usr/bin/env bash
# The shared library can replace that of the last release: abidiff finds no incompatible change,
# or CHANGELOG.md says under [Unreleased] that the next release has a new major version, and names
# every function that went. The release is a tag, or else the commit that CHANGELOG.md names.
# usage: check_abi.sh [TAG|COMMIT]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
major=$(sed -n 's/^#define CVTMESH_VERSION_MAJOR //p' base/version.h)
tag=${1:-$(git tag --list "v$major.*" --sort=-version:refname | head -n 1)}
if [ -z "$tag" ]; then
  tag=$(sed -n "/^## \[$major\./,/^##[^#]/s/.*(commit \([0-9a-f]*\)).*/\1/p" CHANGELOG.md | head -n 1)
fi
if [ -z "$tag" ] || ! git cat-file -e "$tag^{commit}" 2>/dev/null; then
  echo "ABI: this repository has no release of version $major"
  exit 77
fi
if ! command -v abidiff >/dev/null; then
  echo "ABI: abidiff (abigail-tools) was not found" >&2
  exit 1
fi
work=$(mktemp -d)
trap 'git worktree remove --force "$work/tree" 2>/dev/null; rm -rf "$work"' EXIT
git worktree add --quiet --detach "$work/tree" "$tag"

# Builds the shared library of a source tree with what debuggers, and abidiff, read.
build() {
  cmake -S "$1" -B "$2" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCVTMESH_CUDA=OFF -DCVTMESH_MPI=OFF \
    -DCVTMESH_VIEWER=OFF -DCVTMESH_TESTS=OFF -DCVTMESH_BENCH=OFF >/dev/null
  cmake --build "$2" --target cvtmesh_shared >/dev/null
}
build "$work/tree" "$work/before"
build . "$work/now"
# Bit 8 of the exit status says that a change is incompatible; additions are not.
status=0
abidiff --headers-dir1 "$work/before/include" --headers-dir2 "$work/now/include" \
  "$work/before/libcvtmesh.so" "$work/now/libcvtmesh.so" >"$work/changes" || status=$?
cat "$work/changes"
if [ $((status & 11)) -eq 0 ]; then
  echo "ABI: compatible with $tag"
  exit 0
fi
sed -n '/^## \[Unreleased\]/,/^## \[[0-9]/p' CHANGELOG.md >"$work/unreleased"
if [ $((status & 3)) -ne 0 ] || ! grep -q "next release is $((major + 1))\.0\.0" "$work/unreleased"; then
  echo "ABI: programs linked to $tag would break" >&2
  exit 1
fi
missing=0
for name in $(sed -n "s/^ *\[D\] '.*function .*[ *]\([a-z0-9_]*\)(.*/\1/p" "$work/changes"); do
  grep -qw "$name" "$work/unreleased" || { echo "ABI: $name went, and CHANGELOG.md does not say so" >&2; missing=1; }
done
[ $missing -eq 0 ]
echo "ABI: the next major version breaks programs linked to $tag, as CHANGELOG.md says"
