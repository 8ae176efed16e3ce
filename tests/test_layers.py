"""The design in the files: a room includes the rooms below it and no other; files are short; the
guide for contributors names what exists."""

import fnmatch
import re

from conftest import ROOT

BELOW = {}
for line in (ROOT / "rooms.txt").read_text().splitlines():
    name, allowed = line.split(":")
    BELOW[name] = [room for word in allowed.split() for room in (BELOW if word == "*" else [word])]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def sources(room):
    found = [path for path in sorted((ROOT / room).rglob("*")) if path.suffix in (".c", ".h", ".cpp", ".cu")
             and (room not in BELOW or room_of(str(path.relative_to(ROOT))) == room)]
    assert found, f"{room}: no source file"
    return found


def room_of(file):
    parts = file.split("/")
    return "/".join(parts[:2]) if "/".join(parts[:2]) in BELOW else parts[0]


def test_cuda_files_are_named_so():
    for room in BELOW:
        for path in sources(room):
            assert path.suffix != ".cu" or path.stem.endswith("_cuda"), path


def test_includes():
    wrong = []
    for room, below in BELOW.items():
        for path in sources(room):
            for included in INCLUDE.findall(path.read_text()):
                target = room_of(included)
                if not (ROOT / included).is_file():
                    wrong.append(f'{path}: "{included}" is not a file below the root')
                elif target != room and target not in below:
                    wrong.append(f"{path}: {room} must not include {included}")
    assert not wrong, "\n".join(wrong)


LINES_MAX = 1000
# A file is a topic of 300 to 800 lines. Each of more than this many has a reason here.
LINES_WITHOUT_REASON = 600
REASONS = {
    "cli/batch.c": "the jobs, their devices and the journal share one state",
    "cli/option_table.c": "a row for each option, with its paragraph of the manual page",
    "density/pictures/image_tiff.c": "every layout of samples that TIFF has",
    "density/segmentation.c": "seeds, the level set that they bound, and the steps from a picture to a segment",
    "draw/tour.c": "a tour, from its first edges to its last exchange",
    "lcp/grid/grid_levels_cuda.cu": "the coarse levels, in tiles and in one block",
    "lcp/grid/grid_lines.c": "the functions that are compiled for two widths of vectors",
    "lcp/grid/grid_march_cuda.cu": "marches down a strip share its lines in registers",
    "lcp/grid/grid_node.h": "all that happens at a node, once for every loop",
    "lcp/sparse/hierarchy.c": "coarse unknowns, and the levels made of them",
    "meshes/delaunay/delaunay.c": "the sort that divides the points, and the triangulation of them",
    "meshes/domain/boundary.c": "sampling, sliding and fitting all place the cuts of a stretch",
    "meshes/domain/contour_trace.c": "arcs, their specks and their corners: what marching squares leave",
    "meshes/domain/pslg.c": "both readers of graphs divide the plane into the same parts",
    "meshes/formats/format_msh.c": "reader and writer of one format, two versions of it",
    "meshes/formats/format_svg.c": "outlines, dots and strokes share the readers of paths and transforms",
    "meshes/formats/format_vtu.c": "reader and writer of one format, with its compressors",
    "meshes/formats/polygon_file.c": "rings as they are read, divided and joined",
    "meshes/refine/adapt.c": "one state that all steps of the adaption change",
    "meshes/refine/refine.c": "setting up, measuring and the result of a refinement",
    "meshes/refine/refine_improve.c": "every move of a vertex asks for the same room",
    "meshes/refine/refine_insert.c": "new vertices inside and on segments, which ask for each other",
    "viewer/solver.c": "the thread that solves, and what steers it",
}


def test_files_are_short():
    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines())
             for room in BELOW for path in sources(room)}
    long = [f"{name}: {count} lines" for name, count in lines.items()
            if count > (LINES_MAX if REASONS.get(name) else LINES_WITHOUT_REASON)]
    assert not long, "\n".join(long)
    idle = [name for name in REASONS if lines.get(name, 0) <= LINES_WITHOUT_REASON]
    assert not idle, f"reasons that no file needs: {idle}"


FUNCTION = re.compile(r"^(?!return|else|typedef)[A-Za-z_][\w \t*]*[ *](\w+)\(([^;{}]|\n)*?\)\s*\{", re.M)
# Files that may define a function of the same name; the tables of devices need three.
SAME_NAME_MAX = 3
# Phases of lbfgsb/iteration.h, which every kind of executor defines: CPU, CUDA, panels, divided.
PHASES = {"test_trial_point", "move_trial_point", "update_matrices", "next_breakpoint"}


def test_names_lead_home():
    """ctags finds a function by its name: few files define a function of the same name."""
    files = {}
    for room in [*BELOW, "tests/bench"]:
        for path in sources(room):
            text = re.sub(r"/\*.*?\*/|__launch_bounds__\([^)]*\)", "", path.read_text(), flags=re.S)
            for match in FUNCTION.finditer(text):
                files.setdefault(match[1], set()).add(str(path.relative_to(ROOT)))
    assert "cvtm_delaunay" in files
    shared = {name: sorted(where) for name, where in files.items()
              if len(where) > SAME_NAME_MAX + (name in PHASES) and name != "main"}
    assert not shared, shared


def test_contributing_names_what_exists():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    table = text[text.index("## Where do I change"):text.index("## Rules")]
    words = re.findall(r"`([^`]+)`", table)
    code = "\n".join(path.read_text() for room in BELOW for path in sources(room))
    for word in words:
        if "NAME" in word or "..." in word:
            continue
        if "/" in word:
            assert (ROOT / word).exists(), word
        elif "." not in word:
            assert re.search(rf"\b{word}\b", code), word


def test_design_names_what_exists():
    files = [str(path.relative_to(ROOT)) for room in BELOW for path in (ROOT / room).rglob("*")]
    code = "\n".join(path.read_text() for room in BELOW for path in sources(room))
    for word in re.findall(r"`([^`]+)`", (ROOT / "docs/design.md").read_text()):
        if re.fullmatch(r"[\w/]+_\w+", word) and "/" not in word:
            assert re.search(rf"\b{word}\b", code), word
        elif re.fullmatch(r"[\w/*]+\.(c|h|cu)", word):
            assert any(fnmatch.fnmatch("/" + file, "*/" + word) for file in files), word


def test_design_shows_the_rooms():
    rooms = "".join(f"    {line}\n" for line in (ROOT / "rooms.txt").read_text().splitlines())
    assert f"\n\n{rooms}\n" in (ROOT / "docs/design.md").read_text()


def test_functions_with_options_take_none():
    """tests/test_library.c calls every public function that has options without them."""
    listed = (ROOT / "packaging/public_headers.cmake").read_text()
    calls = (ROOT / "tests/test_library.c").read_text()
    functions = []
    for header in re.findall(r"[a-z0-9_]+/[a-z0-9_]+\.h", listed):
        if (ROOT / header).exists():
            text = (ROOT / header).read_text()
            functions += [name for name, arguments in
                          re.findall(r"^\w+ (cvtm_\w+)\(([^;]*)\);", text, re.M)
                          if re.search(r"const cvtm_\w+_options \*", arguments)]
    assert len(functions) > 30
    assert [name for name in functions if name + "(" not in calls] == []


def test_versions_agree():
    """base/version.h has the version; files of other tools repeat it."""
    header = (ROOT / "base/version.h").read_text()
    version = ".".join(re.search(rf"VERSION_{part} (\d+)", header)[1]
                       for part in ("MAJOR", "MINOR", "PATCH"))
    assert f"project(cvtmesh VERSION {version} " in (ROOT / "CMakeLists.txt").read_text()
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## [{version}]" in (ROOT / "CHANGELOG.md").read_text()
    assert (ROOT / "packaging/debian/changelog").read_text().startswith(f"cvtmesh ({version}-")
    project = (ROOT / "python/cuda13/pyproject.toml").read_text()
    assert f'"cvtmesh=={version}"' in project
