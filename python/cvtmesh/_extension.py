"""Chooses the extension ``cvtmesh._core``: that of the distribution cvtmesh-cuda13, which also has
the CUDA side, if it is installed; else the extension beside this file."""

from __future__ import annotations

import importlib.util
import sys
import warnings

from ._version import version


def load(path: str) -> None:
    name = __package__ + "._core"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module
    setattr(sys.modules[__package__], "_core", module)


def choose() -> None:
    try:
        import cvtmesh_cuda13  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return
    if cvtmesh_cuda13.version != version:
        reason = f"its version is {cvtmesh_cuda13.version}, that of cvtmesh {version}"
    else:
        try:
            return load(cvtmesh_cuda13.extension)
        except ImportError as error:
            reason = str(error)
    warnings.warn(f"cvtmesh-cuda13 is not used: {reason}", RuntimeWarning, stacklevel=3)
