"""The program's commands ``stats``, ``batch`` and ``info``."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Mapping, Sequence

from . import _core
from ._arguments import as_npy, convert, is_array, on_disk, operand, points_array, with_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keywords import BatchOptions, StatsOptions


def printed(command: str, path: str | None, values: Any, inputs: Any) -> dict[str, Any]:
    """What a command prints as JSON."""
    (text,) = _core.command(command, path, [*values, ("json", "true")], inputs, ["-"])
    report: dict[str, Any] = json.loads(bytes(text))
    return report


@with_options("stats", "json")
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
        As of :func:`tessellate`.

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
        inputs.append(as_npy(points_array(points, "points"), "points"))
        report = printed("stats", inputs[-1][0], values, inputs)
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
        raise TypeError(f"{name}: input: a batch reads files")
    if isinstance(options.get("report"), (str, os.PathLike)):
        options["report"] = os.fspath(options["report"])
    values, inputs = convert("run", options)
    if inputs:
        raise TypeError(f"{name}: {inputs[0][0]}: a batch reads files")
    texts: dict[str, list[str]] = {}
    for option, text in values:
        texts.setdefault(option, []).append(text)
    line = {option: text if len(text) > 1 else text[0] for option, text in texts.items()}
    return json.dumps({"input": on_disk(os.fspath(image), name), **line}) + "\n"


@with_options("batch", "report")
def batch(runs: Any, **options: Unpack[BatchOptions]) -> dict[str, Any]:
    """Many runs in one process, several at a time, resumable.

    Parameters
    ----------
    runs : sequence of dict, or path
        Each dict holds ``input``, the path of an image, and options of :func:`tessellate`, as
        ``points`` and ``output``. A path names such a list (.jsonl), or is a glob of images;
        then `output` and other names of files may hold ``{stem}``, ``{name}``, ``{ext}``, ``{dir}``
        and ``{index}``.
    {options}

    Returns
    -------
    dict
        Counts ``jobs`` (runs), ``done``, ``skipped`` and ``failed``; ``failures``, the first 1000 with
        their reasons; ``seconds``. A run that fails is no exception.

    Raises
    ------
    ValueError, TypeError
        A run or an option is wrong; nothing has been done then.
    OSError, MemoryError, cvtmesh.DeviceError, KeyboardInterrupt
        As of :func:`tessellate`. Without `journal` a list of dicts cannot be resumed.

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
        return run_batch(path, options)
    if not isinstance(runs, Sequence):
        raise TypeError(f"runs: {type(runs).__name__} is neither a path nor a sequence of dicts")
    import tempfile

    lines = [run_line(run, f"runs[{k}]") for k, run in enumerate(runs)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "jobs.jsonl")
        with open(path, "w") as file:
            file.writelines(lines)
        return run_batch(path, options)


def run_batch(path: str, options: Mapping[str, Any]) -> dict[str, Any]:
    values, inputs = convert("batch", options)
    values.append(("report", "<report>.json"))
    (text,) = _core.command("batch", path, values, inputs, ["<report>.json"])
    report: dict[str, Any] = json.loads(bytes(text))
    return report


def info() -> dict[str, Any]:
    """What this build can do, and the devices it sees.

    Examples
    --------
    >>> import cvtmesh
    >>> cvtmesh.info()["version"] == cvtmesh.__version__
    True
    """
    return printed("info", None, [], [])
