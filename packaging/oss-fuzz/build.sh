#!/bin/bash -eu
# CC, CXX, CFLAGS, CXXFLAGS and LIB_FUZZING_ENGINE are OSS-Fuzz's; CMake reads them all from the
# environment. Its clang brings no OpenMP runtime, so that of the distribution's LLVM serves; of its
# headers omp.h alone, as the others belong to another clang.
openmp=/usr/lib/llvm-18
mkdir -p "$WORK/openmp"
cp "$openmp"/lib/clang/*/include/omp.h "$WORK/openmp/"
cmake -G Ninja -S "$SRC/cvtmesh" -B "$WORK/build" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCVTMESH_FUZZ=ON -DCVTMESH_TESTS=ON -DCVTMESH_BENCH=OFF \
  -DCVTMESH_CUDA=OFF -DCVTMESH_MPI=OFF -DCVTMESH_VIEWER=OFF \
  -DOpenMP_C_FLAGS="-fopenmp=libomp -I$WORK/openmp" \
  -DOpenMP_C_LIB_NAMES=omp -DOpenMP_omp_LIBRARY="$openmp/lib/libomp.so"
targets=()
for source in "$SRC"/cvtmesh/tests/fuzz/fuzz_*.c; do
  targets+=("$(basename "$source" .c)")
done
ninja -C "$WORK/build" "${targets[@]/#/tests/}"

# The machines that run the targets have no packages: libraries go along.
mkdir -p "$OUT/lib"
for name in "${targets[@]}"; do
  cp "$WORK/build/tests/$name" "$OUT/"
  patchelf --force-rpath --set-rpath '$ORIGIN/lib' "$OUT/$name"
  ldd "$OUT/$name" | awk '$3 ~ /^\// && $1 !~ /^(libc|libm|libdl|libpthread|librt)\.so/ {print $3}' |
    xargs -r cp -Lnt "$OUT/lib"
  zip -qj "$OUT/${name}_seed_corpus.zip" "$SRC/cvtmesh/tests/fuzz/seeds/$name"/*
done
for library in "$OUT"/lib/*; do
  patchelf --force-rpath --set-rpath '$ORIGIN' "$library"
done
