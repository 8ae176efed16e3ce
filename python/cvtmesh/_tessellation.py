"""Centroidal Voronoi tessellations: the program's command ``run``."""

from __future__ import annotations

import base64
import copyreg
import functools
import json
import os
from typing import TYPE_CHECKING, Any, Callable

from . import _core
from ._arguments import check_callback, convert, is_array, operand, points_array, with_options
from ._device import CuPy, Torch, adopt, is_torch, on_device, ordinal_of
from ._mesh import Cells, Mesh, size_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from ._keywords import RunOptions

    Callback = Callable[[dict[str, float]], Any]


class Stored:
    """The arrays and the report of an unpickled run."""

    NAMES = "size points triangles mass centroids weights density cells groups report".split()

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)

    def save(self, values: Any) -> None:
        raise NotImplementedError("the original result can be saved and drawn, a pickled one cannot")


def stored(run: _core.Run) -> tuple[Any, ...]:
    return Stored, ({name: getattr(run, name) for name in Stored.NAMES},)


copyreg.pickle(_core.Run, stored)  # type: ignore[arg-type, unused-ignore]


class Tessellation(Mesh):
    """What :func:`tessellate` and :func:`mesh_domain` return.

    Arrays are made at the first access and belong to the caller. For an image on a CUDA device
    these are arrays on the device, except `cells` and `history`. A copy by pickle has all arrays
    and the report, but cannot be saved or drawn.
    """

    def __init__(self, run: _core.Run, framework: Torch | CuPy | None = None) -> None:
        self._run: Any = run
        self._framework = framework
        self.width, self.height = run.size

    def _put(self, array: NDArray[Any], dtype: str = "float64") -> Any:
        """An array of the host, copied to the memory of the image."""
        if self._framework is None:
            return array
        return self._framework.array(array, dtype, "result")

    @functools.cached_property
    def points(self) -> Any:
        """(n, 2) float64: the sites, x and y in pixels."""
        return self._put(self._run.points)

    @functools.cached_property
    def triangles(self) -> Any:
        """(m, 3) int32: the Delaunay triangles, counterclockwise as seen with y up."""
        return self._put(self._run.triangles, "int32")

    @functools.cached_property
    def cells(self) -> Cells:
        """The Voronoi cells, in the order of the points."""
        return Cells(*self._run.cells)

    @functools.cached_property
    def mass(self) -> Any:
        """(n,) float64: the integral of the density over each cell."""
        return self._put(self._run.mass)

    @functools.cached_property
    def centroids(self) -> Any:
        """(n, 2) float64: the centroids of the cells."""
        return self._put(self._run.centroids)

    @functools.cached_property
    def weights(self) -> Any:
        """(n,) float64: weights of the power diagram with ``equal_mass=True``, else None."""
        weights = self._run.weights
        return None if weights is None else self._put(weights)

    @functools.cached_property
    def density(self) -> Any:
        """(height, width) float32: the density that was used."""
        return self._put(self._run.density, "float32")

    @functools.cached_property
    def report(self) -> dict[str, Any]:
        """The program's report: options, history, energies, times, quality."""
        report: dict[str, Any] = json.loads(self._run.report)
        return report

    @property
    def energy(self) -> float:
        """The CVT energy."""
        return float(self.report["energy"])

    @property
    def energy_ratio(self) -> float:
        """The energy divided by that of regular hexagons."""
        return float(self.report["energy_ratio"])

    @property
    def quality(self) -> dict[str, Any]:
        """Figures of the triangles whose circumcentre lies in the domain."""
        quality: dict[str, Any] = self.report["quality"]
        return quality

    @functools.cached_property
    def history(self) -> NDArray[np.void]:
        """One record for each iteration: iteration, energy, gradient_norm, step."""
        import numpy as np

        names = ["iteration", "energy", "gradient_norm", "step"]
        types = np.dtype([(n, np.int64 if n == "iteration" else np.float64) for n in names])
        nan = float("nan")
        rows = [tuple(nan if r[n] is None else r[n] for n in names) for r in self.report["history"]]
        return np.array(rows, dtype=types)

    def _groups(self) -> tuple[Any, ...] | None:
        groups: tuple[Any, ...] | None = self._run.groups
        return groups

    def save(self, path: str | os.PathLike[str], **options: Unpack[RunOptions]) -> None:
        """Writes a file in the format of its extension: any that ``cvtmesh run`` writes.

        Parameters
        ----------
        path : path
            The file is replaced when the new one is complete.
        **options
            Options of outputs, as ``svg="cells"``, ``unit=True`` or ``format="ascii"``.

        Examples
        --------
        >>> import cvtmesh, numpy, os, tempfile
        >>> t = cvtmesh.tessellate(numpy.ones((32, 32)), 20)
        >>> path = os.path.join(tempfile.mkdtemp(), "cells.svg")
        >>> t.save(path, svg="cells")
        >>> os.path.exists(path)
        True
        """
        values, _ = convert("run", {**options, "output": [path]})
        self._run.save(values)

    def _repr_png_(self) -> bytes:
        self._run.save([("output", "<picture>.png")])
        picture: bytes = self._run.picture()
        return picture

    def _repr_html_(self) -> str:
        picture = base64.b64encode(self._repr_png_()).decode()
        return (
            f'<img src="data:image/png;base64,{picture}" style="max-width:480px">'
            f"<p>{len(self.points)} points, {len(self.triangles)} triangles, "
            f"energy {self.energy_ratio:.6f} of the hexagonal reference</p>"
        )

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {len(self.points)} points, {len(self.triangles)} triangles, "
            f"{self.width} x {self.height} pixels, energy_ratio {self.energy_ratio:.6f}>"
        )


def with_bar(callback: Callback | None, iterations: int) -> tuple[Callback | None, Any]:
    """A callback that also moves a bar of tqdm, and the bar; without tqdm the unchanged
    callback."""
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return callback, None
    bar = tqdm(total=iterations, unit="iteration")

    def move(record: dict[str, float]) -> Any:
        bar.update(int(record["iteration"]) - bar.n)
        bar.set_postfix(ratio=f"{record['energy_ratio']:.6f}")
        return callback(record) if callback is not None else None

    return move, bar


def run(
    image: Any,
    options: dict[str, Any],
    callback: Callback | None,
    progress: bool,
    framework: Torch | CuPy | None = None,
) -> Tessellation:
    check_callback(callback)
    values, inputs = convert("run", options)
    path = operand(image, "image", inputs)
    lent = None  # the density in its own memory, if its layout and type fit
    if framework is not None and not isinstance(path, str) and framework.is_density(image):
        lent = image.detach() if is_torch(image) else image
    bar = None
    if progress:
        callback, bar = with_bar(callback, options.get("iterations") or 300)
    try:
        return Tessellation(_core.run(path, values, inputs, callback, lent), framework)
    finally:
        if bar is not None:
            bar.close()


@with_options("run")
def tessellate(
    image: Any,
    points: int | None = None,
    *,
    callback: Callback | None = None,
    progress: bool = False,
    **options: Unpack[RunOptions],
) -> Tessellation:
    """A centroidal Voronoi tessellation of an image, with its Delaunay mesh.

    Parameters
    ----------
    image : path, (height, width) array, bytes, or PIL image
        A picture (dark is dense), or data, whose values are the density. An array means what
        it means in an .npy file: data. NumPy, CuPy, PyTorch and JAX arrays are taken. For an array
        on a CUDA device the work is done there, and the arrays of the result are there too, of CuPy
        or PyTorch, unless `device` names another device. A contiguous float32 array that no option
        changes is used without a copy, and must not change during the call. The host gets one copy,
        for checks, the first sites and the mesh.
    points : int, optional
        The number of sites; not needed if another option gives it.
    callback : callable, optional
        Called with a dict (iteration, energy, energy_ratio, gradient_norm, step) at every iteration
        on all sites; true stops the run, which keeps the best state.
    progress : bool
        Show a progress bar if tqdm is installed.
    {options}

    Returns
    -------
    Tessellation
        With ``points``, ``triangles``, ``cells``, ``mass``, ``energy_ratio``, ``history``,
        ``quality``, ``report``, ``save()``, ``to_meshio()``, ``to_pyvista()`` and ``plot()``.

    Raises
    ------
    ValueError
        An argument or the contents of a file or array are wrong; the message names the array and
        the pixel.
    TypeError
        There is no such option, or its value is of the wrong kind.
    OSError, MemoryError, cvtmesh.DeviceError
        A file cannot be written; memory runs out; the device cannot be used.
    KeyboardInterrupt
        After Ctrl-C, within 0.2 s.

    Notes
    -----
    The same arguments give the same bits as the program ``cvtmesh run``, for any number of threads.

    Examples
    --------
    >>> import cvtmesh, numpy
    >>> y, x = numpy.mgrid[0:80, 0:100]
    >>> t = cvtmesh.tessellate(1.0 + x, 200, seed=7)
    >>> t.points.shape, t.triangles.shape[1], 1 < t.energy_ratio < 1.1
    ((200, 2), 3, True)
    """
    given = {"points": points, **options}
    if ordinal_of(image) is not None:
        image = adopt(image)
    return run(image, given, callback, progress, on_device(image, given))


def is_polygons(value: Any) -> bool:
    if is_array(value):
        return getattr(value, "ndim", 0) == 2 and value.shape[1] == 2
    return isinstance(value, (list, tuple))


def rectangle_around(rings: list[Any]) -> tuple[int, int]:
    """Height and width. Rings may touch the right side only if some touch the left one, and the
    lower side only if some touch the upper one, since a side that rings touch has its own group."""
    import numpy as np

    corners = np.vstack(rings)
    most = np.ceil(corners.max(axis=0)) + (corners.min(axis=0) > 0)
    width, height = np.clip(most, 1, _core.max_side + 1).astype(int)
    return height, width


@with_options("run", domain="image")
def mesh_domain(
    image: Any,
    points: int | None = None,
    *,
    shape: tuple[int, int] | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    **options: Unpack[RunOptions],
) -> Tessellation:
    """A mesh of a domain that keeps its boundary.

    Parameters
    ----------
    image : path, array, bytes, PIL image, or polygons
        The domain: the dark part of a picture (bright with ``invert``), or data where it is 1. Or
        polygons: a list of arrays (n, 2) of corners in pixels, holes by the even-odd rule; the
        density is then 1. The option ``domain`` gives the domain instead, and the image the
        density: ``("mask", picture)``, ``("labels", array)``, ``("polygon", rings)`` or a file of
        these, or ``"frame"``, the entire picture. Arrays on a device are copied to the host, which
        computes the geometry; the arrays of the result are NumPy arrays.
    points : int, optional
        The number of vertices, including those on the boundary.
    shape : (height, width), optional
        The size of the rectangle around polygons; default: the smallest that contains them, and a
        pixel more to the right or below if they touch only that side.
    callback, progress
        As in :func:`tessellate`.
    {options}

    Returns
    -------
    Tessellation
        ``to_meshio()`` keeps the groups: regions, interfaces, holes, sides, the outer boundary.

    Raises
    ------
    ValueError, TypeError, OSError, MemoryError, cvtmesh.DeviceError, KeyboardInterrupt
        As in :func:`tessellate`.

    Examples
    --------
    >>> import cvtmesh
    >>> t = cvtmesh.mesh_domain([[[2, 2], [60, 2], [60, 40], [2, 40]]], 100)
    >>> sorted(t.to_meshio().cells_dict)
    ['line', 'triangle']
    """
    import numpy as np

    given: dict[str, Any] = {"points": points, **options}
    if is_polygons(image):
        rings = [image] if is_array(image) else image
        if len(rings) == 0:
            raise ValueError("polygon: there is no ring")
        rings = [points_array(ring, f"polygon[{k}]") for k, ring in enumerate(rings)]
        size = size_of(rectangle_around(rings) if shape is None else shape)
        given |= {"domain": ("polygon", rings)}
        return run(np.ones(size, np.float32), given, callback, progress)
    if shape is not None:
        raise TypeError("shape: only polygons need one")
    given["domain"] = options.get("domain") or "image"
    return run(image, given, callback, progress)
