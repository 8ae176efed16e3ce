"""Writes cvtmesh/_keywords.py: the keywords of each command as a TypedDict, for type checkers.

usage: keywords.py FOLDER-OF-_core OUTPUT
"""

import sys

sys.path.insert(0, sys.argv[1])
import _core  # noqa: E402

# The commands, and those of their options that are parameters or results of the functions.
COMMANDS = {
    "run": {"points"},
    "mesh": {"output"},
    "stats": {"json"},
    "batch": {"report"},
    "voronoi": {"method", "width", "height", "like", "output", "format", "report", "check"},
    "density": {"output", "format", "report"},
    "segment": {"output", "format", "report"},
    "minimize": set("nx ny n atoms dim param bounds output format report history".split()),
    "lcp": set(
        "problem size mesh load matrix rhs lower upper storage output format ascii report".split()
    ),
    "hlcp": set("example size matrix-a matrix-b rhs output-z output-w report".split()),
}
PROGRAM_ALONE = {"help", "version", "config", "quiet", "verbose"}
PLAIN = {"flag": "bool", "integer": "int", "real": "float"}
HEADER = '''"""Generated at build time from the option table of the program: for type checkers only."""

from __future__ import annotations

import os
from typing import Any, Literal, Sequence, TypedDict, Union

Path = Union[str, "os.PathLike[str]"]
Numbers = Union[str, float, Sequence[float]]
'''


def type_of(row):
    if row["type"] in ("choice", "switch"):
        names = "Literal[" + ", ".join(f'"{name}"' for name in row["choices"]) + "]"
        return f"Union[bool, {names}]" if row["type"] == "switch" else names
    if row["reads"]:
        return "Any"
    if row["type"] == "list":
        return "Union[Path, Numbers, Sequence[Union[Path, Numbers]]]"
    return PLAIN.get(row["type"], "Union[Path, Numbers]")


with open(sys.argv[2], "w") as out:
    out.write(HEADER)
    for command, taken in COMMANDS.items():
        out.write(f"\n\nclass {command.capitalize()}Options(TypedDict, total=False):\n")
        for row in _core.options(command):
            if row["name"] not in taken | PROGRAM_ALONE:
                out.write(f'    {row["name"].replace("-", "_")}: {type_of(row)} | None\n')
