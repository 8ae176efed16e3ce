"""Triangulations of vertices, segments, holes and regions with Triangle's switches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Mapping

from . import _core

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Name: kind of number, numbers per row (0: any), and the array with the same number of rows.
FIELDS = {
    "vertices": ("d", 2, None),
    "vertex_attributes": ("d", 0, "vertices"),
    "vertex_markers": ("i", 1, "vertices"),
    "segments": ("i", 2, None),
    "segment_markers": ("i", 1, "segments"),
    "holes": ("d", 2, None),
    "regions": ("d", 4, None),
    "triangles": ("i", 3, None),
    "triangle_attributes": ("d", 0, "triangles"),
    "triangle_max_area": ("d", 1, "triangles"),
}
RESULTS = ("neighbors", "edges", "edge_markers")
SWITCH = re.compile(r"([qa])((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)?|S(\d*)|o(\d)|([a-zA-Z])")
IGNORED = "zQVXiFlsCIPNE"  # P, N and E are read separately
REFUSED = {
    "u": "u, a test of the user's, is not supported: a and triangle_max_area bound areas",
    "v": "v, the Voronoi diagram, is not supported: cvtmesh.voronoi makes cells",
    "g": "g, an .off file, is not supported: save the arrays, or use cvtmesh.mesh",
    "h": "h, Triangle's help, is not supported: see help(cvtmesh.triangulate)",
}


class Switches:
    """The meaning of a string of switches."""

    def __init__(self, text: str) -> None:
        self.letters = ""
        self.min_angle = self.max_area = 0.0
        self.most_added = -1
        self.order = 1
        at = 0
        while at < len(text):
            found = SWITCH.match(text, at)
            if not found:
                raise ValueError(f"switches {text!r}: {text[at]!r} is not a switch")
            self._take(found, text)
            at = found.end()

    def _take(self, found: re.Match[str], text: str) -> None:
        bounded, number, steiner, order, letter = found.groups()
        if bounded == "q":
            self.min_angle = float(number) if number else 20.0
            if self.min_angle > 40:
                raise ValueError(f"switches {text!r}: q{number} is above 40 degrees, the largest bound")
        elif bounded and number:
            self.max_area = float(number)
            if not self.max_area > 0:
                raise ValueError(f"switches {text!r}: the largest area must be positive")
        elif bounded:
            self.letters += "a"
        elif steiner is not None:
            self.most_added = int(steiner or 0)
        elif order:
            self.order = int(order)
            if self.order not in (1, 2):
                raise ValueError(f"switches {text!r}: elements of order {order}; 1 and 2 are possible")
        elif letter in REFUSED:
            raise ValueError(f"switches {text!r}: {REFUSED[letter]}")
        elif letter in IGNORED or letter in "prcDAjneBY":
            self.letters += letter
        else:
            raise ValueError(f"switches {text!r}: {letter!r} is not a switch")


def rows_of(name: str, value: Any) -> NDArray[Any]:
    """One of the given arrays, (n, width) and contiguous."""
    import numpy as np

    kind, width, _ = FIELDS[name]
    try:
        array = np.asarray(value)
        if array.size == 0:
            return np.empty((0, width or 1), "f8" if kind == "d" else "i4")
        if array.ndim == 1 and width <= 1:
            array = array.reshape(-1, 1)
        if array.ndim != 2 or (width and array.shape[1] != width):
            shape = f"(n, {width})" if width else "(n, k)"
            raise ValueError(f"the shape is {array.shape}, not {shape}")
        made = np.ascontiguousarray(array, "f8")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from None
    if kind == "d":
        return made
    if not (np.abs(made) < 2**31).all() or (made != np.rint(made)).any():
        raise ValueError(f"{name}: not integers of 32 bits")
    return made.astype("i4")


def arrays_of(tri: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """The given arrays, checked against each other."""
    import numpy as np

    if not isinstance(tri, Mapping):
        raise TypeError(f"a dict with the key 'vertices' is wanted, not {type(tri).__name__}")
    unknown = [name for name in tri if name not in FIELDS and name not in RESULTS]
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r}; known are {', '.join(FIELDS)}")
    if tri.get("vertices") is None:
        raise ValueError("vertices: missing")
    given = {name: rows_of(name, tri[name]) for name in FIELDS if tri.get(name) is not None}
    for name, array in list(given.items()):
        of = FIELDS[name][2]
        if of is not None and len(array) == 0:
            del given[name]
        elif of is not None and len(array) != len(given.get(of, ())):
            raise ValueError(f"{name}: {len(array)} rows for {len(given.get(of, ()))} {of}")
    for name in ("triangle_attributes", "vertex_attributes"):
        if name in given and not np.isfinite(given[name]).all():
            raise ValueError(f"{name}: not finite")
    return given


def add_middles(made: dict[str, NDArray[Any]]) -> None:
    """o2: adds to each triangle the midpoints of the sides opposite its corners."""
    import numpy as np

    corners, edges = made["triangles"], made["edges"].astype("i8")
    count = len(made["vertices"])
    order = np.sort(edges, axis=1) @ [count, 1]
    rank = np.argsort(order)
    sides = np.sort(corners[:, [[1, 2], [2, 0], [0, 1]]].astype("i8"), axis=2) @ [count, 1]
    middle = rank[np.searchsorted(order, sides, sorter=rank)]
    made["triangles"] = np.hstack([corners, (count + middle).astype("i4")])
    for name in ("vertices", "vertex_attributes"):
        if name in made:
            made[name] = np.vstack([made[name], made[name][edges].mean(axis=1)])
    made["vertex_markers"] = np.vstack([made["vertex_markers"], made["edge_markers"]])


def drop_unused(made: dict[str, NDArray[Any]]) -> None:
    """j: removes vertices without triangles."""
    import numpy as np

    used = np.unique(made["triangles"])
    number = np.full(len(made["vertices"]), -1, "i4")
    number[used] = np.arange(len(used), dtype="i4")
    for name in ("vertices", "vertex_attributes", "vertex_markers"):
        if name in made:
            made[name] = made[name][used]
    for name in ("triangles", "edges"):
        made[name] = number[made[name]]


def triangulate(tri: Mapping[str, Any], opts: str = "") -> dict[str, NDArray[Any]]:
    """Triangulates vertices and segments; a replacement of ``triangle.triangulate``.

    Parameters
    ----------
    tri : dict
        `vertices` (n, 2); with `p`: `segments` (m, 2), `holes` (h, 2), a point in each, and
        `regions` (k, 4), a point, an attribute and the largest area of each; with `r`: `triangles`
        (t, 3), `triangle_attributes` and `triangle_max_area`. Also `vertex_attributes`,
        `vertex_markers` and `segment_markers`. Segments may cross.
    opts : str
        Triangle's switches. ``p``: segments, holes and regions count. ``r``: refines triangles.
        ``q30``: no angle below 30 degrees; 20 without a number, at most 40. ``a0.1``: the largest
        area; without a number, those of regions or triangles. ``A``: triangles get the attributes
        of regions. ``D``: all triangles are Delaunay. ``Y``: no new vertex on the border; ``YY``: on
        no segment. ``S100``: at most 100 new vertices. ``c``: the convex hull is kept. ``j``: leaves
        out vertices without triangles. ``n``, ``e``: `neighbors`, `edges` and `edge_markers`.
        ``o2``: six nodes in each triangle. ``B``, ``P``, ``N``, ``E``: without markers, segments,
        vertices, triangles. ``z Q V X i F l s C I`` change nothing.

    Returns
    -------
    dict
        `vertices`, the given ones first with exactly their coordinates, `vertex_markers`,
        `triangles`, counterclockwise, and, as far as they are asked for or were given,
        `vertex_attributes`, `triangle_attributes`, `segments`, `segment_markers`, `neighbors`,
        `edges`, `edge_markers`, `holes` and `regions`.

    Raises
    ------
    ValueError, TypeError, MemoryError
        The message names the switch, the key or the vertex.

    Examples
    --------
    >>> import cvtmesh
    >>> square = dict(vertices=[[0, 0], [1, 0], [1, 1], [0, 1]],
    ...               segments=[[0, 1], [1, 2], [2, 3], [3, 0]])
    >>> made = cvtmesh.triangulate(square, "pq30a0.2")
    >>> sorted(made)
    ['segment_markers', 'segments', 'triangles', 'vertex_markers', 'vertices']
    """
    import numpy as np

    wanted = Switches(opts)
    given = arrays_of(tri)
    asked = wanted.letters
    if "r" in asked and "triangles" not in given:
        raise ValueError("triangles: missing; switch r refines them")
    if not np.isfinite(given.get("triangle_max_area", np.empty(0))).all():
        raise ValueError("triangle_max_area: not finite")
    made: dict[str, Any] = _core.triangulate(
        given, asked, wanted.min_angle, wanted.max_area, wanted.most_added
    )
    is_segment = made.pop("is_segment").astype(bool)
    if "j" in asked:
        drop_unused(made)
    if "p" in asked or "c" in asked:
        made["segments"] = made["edges"][is_segment]
        made["segment_markers"] = made["edge_markers"][is_segment]
    if wanted.order == 2:
        add_middles(made)
    if not made["triangle_attributes"].size:
        del made["triangle_attributes"]
    for letter, names in (
        ("n", ["neighbors"]),
        ("e", ["edges", "edge_markers"]),
    ):
        if letter not in asked:
            for name in names:
                del made[name]
    left_out = {
        "B": ("vertex_markers", "segment_markers", "edge_markers"),
        "P": ("segments", "segment_markers"),
        "N": ("vertices", "vertex_attributes", "vertex_markers"),
        "E": ("triangles", "triangle_attributes"),
    }
    for letter, fields in left_out.items():
        for name in fields if letter in asked else ():
            made.pop(name, None)
    if "p" in asked:
        made.update({name: given[name] for name in ("holes", "regions") if name in given})
    return made
