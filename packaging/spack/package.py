# Spack: put this folder into a repository as packages/cvtmesh, then
#   spack install cvtmesh@develop, with `git` set to where the source lies.
from spack.package import *


class Cvtmesh(CMakePackage, CudaPackage):
    """Points, stipple drawings and Delaunay meshes from density images, on the CPU and on GPUs."""

    homepage = "https://example.org/cvtmesh"
    git = "https://example.org/cvtmesh.git"

    license("MIT")

    version("develop", branch="main")

    variant("shared", default=True, description="Build the shared library")
    variant("mpi", default=False, description="Let the ranks of mpirun share a batch")
    variant("hdf5", default=True, description="Write XDMF with HDF5")
    variant("cairo", default=True, description="Write PDF")
    variant("formats", default=True, description="Read TIFF, WebP and GIF, apply ICC profiles")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cjson")
    depends_on("expat")
    depends_on("isa-l")
    depends_on("jpeg")
    depends_on("libpng")
    depends_on("lz4")
    depends_on("zlib-api")
    depends_on("hdf5", when="+hdf5")
    depends_on("cairo+pdf", when="+cairo")
    depends_on("mpi", when="+mpi")
    with when("+formats"):
        depends_on("giflib")
        depends_on("lcms")
        depends_on("libtiff")
        depends_on("libwebp")
    depends_on("cuda@12.4:", when="+cuda")

    generator("ninja")

    def cmake_args(self):
        args = [
            self.define("CVTMESH_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
            self.define("CVTMESH_MPI", "ON" if self.spec.satisfies("+mpi") else "OFF"),
            self.define_from_variant("CVTMESH_SHARED", "shared"),
            self.define_from_variant("CVTMESH_HDF5", "hdf5"),
            self.define_from_variant("CVTMESH_CAIRO", "cairo"),
            self.define_from_variant("CVTMESH_TIFF", "formats"),
            self.define_from_variant("CVTMESH_WEBP", "formats"),
            self.define_from_variant("CVTMESH_GIF", "formats"),
            self.define_from_variant("CVTMESH_LCMS2", "formats"),
            self.define("CVTMESH_HEIF", False),
            self.define("CVTMESH_VIEWER", False),
            self.define("CVTMESH_TESTS", False),
            self.define("CVTMESH_BENCH", False),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(
                self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value)
            )
        return args
