"""Meshes of outlines: the program's command ``mesh`` with sizes."""

from __future__ import annotations

import copyreg
import functools
import json
import os
from typing import TYPE_CHECKING, Any, Mapping

from . import _core
from ._arguments import as_polygons, convert, is_array, with_options
from ._mesh import Mesh
from ._tessellation import Stored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from ._arguments import Input
    from ._keywords import MeshOptions

def stored(made: _core.Outline) -> tuple[Any, ...]:
    """The arrays and the report of a mesh, for pickle."""
    return Stored, ({},)


copyreg.pickle(_core.Outline, stored)  # type: ignore[arg-type, unused-ignore]


def outline_file(outline: Any, inputs: list[Input]) -> str:
    """The operand for an outline: a path, or a file in memory."""
    if isinstance(outline, (str, os.PathLike)):
        return os.fspath(outline)
    if hasattr(outline, "__geo_interface__"):
        outline = outline.__geo_interface__
    if isinstance(outline, Mapping):
        inputs.append(("<outline>.geojson", json.dumps(outline).encode()))
    elif is_array(outline) or len(outline) > 0:
        flat = not is_array(outline) and not is_array(outline[0]) and len(outline[0]) == 2
        single = flat and not hasattr(outline[0][0], "__len__")
        inputs.append(as_polygons([outline] if single else outline, "outline"))
    else:
        raise ValueError("outline: there is no ring")
    return inputs[-1][0]


def size_texts(size: Any) -> list[str]:
    if isinstance(size, Mapping):
        pairs = [(name, value) for name, value in size.items()]
        return [f"{name}={value}" if name else str(value) for name, value in pairs]
    return [str(size)]


class OutlineMesh(Mesh):
    """What :func:`mesh` returns.

    Attributes
    ----------
    points : (n, 2) float64
        In the unit of the outline, y up. Corners of the outline have exactly the given coordinates.
    triangles : (m, 3) int32
        Counterclockwise.
    region : (m,) int32
        Of each triangle, from 1 on.
    edges : (k, 2) int32
        On the outline and between regions.
    boundary : (k,) int32
        Of each edge: a key of `names`.
    names : dict
        Names such as ``outer``, ``hole-1``, ``left``, ``interface-A-B``.
    region_names : dict
        The names of the regions; its keys are the numbers in `region`.
    places : dict
        The indices of the points that have a name in the outline.
    """

    _y_up = True

    def __init__(self, operand: str, values: Any, inputs: list[Input]) -> None:
        self._made = _core.outline(operand, values, inputs)
        self.points: NDArray[np.float64]
        self.triangles: NDArray[np.int32]
        self.region: NDArray[np.int32]
        self.edges: NDArray[np.int32]
        self.boundary: NDArray[np.int32]
        self.points, self.triangles, self.region, self.edges, *rest = self._made.arrays()
        self._curve, self.boundary, named, self._names, report = rest
        self.places: dict[str, NDArray[np.int32]]
        dicts: list[dict[int, str]] = [{}, {}, {}]
        for name, tag, dimension in self._names:
            dicts[dimension][tag] = name
        self.places = {name: named[named[:, 1] == tag, 0] for tag, name in dicts[0].items()}
        self.names, self.region_names = dicts[1:]
        self.report: dict[str, Any] = json.loads(report)
        self.width, self.height = (float(side) for side in self.points.max(axis=0))

    def __repr__(self) -> str:
        return f"<OutlineMesh: {len(self.points)} points, {len(self.triangles)} triangles>"

    @functools.cached_property
    def quality(self) -> dict[str, Any]:
        """Figures of all triangles; see the program's report."""
        quality: dict[str, Any] = self.report["quality_all"]
        return quality

    def _limits(self) -> dict[str, tuple[float, float]]:
        return {}

    def group(self, name: str) -> NDArray[np.int32]:
        """The edges of a group, (k, 2): of ``outer``, ``hole-1`` and so on."""
        for tag, known in self.names.items():
            if known == name:
                edges: NDArray[np.int32] = self.edges[self.boundary == tag]
                return edges
        raise KeyError(f"{name!r}; groups: {', '.join(self.names.values())}")

    def save(self, path: str | os.PathLike[str], **options: Unpack[MeshOptions]) -> None:
        """Writes the mesh in the format of the extension, by the options."""
        self._made.save(convert("mesh", {**options, "output": [path]})[0])

    def _groups(self) -> tuple[Any, ...]:
        return self.region, self.edges, self._curve, self.boundary, self._names

    def to_meshio(self) -> Any:
        """The mesh as a ``meshio.Mesh`` with the cell data ``region`` and ``boundary`` (0 where a
        cell has none). The groups of edges and the regions are ``field_data`` and cell sets, named
        points are point sets."""
        import numpy as np

        made = super().to_meshio()
        made.cell_data["boundary"] = [np.zeros_like(self.region), self.boundary]
        made.point_sets = self.places
        return made


@with_options("mesh")
def mesh(
    outline: Any, size: Any = None, points: int | None = None, **options: Unpack[MeshOptions]
) -> OutlineMesh:
    """The mesh of an outline by triangles of a wanted size.

    Parameters
    ----------
    outline : path, array, list of arrays, dict, or geometry
        A file (geojson, svg, csv, poly); rings (n, 2) by the even-odd rule, y up; a GeoJSON object;
        or an object with a ``__geo_interface__``, such as geometries of Shapely and frames of
        GeoPandas. Lines and points among its geometries become edges and vertices.
    size : float, str or dict, optional
        The length of edges: a number, a formula as ``"1 + 0.1 * d(hole)"``, or a dict of these by
        regions and parts of the boundary; its key ``""`` means everywhere else.
    points : int, optional
        The approximate number of vertices; one factor multiplies the sizes without a name, and the
        others stay.
    {options}

    Returns
    -------
    OutlineMesh

    Raises
    ------
    ValueError, TypeError, OSError, MemoryError
        The message names the argument, or the position in the outline.

    Examples
    --------
    >>> import cvtmesh
    >>> m = cvtmesh.mesh([[0, 0], [4, 0], [4, 3], [0, 3]], size=0.5)
    >>> m.triangles.shape[1], sorted(m.names.values()), bool(m.quality["min_angle"] > 38)
    (3, ['bottom', 'left', 'right', 'top'], True)
    """
    if size is None and points is None:
        raise TypeError("size or points is missing")
    given: dict[str, Any] = {"points": points, **options}
    if size is not None:
        given["size"] = size_texts(size)
    values, inputs = convert("mesh", given)
    return OutlineMesh(outline_file(outline, inputs), values, inputs)
