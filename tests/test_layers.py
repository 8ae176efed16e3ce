"""The includes follow the design: a room includes the rooms below it and no other."""

import re

from conftest import ROOT

BELOW = {
    "base": [],
    "voronoi": ["base"],
    "jfa": ["base", "voronoi"],
    "lbfgsb": ["base"],
    "lcp": ["base"],
    "meshes": ["base"],
    "density": ["base", "voronoi", "jfa", "lcp", "meshes"],
    "cvt": ["base", "voronoi", "jfa", "lbfgsb", "meshes"],
    "power": ["base", "voronoi", "jfa", "lbfgsb", "meshes", "cvt"],
    "bench/problems": ["base", "lbfgsb"],
}
BELOW["viewer"] = [room for room in BELOW if room != "bench/problems"]
BELOW["bench/command"] = [*BELOW, "cli"]
BELOW["cli"] = list(BELOW)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def sources(room):
    found = [path for path in sorted((ROOT / room).rglob("*")) if path.suffix in (".c", ".h", ".cu")]
    assert found, f"{room}: no source file"
    return found


def room_of(file):
    parts = file.split("/")
    return "/".join(parts[:2]) if parts[0] == "bench" else parts[0]


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
