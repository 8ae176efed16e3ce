"""Densities and objects of images: the program's commands ``density`` and ``segment``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import _core
from ._arguments import convert, from_npy, operand, with_options
from ._device import CuPy, Torch, adopt, on_device, ordinal_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from ._keywords import DensityOptions, SegmentOptions


# Options of `density` with which a density stays on its device.
ON_DEVICE = {"smooth", "bias", "grade", "grade_max", "device", "threads"}


def condition_there(image: Any, framework: Torch | CuPy, options: dict[str, Any]) -> Any:
    """The result of :func:`condition` on the device of the image; None: the host must make it, or say
    what is wrong."""
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


@with_options("density", "output", "format", "report")
def condition(image: Any, **options: Unpack[DensityOptions]) -> Any:
    """The density of an image: tone, domain, weights, smoothing (`smooth`, `bias`) and grading
    (`grade`, `grade_max`, `grade_size`).

    Parameters
    ----------
    image : path, (height, width) array, bytes, or PIL image
        As of :func:`tessellate`, which takes the result as its image. An array on a CUDA device is
        copied to the host if an option other than `smooth`, `bias`, `grade` and `grade_max` changes
        it.
    {options}

    Returns
    -------
    (height, width) float64
        A NumPy array; of CuPy or PyTorch, where the image is, if that is on a CUDA device, unless
        `device` names another one.

    Raises
    ------
    ValueError, TypeError, OSError, MemoryError, cvtmesh.DeviceError, KeyboardInterrupt
        As of :func:`tessellate`.

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
    (density,) = _core.command("density", path, values, inputs, ["<density>.npy"])
    made = from_npy(density)
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

    def __init__(self, report: Any, level_set: Any, mask: Any, contour: Any) -> None:
        self.mask: Any = _core.read_image(mask) > 0.5
        self.level_set: NDArray[np.float64] = from_npy(level_set)
        self.contour = bytes(contour)
        self.report: dict[str, Any] = json.loads(bytes(report))

    def __repr__(self) -> str:
        height, width = self.mask.shape
        return f"<Segmentation: {int(self.mask.sum())} of {width} x {height} pixels>"

    def _repr_svg_(self) -> str:
        return self.contour.decode()


@with_options("segment", "output", "format", "report")
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
        Of NumPy arrays, wherever the image was.

    Raises
    ------
    ValueError, TypeError, OSError, MemoryError, cvtmesh.DeviceError, KeyboardInterrupt
        As of :func:`tessellate`.

    Examples
    --------
    >>> import cvtmesh, numpy
    >>> y, x = numpy.mgrid[0:64, 0:64]
    >>> disc = (numpy.hypot(x - 32, y - 32) < 16).astype(float)
    >>> s = cvtmesh.segment(disc, inside=[(32, 32, 4)], outside=[(4, 4, 3)])
    >>> bool(s.mask[32, 32]), bool(s.mask[2, 2])
    (True, False)
    """
    outputs = ["<report>.json", "<level_set>.npy", "<mask>.png", "<contour>.svg"]
    values, inputs = convert("segment", options)
    values.append(("report", outputs[0]))
    values += [("output", path) for path in outputs[1:]]
    path = operand(image, "image", inputs)
    return Segmentation(*_core.command("segment", path, values, inputs, outputs))
