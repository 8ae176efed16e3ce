"""Options of the program that are not among the ``**options`` of its functions, since they are
parameters or results of the functions. Also read at build time, by python/keywords.py."""

from __future__ import annotations

# For every command: messages of the program, and sources of options.
PROGRAM_ALONE = frozenset({"help", "version", "config", "quiet", "verbose"})
FILES = {"output", "format", "report"}
LEFT_OUT = {
    "run": {"points"},
    "mesh": {"output", "points", "size"},
    "sphere": {"output", "points", "report"},
    "stats": {"json"},
    "batch": {"report"},
    "voronoi": FILES | set("method width height like check".split()),
    "density": FILES,
    "segment": FILES,
    "minimize": FILES | set("nx ny n atoms dim param bounds history".split()),
    "lcp": FILES | set("problem size mesh load matrix rhs lower upper storage".split()),
    "hlcp": set("example size matrix_a matrix_b rhs output_z output_w report".split()),
}
