"""The extension of cvtmesh with its CUDA side; ``import cvtmesh`` finds it here."""

import importlib.machinery
import os

from ._version import version

__all__ = ["extension", "version"]

_places = [
    os.path.join(os.path.dirname(__file__), "_core" + suffix)
    for suffix in importlib.machinery.EXTENSION_SUFFIXES
]
extension = next(place for place in _places if os.path.exists(place))
