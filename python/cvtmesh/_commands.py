"""The program's commands ``density``, ``segment``, ``stats``, ``batch`` and ``info``."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Mapping, Sequence

from . import _core
from ._arguments import (
    convert,
    is_array,
    lent,
    on_disk,
    operand,
    points_array,
    with_options,
)
from ._device import CuPy, Torch, adopt, on_device, ordinal_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from ._keywords import BatchOptions, DensityOptions, SegmentOptions, StatsOptions


# Options of `density` with which a density stays on its device.
ON_DEVICE = {"smooth", "grade", "device", "threads"}


def condition_there(image: Any, framework: Torch | CuPy, options: dict[str, Any]) -> Any:
    """The result of :func:`condition` on the device of the image; None: the host must compute it,
    or find the error."""
    if image.ndim != 2 or not 0 < max(image.shape) <= _core.max_side or min(image.shape) == 0:
        return None
    if any(options[name] is not None for name in options.keys() - ON_DEVICE):
        return None
    rounded = framework.array(image, "float32", "image")
    low, high = framework.range(rounded)
    if not 0 <= low <= high or not 0 < high < float("inf"):
        return None
    density = framework.array(rounded, "float64", "image")
    values, _ = convert("density", options)
    framework.synchronize()
    _core.condition(values, density)
    return density


@with_options("density")
def condition(image: Any, **options: Unpack[DensityOptions]) -> Any:
    """The density of an image: tone, domain, weights, smoothing (`smooth`, which
    takes a number or a pair) and grading (`grade`, likewise, and `grade_size`).

    Parameters
    ----------
    image : path, (height, width) array, bytes, or PIL image
        As in :func:`tessellate`, which takes the result as its image. An array on a CUDA device is
        copied to the host if an option other than `smooth` and `grade` changes it.
    {options}

    Returns
    -------
    (height, width) float64
        A NumPy array; for an image on a CUDA device an array of CuPy or PyTorch there, unless
        `device` names another device.

    Raises
    ------
    ValueError, TypeError, OSError, MemoryError, cvtmesh.DeviceError, KeyboardInterrupt
        As in :func:`tessellate`.

    Examples
    --------
    >>> import cvtmesh, numpy
    >>> density = numpy.ones((16, 16)); density[8, 8] = 100
    >>> graded = cvtmesh.condition(density, grade=1)
    >>> bool(graded[8, 7] > 1), bool((graded >= density - 1e-6).all())
    (True, True)
    """
    given: dict[str, Any] = {**options}
    if ordinal_of(image) is not None:
        image = adopt(image)
    framework = on_device(image, given)
    made = None if framework is None else condition_there(image, framework, given)
    if made is not None:
        return made
    values, inputs = convert("density", given)
    values.append(("output", "<density>.npy"))
    path = operand(image, "image", inputs)
    (made,) = _core.command("density", path, values, inputs, [], ["<density>.npy"])
    return made if framework is None else framework.array(made, "float64", "density")


class Segmentation:
    """What :func:`segment` returns.

    Attributes
    ----------
    mask : (height, width) bool
        True in the parts of the object that a seed marks.
    level_set : (height, width) float64
        Negative inside.
    contour : bytes
        The boundary of the object, as an SVG file.
    report : dict
        The program's report.
    """

    def __init__(self, report: bytes, contour: bytes, level_set: Any, mask: Any) -> None:
        self.mask: NDArray[np.bool_] = mask != 0
        self.level_set: NDArray[np.float64] = level_set
        self.contour = contour
        self.report: dict[str, Any] = json.loads(report)

    def __repr__(self) -> str:
        height, width = self.mask.shape
        return f"<Segmentation: {int(self.mask.sum())} of {width} x {height} pixels>"

    def _repr_svg_(self) -> str:
        return self.contour.decode()


@with_options("segment")
def segment(image: Any, **options: Unpack[SegmentOptions]) -> Segmentation:
    """The object in an image that seeds mark, by a level set.

    Parameters
    ----------
    image : path, (height, width) array, bytes, or PIL image
        An array on a CUDA device is copied to the host.
    {options}

    Returns
    -------
    Segmentation
        Its arrays are NumPy arrays for any image.

    Raises
    ------
    ValueError, TypeError, OSError, MemoryError, cvtmesh.DeviceError, KeyboardInterrupt
        As in :func:`tessellate`.

    Examples
    --------
    >>> import cvtmesh, numpy
    >>> y, x = numpy.mgrid[0:64, 0:64]
    >>> disc = (numpy.hypot(x - 32, y - 32) < 16).astype(float)
    >>> s = cvtmesh.segment(disc, inside=[(32, 32, 4)], outside=[(4, 4, 3)])
    >>> bool(s.mask[32, 32]), bool(s.mask[2, 2])
    (True, False)
    """
    report, contour, *arrays = "<report>.json", "<contour>.svg", "<level_set>.npy", "<mask>.png"
    values, inputs = convert("segment", options)
    values.append(("report", report))
    values += [("output", path) for path in (contour, *arrays)]
    path = operand(image, "image", inputs)
    return Segmentation(*_core.command("segment", path, values, inputs, [report, contour], arrays))


def printed(command: str, path: Any, values: Any, inputs: Any, output: str = "-") -> dict[str, Any]:
    """What a command prints as JSON, or writes to another output."""
    option = ("json", True) if output == "-" else ("report", output)
    (text,) = _core.command(command, path, [*values, option], inputs, [output])
    report: dict[str, Any] = json.loads(text)
    return report


@with_options("stats")
def stats(points: Any, **options: Unpack[StatsOptions]) -> dict[str, Any]:
    """Figures of points, a drawing or a mesh.

    Parameters
    ----------
    points : (n, 2) array, or path
        Points in pixels, or a file of points, dots (SVG) or a mesh. Arrays on a CUDA device are
        copied to the host.
    {options}

    Returns
    -------
    dict
        ``quality`` (of the triangles whose circumcentre lies in the domain) and ``quality_all``;
        with `density` also ``energy``, ``energy_bound`` and ``energy_ratio``.

    Raises
    ------
    ValueError, TypeError, OSError, MemoryError, cvtmesh.DeviceError, KeyboardInterrupt
        As in :func:`tessellate`.

    Examples
    --------
    >>> import cvtmesh, numpy
    >>> density = numpy.ones((64, 64))
    >>> t = cvtmesh.tessellate(density, 200)
    >>> cvtmesh.stats(t.points, density=density)["energy_ratio"] == t.energy_ratio
    True
    """
    values, inputs = convert("stats", options)
    if is_array(points) or isinstance(points, (list, tuple)):
        report = printed("stats", lent(points_array(points, "points"), "points"), values, inputs)
        del report["file"]
        return report
    return printed("stats", operand(points, "points", inputs), values, inputs)


def run_line(run: Mapping[str, Any], name: str) -> str:
    """A run as a line of a list."""
    if not isinstance(run, Mapping) or "input" not in run:
        raise TypeError(f"{name}: a dict of `input` and options of tessellate is needed")
    options = dict(run)
    image = options.pop("input")
    if not isinstance(image, (str, os.PathLike)):
        raise TypeError(f"{name}: input must be a path, since a batch reads files")
    if isinstance(options.get("report"), (str, os.PathLike)):
        options["report"] = os.fspath(options["report"])
    values, inputs = convert("run", options)
    given: dict[str, list[Any]] = {}
    for option, value in values:
        if inputs or (isinstance(value, tuple) and any(isinstance(each, tuple) for each in value)):
            raise TypeError(f"{name}: {option} must be a path, since a batch reads files")
        if isinstance(value, tuple):
            value = _core.option_text("run", option, value)
        given.setdefault(option, []).append(value)
    line = {option: each if len(each) > 1 else each[0] for option, each in given.items()}
    return json.dumps({"input": on_disk(os.fspath(image), name), **line}) + "\n"


@with_options("batch")
def batch(runs: Any, **options: Unpack[BatchOptions]) -> dict[str, Any]:
    """Many runs in one process, several at a time, resumable.

    Parameters
    ----------
    runs : sequence of dict, or path
        Each dict holds ``input``, the path of an image, and options of :func:`tessellate`, such as
        ``points`` and ``output``. A path names such a list (.jsonl), or is a glob of images; then
        `output` and other names of files may hold ``{stem}``, ``{name}``, ``{ext}``, ``{dir}`` and
        ``{index}``.
    {options}

    Returns
    -------
    dict
        Counts ``jobs`` (runs), ``done``, ``skipped`` and ``failed``; ``failures``, the first 1000 with
        their reasons; ``seconds``. A run that fails raises no exception.

    Raises
    ------
    ValueError, TypeError
        A run or an option is wrong; nothing has been done then.
    OSError, MemoryError, cvtmesh.DeviceError, KeyboardInterrupt
        As in :func:`tessellate`. Without `journal` a list of dicts cannot be resumed.

    Examples
    --------
    >>> import cvtmesh, numpy, os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> path = os.path.join(folder, "a.npy")
    >>> numpy.save(path, numpy.ones((32, 32)))
    >>> runs = [{"input": path, "points": n, "output": f"{folder}/{n}.csv"} for n in (10, 20)]
    >>> cvtmesh.batch(runs)["done"], sorted(os.listdir(folder))
    (2, ['10.csv', '20.csv', 'a.npy'])
    """
    if isinstance(runs, (str, os.PathLike)):
        path = on_disk(os.fspath(runs), "runs")
        if not set("*?[") & set(path):
            os.stat(path)  # raises FileNotFoundError
        return printed("batch", path, *convert("batch", options), "<report>.json")
    if not isinstance(runs, Sequence):
        raise TypeError(f"runs: {type(runs).__name__} is neither a path nor a sequence of dicts")
    import tempfile

    lines = [run_line(run, f"runs[{k}]") for k, run in enumerate(runs)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "jobs.jsonl")
        with open(path, "w") as file:
            file.writelines(lines)
        return printed("batch", path, *convert("batch", options), "<report>.json")


def info() -> dict[str, Any]:
    """The features of this build, and the devices that it finds.

    Examples
    --------
    >>> import cvtmesh
    >>> cvtmesh.info()["version"] == cvtmesh.__version__
    True
    """
    return printed("info", None, [], [])
