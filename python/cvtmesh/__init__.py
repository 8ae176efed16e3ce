"""Centroidal Voronoi tessellations, Delaunay meshes and bound-constrained minimisation.

All work is done by the C library of the program ``cvtmesh``; the functions here take arrays where
the program takes files. Coordinates are in pixels, x to the right and y down: pixel (i, j) of an
array of shape (height, width) is ``array[j, i]`` and has its centre at (i + 0.5, j + 0.5).

>>> import cvtmesh, numpy
>>> t = cvtmesh.tessellate(numpy.ones((64, 64)), 100)
>>> t.points.shape
(100, 2)
"""

from __future__ import annotations

import atexit as _atexit

from . import _extension

_extension.choose()

from ._core import DeviceError, cuda_devices, solvers_alone, version as __version__, wait as _wait
from .optimize import hlcp, lbfgsb, lcp, minimize

__all__ = ["DeviceError", "cuda_devices", "hlcp", "lbfgsb", "lcp", "minimize"]

if not solvers_alone:
    from ._commands import Segmentation, batch, condition, info, segment, stats
    from ._mesh import Cells, Mesh, delaunay, voronoi
    from ._outline import OutlineMesh, mesh
    from ._spectrum import Spectrum, bond_order, spectrum
    from ._sphere import Sphere, sphere
    from ._tessellation import Tessellation, mesh_domain, tessellate
    from ._triangulate import triangulate

    __all__ += ["Cells", "Mesh", "OutlineMesh", "Segmentation", "Spectrum", "Sphere", "Tessellation"]
    __all__ += ["batch", "bond_order", "condition", "delaunay", "info", "mesh", "mesh_domain"]
    __all__ += ["segment", "spectrum", "sphere", "stats", "tessellate", "triangulate", "voronoi"]

_atexit.register(_wait, 2.0)
