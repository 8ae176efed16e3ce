"""Meshes of the globe: the program's command ``sphere``."""

from __future__ import annotations

import functools
import json
import os
from typing import TYPE_CHECKING, Any, Mapping

from . import _core
from ._arguments import convert, host_array, is_array, operand, part, with_options

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from ._arguments import Input, Source
    from ._keywords import SphereOptions

TYPES = {1: "i1", 2: "S1", 3: ">i2", 4: ">i4", 5: ">f4", 6: ">f8"}


class Reader:
    """The header of a NetCDF file as the program writes it: with 64-bit offsets (CDF-2) or data (CDF-5)."""

    def __init__(self, contents: bytes) -> None:
        self.contents, self.place = contents, 4
        self.wide = 8 if contents[3] == 5 else 4

    def number(self, size: int = 4) -> int:
        self.place += size
        return int.from_bytes(self.contents[self.place - size : self.place], "big")

    def taken(self, size: int) -> bytes:
        found = self.contents[self.place : self.place + size]
        self.place += -(-size // 4) * 4
        return found

    def count(self) -> int:
        return self.number(self.wide)

    def name(self) -> str:
        return self.taken(self.count()).decode()

    def attributes(self) -> dict[str, Any]:
        import numpy as np

        self.number()
        found: dict[str, Any] = {}
        for _ in range(self.count()):
            name, kind, count = self.name(), np.dtype(TYPES[self.number()]), self.count()
            data = self.taken(count * kind.itemsize)
            found[name] = data.decode() if kind.kind == "S" else np.frombuffer(data, kind)[0].item()
        return found


def read_netcdf(
    contents: bytes,
) -> tuple[dict[str, Any], dict[str, tuple[tuple[str, ...], NDArray[Any]]]]:
    """The attributes of the file, and the dimensions and the array of each variable."""
    import numpy as np

    header = Reader(contents)
    header.count()  # records: none
    header.number()
    dimensions = [(header.name(), header.count()) for _ in range(header.count())]
    attributes = header.attributes()
    variables: dict[str, tuple[tuple[str, ...], NDArray[Any]]] = {}
    header.number()
    for _ in range(header.count()):
        name = header.name()
        shape = [dimensions[header.count()] for _ in range(header.count())]
        header.attributes()
        kind = np.dtype(TYPES[header.number()])
        header.count()  # size
        sizes = [size for _, size in shape]
        array = np.frombuffer(contents, kind, int(np.prod(sizes)), header.number(8)).reshape(sizes)
        variables[name] = tuple(each for each, _ in shape), array.astype(kind.newbyteorder("="))
    return attributes, variables


class Sphere:
    """What :func:`sphere` returns. Indices count from 0; -1: none.

    Attributes
    ----------
    points : (n, 3) float64
        The cells' sites, unit vectors.
    triangles : (m, 3) int32
        The cells around each corner, counterclockwise from outside.
    corners : (m, 3) float64
        The corners of the cells, unit vectors.
    arrays : dict
        The variables of the MPAS file by their names, indices from 1, on a sphere of ``--radius``.
    report : dict
        The program's report.
    """

    def __init__(self, operand: Source, values: Any, inputs: list[Input]) -> None:
        self._arguments = operand, values, inputs
        outputs = ["<grid>.nc", "<report>.json"]
        results = [("output", outputs[0]), ("report", outputs[1])]
        self._contents, report = _core.command("sphere", operand, [*values, *results], inputs, outputs)
        self.report: dict[str, Any] = json.loads(report)
        self.attributes, self._variables = read_netcdf(self._contents)
        self.arrays: dict[str, NDArray[Any]] = {
            name: array for name, (_, array) in self._variables.items()
        }
        self.points: NDArray[np.float64] = self._positions("Cell")
        self.corners: NDArray[np.float64] = self._positions("Vertex")
        self.triangles: NDArray[np.int32] = self.arrays["cellsOnVertex"] - 1

    def _positions(self, kind: str) -> NDArray[np.float64]:
        import numpy as np

        found = np.stack([self.arrays[axis + kind] for axis in "xyz"], 1)
        positions: NDArray[np.float64] = found / self.attributes["sphere_radius"]
        return positions

    def __repr__(self) -> str:
        return f"<Sphere: {len(self.points)} cells, {len(self.triangles)} corners>"

    @functools.cached_property
    def quality(self) -> dict[str, Any]:
        """Angles of the dual triangles and numbers of neighbours; see the program's report."""
        quality: dict[str, Any] = self.report["quality"]
        return quality

    @functools.cached_property
    def cells(self) -> list[NDArray[np.float64]]:
        """The corners of each cell, (k, 3), counterclockwise from outside."""
        count, corner = self.arrays["nEdgesOnCell"], self.arrays["verticesOnCell"]
        return [self.corners[row[:k] - 1] for row, k in zip(corner, count)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the mesh in the format of the extension: nc (MPAS), ugrid.nc, info, vtu, obj, png.

        The program computes the mesh again, except for MPAS.
        """
        name = os.fspath(path)
        if name.endswith(".nc") and not name.endswith(".ugrid.nc"):
            with open(name, "wb") as file:
                file.write(self._contents)
            return
        operand, values, inputs = self._arguments
        more, _ = convert("sphere", {"output": [path]})
        _core.command("sphere", operand, [*values, *more], inputs, [])

    def to_xarray(self) -> Any:
        """The variables of the MPAS file as an ``xarray.Dataset``."""
        import xarray  # type: ignore[import-not-found, unused-ignore]

        return xarray.Dataset(self._variables, attrs=self.attributes)


def area(value: Any, name: str, inputs: list[Input]) -> Any:
    """Polygons as a file in memory, a cap as its text; anything else unchanged."""
    if hasattr(value, "__geo_interface__"):
        value = value.__geo_interface__
    if isinstance(value, Mapping):
        inputs.append((f"<{name}>.geojson", json.dumps(value).encode()))
        return inputs[-1][0]
    if name == "region" and not is_array(value) and isinstance(value, (tuple, list)):
        return ",".join(str(part(each)) for each in value)
    return value


@with_options("sphere")
def sphere(widths: Any, points: int | None = None, **options: Unpack[SphereOptions]) -> Sphere:
    """A centroidal Voronoi tessellation of the globe by cells of wanted widths.

    Parameters
    ----------
    widths : float, path, or (latitudes, longitudes) array
        Widths of cells in km, or in the unit of `radius`. A map is an array from the south and from 180
        degrees west, or a file (npy, nc).
    points : int, optional
        The number of cells; the widths are scaled.
    {options}

    `mask` and `region` also take GeoJSON objects and objects with a ``__geo_interface__``, such as
    geometries of Shapely; `region` also a tuple of longitude, latitude and radius in degrees.

    Returns
    -------
    Sphere

    Raises
    ------
    ValueError, TypeError, OSError, MemoryError, cvtmesh.DeviceError
        The message names the argument.

    Examples
    --------
    >>> import cvtmesh
    >>> globe = cvtmesh.sphere(2000)
    >>> globe.quality["degrees"][5], globe.quality["obtuse"]
    (12, 0)
    """
    given: dict[str, Any] = {"points": points, **options}
    areas: list[Input] = []
    texts = {}
    for name in ("mask", "region"):
        if given.get(name) is not None:
            given[name] = area(given[name], name, areas)
            if isinstance(given[name], str) and given[name].startswith("<"):
                texts[name] = given.pop(name)
    region = given.pop("region", None)
    values, inputs = convert("sphere", given)
    values += [*texts.items(), *([("region", os.fspath(region))] if region is not None else [])]
    inputs += areas
    if isinstance(widths, (list, tuple)):
        widths = host_array(widths, "widths")
    if not isinstance(widths, (str, os.PathLike)) and not is_array(widths):
        return Sphere(str(part(widths)), values, inputs)
    return Sphere(operand(widths, "widths", inputs), values, inputs)
