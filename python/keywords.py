"""Writes cvtmesh/_keywords.py: the keywords of each command as a TypedDict, for type checkers.

usage: keywords.py FOLDER-OF-_core OUTPUT
"""

import os
import sys

sys.path[:0] = [sys.argv[1], os.path.join(os.path.dirname(os.path.abspath(__file__)), "cvtmesh")]
import _core  # noqa: E402
from _left_out import LEFT_OUT, PROGRAM_ALONE  # noqa: E402

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
    if row["type"] == "integer" and "|" in row["argument"]:
        return "Union[int, str]"
    return PLAIN.get(row["type"], "Union[Path, Numbers]")


with open(sys.argv[2], "w") as out:
    out.write(HEADER)
    for command, taken in LEFT_OUT.items():
        out.write(f"\n\nclass {command.capitalize()}Options(TypedDict, total=False):\n")
        for row in _core.options(command):
            name = row["name"].replace("-", "_")
            if name not in taken | PROGRAM_ALONE:
                out.write(f"    {name}: {type_of(row)} | None\n")
