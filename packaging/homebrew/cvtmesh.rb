# Homebrew: brew install --HEAD ./packaging/homebrew/cvtmesh.rb, with `head` set to where the source
# lies; a release gets `url` and `sha256` of the tarball of packaging/source_tarball.sh.
# Apple's clang has no OpenMP of its own; libomp stands in, and CMake is told where it is.
class Cvtmesh < Formula
  desc "Points, stipple drawings and Delaunay meshes from density images"
  homepage "https://example.org/cvtmesh"
  license "MIT"
  head "https://example.org/cvtmesh.git", branch: "main"

  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => [:build, :test]
  depends_on "cairo"
  depends_on "cjson"
  depends_on "giflib"
  depends_on "hdf5"
  depends_on "isa-l"
  depends_on "jpeg-turbo"
  depends_on "libheif"
  depends_on "libpng"
  depends_on "libtiff"
  depends_on "little-cms2"
  depends_on "lz4"
  depends_on "webp"

  uses_from_macos "expat"
  uses_from_macos "zlib"

  on_macos do
    depends_on "libomp"
  end

  def install
    args = %w[
      -DCVTMESH_CUDA=OFF
      -DCVTMESH_MPI=OFF
      -DCVTMESH_VIEWER=OFF
      -DCVTMESH_TESTS=OFF
      -DCVTMESH_BENCH=OFF
    ]
    args << "-DOpenMP_ROOT=#{Formula["libomp"].opt_prefix}" if OS.mac?
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", *args, *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
    pkgshare.install "examples"
  end

  test do
    system bin/"cvtmesh", "run", pkgshare/"examples/camera.png", "-n", "200", "-o", "camera.csv"
    assert_equal 201, File.readlines("camera.csv").size
    flags = shell_output("pkgconf --cflags --libs cvtmesh").split
    system ENV.cc, pkgshare/"examples/minimal.c", *flags, "-o", "minimal"
    system "./minimal"
  end
end
