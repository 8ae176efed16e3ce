"""Delaunay meshes, Voronoi cells, and diagrams of given points."""

from __future__ import annotations

import functools
import json
import os
from operator import index
from typing import TYPE_CHECKING, Any, Iterator, Sequence

from . import _core
from ._arguments import convert, host_array, is_array, lent, points_array, with_options
from ._device import adopt, framework_of, ordinal_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Unpack

    from ._keywords import MeshOptions, VoronoiOptions


class Cells(Sequence[Any]):
    """Polygons, one for each point: ``cells[i]`` holds the corners of cell i, shape (k, 2).

    Attributes
    ----------
    start : (n + 1,) int64
        Cell i has the corners ``start[i]`` to ``start[i + 1]`` of `corners`.
    corners : (m, 2) float64
        In pixels.
    neighbors : (m,) int32 or None
        The point across the edge from each corner to the next; -1: the border.
    """

    def __init__(self, start: Any, corners: Any, neighbors: Any) -> None:
        self.start: NDArray[np.int64] = start
        self.corners: NDArray[np.float64] = corners
        self.neighbors: NDArray[np.int32] | None = neighbors

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        try:
            k = range(len(self))[i]
        except IndexError:
            raise IndexError(f"cell {i} of {len(self)}") from None
        return self.corners[self.start[k] : self.start[k + 1]]

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        return f"<Cells: {len(self)} polygons, {len(self.corners)} corners>"


class Mesh:
    """A triangulation of points.

    Attributes
    ----------
    points : (n, 2) float64
        In pixels, y down.
    triangles : (m, 3) int32
        Indices of points, counterclockwise as seen with y up.
    """

    points: Any
    triangles: Any
    height: float
    _y_up = False

    def _groups(self) -> tuple[Any, ...] | None:
        return None

    def _limits(self) -> dict[str, tuple[float, float]]:
        """Sets the limits of the axes to the picture, y down."""
        return {"xlim": (0, self.width), "ylim": (self.height, 0)}

    def _on_host(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Points and triangles."""
        return host_array(self.points, "points"), host_array(self.triangles, "triangles")

    def to_meshio(self) -> Any:
        """The mesh as a ``meshio.Mesh``, y up as in mesh files.

        The regions and curves of a domain become cell data ``region`` and ``curve`` (0 where a cell
        has none). The groups of a Gmsh file, such as ``region-1``, ``hole-1`` and ``outer``, become
        ``field_data`` and cell sets of the same names. For a Gmsh file use :meth:`save`: meshio writes
        them for cells of one kind only.
        """
        import meshio  # type: ignore[import-untyped, unused-ignore]
        import numpy as np

        flat, triangles = self._on_host()
        y = flat[:, 1] if self._y_up else self.height - flat[:, 1]
        points = np.column_stack([flat[:, 0], y, np.zeros(len(flat))])
        groups = self._groups()
        if groups is None:
            return meshio.Mesh(points, [("triangle", triangles)])
        region, edges, curve, group, names = groups
        tags = {2: region, 1: group}
        none = np.empty(0, np.int64)
        return meshio.Mesh(
            points,
            [("triangle", triangles), ("line", edges)],
            cell_data={
                "region": [region, np.zeros_like(curve)],
                "curve": [np.zeros_like(region), curve],
                "gmsh:physical": [region, group],
                "gmsh:geometrical": [region, curve],
            },
            cell_sets={
                name: [np.flatnonzero(tags[d] == tag) if d == side else none for side in (2, 1)]
                for name, tag, d in names
                if d > 0
            },
            field_data={name: np.array([tag, d]) for name, tag, d in names},
        )

    def to_pyvista(self) -> Any:
        """The mesh as a ``pyvista.UnstructuredGrid``, y up. For a domain it has the cell
        data of :meth:`to_meshio`."""
        import pyvista  # type: ignore[import-not-found, import-untyped, unused-ignore]

        mesh = self.to_meshio()
        mesh.cell_sets.clear()  # VTK has no cell sets; the cell data hold the same
        return pyvista.from_meshio(mesh)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draws the edges of the mesh by Matplotlib and returns the axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; default: a new figure.
        **style
            Arguments of ``Axes.triplot``.
        """
        import matplotlib.pyplot as plt  # type: ignore[import-not-found, unused-ignore]

        if ax is None:
            ax = plt.figure().add_subplot()
        ax.set_aspect("equal")
        ax.set(**self._limits())
        style = {"linewidth": 0.5, "color": "black", **style}
        points, triangles = self._on_host()
        ax.triplot(points[:, 0], points[:, 1], triangles, **style)
        return ax

    width: float


class Delaunay(Mesh):
    """What :func:`delaunay` returns: a :class:`Mesh` with its quality. For points on a CUDA device
    `points` and `triangles` are arrays there."""

    def __init__(self, points: Any, triangles: Any, largest: Any) -> None:
        self.points, self.triangles = points, triangles
        self.width, self.height = (float(max(side, 1)) for side in largest)

    def __repr__(self) -> str:
        return f"<Delaunay: {len(self.points)} points, {len(self.triangles)} triangles>"

    def _command(self, values: Any, inputs: Any, outputs: list[str]) -> list[bytes]:
        contents: list[bytes] = _core.command(
            "mesh", lent(self.points, "points"), values, inputs, outputs
        )
        return contents

    @functools.cached_property
    def report(self) -> dict[str, Any]:
        """The report of the program's command ``mesh``."""
        (text,) = self._command([("report", "<report>.json")], [], ["<report>.json"])
        report: dict[str, Any] = json.loads(text)
        return report

    @property
    def quality(self) -> dict[str, Any]:
        """Figures of all triangles; see the program's report."""
        quality: dict[str, Any] = self.report["quality_all"]
        return quality

    def save(self, path: str | os.PathLike[str], **options: Unpack[MeshOptions]) -> None:
        """Writes the mesh in the format of the extension, by the program's command ``mesh``."""
        self._command(*convert("mesh", {**options, "output": [path]}), [])


def triangles_on_device(points: Any, ordinal: int) -> Delaunay:
    """:func:`delaunay` of points on a CUDA device."""
    framework = framework_of(points, ordinal)
    array = framework.array(points, "float64", "points")
    if array.ndim != 2 or array.shape[1] != 2 or len(array) == 0 or not framework.is_finite(array):
        points_array(points, "points")  # says what is wrong
    made = _core.Triangulation(f"cuda:{ordinal}", len(array))
    framework.follow(made.stream)
    count = made.build(array)
    if count < 0:
        found = _core.delaunay(points_array(array, "points"))
        triangles = framework.array(found, "int32", "triangles")
    else:
        triangles = framework.empty((count, 3), "int32")
        framework.follow(made.stream)
        if count > 0:
            made.copy(triangles)
    return Delaunay(array, triangles, framework.largest(array))


def delaunay(points: ArrayLike) -> Delaunay:
    """The Delaunay triangulation of points, by exact predicates.

    Parameters
    ----------
    points : (n, 2) array
        Finite coordinates. If points coincide, the first has the triangles. Points on a CUDA
        device, as an array of PyTorch or CuPy, are triangulated there.

    Returns
    -------
    Delaunay
        With ``points``, ``triangles``, ``quality``, ``save()``, ``to_meshio()`` and ``plot()``. The
        triangles are the same on every device.

    Raises
    ------
    ValueError
        If the shape is wrong or a coordinate is not finite; the message names it.

    Examples
    --------
    >>> import cvtmesh
    >>> cvtmesh.delaunay([[0, 0], [1, 0], [1, 1], [0, 1]]).triangles.shape
    (2, 3)
    """
    ordinal = ordinal_of(points)
    if ordinal is not None and _core.cuda_devices():
        return triangles_on_device(adopt(points), ordinal)
    host = points_array(points, "points")
    return Delaunay(host, _core.delaunay(host), host.max(axis=0))


def labels_on_device(points: Any, ordinal: int, options: dict[str, Any]) -> Any:
    """:func:`voronoi` of points on a CUDA device."""
    framework = framework_of(points, ordinal)
    start = options.pop("labels_from", None)
    values, _ = convert("voronoi", {**options, "device": f"cuda:{ordinal}"})
    if start is None and options.get("first_step") is not None:
        raise ValueError("first_step needs labels_from")
    sites = framework.array(points, "float64", "points")
    if sites.ndim != 2 or sites.shape[1] != 2 or len(sites) == 0 or not framework.is_finite(sites):
        points_array(points, "points")  # says what is wrong
    diagram = _core.Labels(values, len(sites))
    shape = (options["height"], options["width"])
    if start is None:
        labels = framework.empty(shape, "int32")
    else:
        labels = framework.copy(framework.array(start, "int32", "labels_from"))
        if tuple(labels.shape) != shape:
            raise ValueError(f"labels_from: shape {tuple(labels.shape)} is not {shape}")
    framework.follow(diagram.stream)
    (diagram.compute if start is None else diagram.update)(sites, labels)
    diagram.wait()
    return labels


def labels_array(value: Any, name: str) -> NDArray[np.int32]:
    """Integers as int32."""
    import numpy as np

    array = host_array(value, name)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name}: an array of dtype {array.dtype} holds no integers")
    return array.astype(np.int32, copy=False)


def size_of(shape: Any) -> tuple[int, int]:
    """Height and width as integers within the library's limits."""
    try:
        height, width = (index(side) for side in shape)
    except (TypeError, ValueError):
        raise TypeError(f"shape: {shape!r} is not (height, width)") from None
    if height < 1 or width < 1:
        raise ValueError(f"shape: {height} x {width} has no pixels")
    if max(height, width) > _core.max_side:
        raise ValueError(f"shape: {height} x {width} is beyond {_core.max_side} pixels a side")
    return height, width


@with_options("voronoi")
def voronoi(
    points: ArrayLike,
    shape: tuple[int, int],
    method: str = "exact",
    **options: Unpack[VoronoiOptions],
) -> Any:
    """The discrete Voronoi diagram of points: for each pixel the nearest one.

    Parameters
    ----------
    points : (n, 2) array
        x and y in pixels; points may lie outside.
    shape : (height, width)
        The size of the diagram.
    method : str
        ``exact``, or a variant of jump flooding: ``jfa``, ``1+jfa``, ``jfa+1``, ``jfa+2``,
        ``jfa2``.
    {options}

    Returns
    -------
    (height, width) int32 array
        The index of the point nearest to the centre of each pixel, the lowest index if several are
        equally near. For points on a CUDA device, as an array of PyTorch or CuPy, the labels are an
        array of this library there, unless `device` names another device.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range or of the wrong kind; the message names it.

    Examples
    --------
    >>> import cvtmesh
    >>> cvtmesh.voronoi([[0.5, 0.5], [3.5, 0.5]], (1, 4))
    array([[0, 0, 1, 1]], dtype=int32)
    """
    height, width = size_of(shape)
    given: dict[str, Any] = {**options, "width": width, "height": height}
    if options.get("labels_from") is None:
        given["method"] = method
    ordinal = ordinal_of(points)
    if ordinal is not None and given.get("device") in (None, "auto", "cuda", f"cuda:{ordinal}"):
        return labels_on_device(adopt(points), ordinal, given)
    earlier = given.get("labels_from")
    if is_array(earlier):
        given["labels_from"] = labels_array(earlier, "labels_from")
    values, inputs = convert("voronoi", given)
    values.append(("output", "<labels>.npy"))
    sites = lent(points_array(points, "points"), "points")
    (labels,) = _core.command("voronoi", sites, values, inputs, [], ["<labels>.npy"])
    return labels


__all__ = ["Cells", "Delaunay", "Mesh", "delaunay", "voronoi"]
