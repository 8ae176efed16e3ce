"""Every option of `run` changes what it says, and `batch`, `density`, `segment` and `view` take it
to mean the same."""

import json

import numpy as np
import pytest

from conftest import options, pgm_bytes, strict_json

RUN = ("-n", 40, "--iterations", 8, "--effort", "low")
SEED = ("--inside", "16,14,3")
MASK = ("--domain", "mask=mask.pgm")
PLY = ("-o", "{}.ply")
SVG = ("-o", "{}.svg")
MSH = ("-o", "{}.msh")
INP = ("-o", "{}.inp")
VTU = ("-o", "{}.vtu")
# What is given in both calls, and the option that makes the difference.
SLIDING = ("--boundary", "sliding")  # nothing slides on these inputs: test_domain.py tests it
EFFECTS = [
    ((), ("-n", 41)),
    (PLY, ("--format", "ascii")),
    (PLY, ("--unit",)),
    ((*PLY, "--page", "A5"), ("--unit", "mm")),
    (PLY, ("--pixel-size", "2um")),
    ((*PLY, "--pixel-size", "2um"), ("--origin", "3,4")),
    (MSH, ("--format", "binary")),
    (MSH, ("--format", "msh2")),
    (INP, ("--format", "cpe")),
    (INP, ("--format", "shell")),
    (MSH, ("--element-order", 2)),
    (VTU, ("--format", "zlib")),
    (("-o", "{}.svg"), ("--svg", "mesh")),
    (("-o", "{}.svg"), ("--dots", "mass")),
    (("-o", "{}.svg"), ("--dot-size", "1,2")),
    ((), ("--order", "plot")),
    (SVG, ("--page", "A5")),
    ((*SVG, "--page", "A5"), ("--margin", 20)),
    ((*SVG, "--page", "A5"), ("--pen", "0.7mm")),
    (("-o", "{}.nc", "--page", "A5"), ("--plotter", "grbl-z")),
    (("-o", "{}.nc", "--page", "A5", "--order", "tsp"), ("--split", 100)),
    (("-o", "{}.png"), ("--layers", "sites,cells")),
    (("-o", "{}.png"), ("--picture-size", 90)),
    ((), ("--density-out", "{}_rho.npy")),
    ((), ("--method", "lloyd")),
    ((), ("--preset", "paper")),
    ((), ("--iterations", 3)),
    (("--iterations", 60), ("--tolerance", 0.01)),
    ((), ("--gradient-tolerance", 2)),
    ((), ("--time-limit", 1e-9)),
    ((), ("--noise", "blue")),
    ((), ("--seed", 7)),
    ((), ("--effort", "high")),
    (("--effort", "high"), ("--effort", "best")),
    ((), ("--init", "forty.npy")),
    ((), ("--fixed", "three.csv")),
    ((), ("--periodic",)),
    ((), ("--equal-mass",)),
    (("--equal-mass", "--weights-out", "{}_w.npy"), ("--mass-tolerance", 1e-13)),
    (("--equal-mass",), ("--weights-out", "{}_w.npy")),
    ((), ("--domain", "image")),
    ((), MASK),
    ((), ("--domain", "polygon=wall.csv")),
    ((), ("--domain", "labels=mask.pgm")),
    ((*MSH, *MASK), ("--region-name", "1=steel")),
    (("--domain", "frame", "--periodic"), ("--pairs-out", "{}_pairs.npy")),
    (MASK, ("--domain-smooth", 1)),
    (MASK, ("--domain-smallest", 30)),
    (MASK, SLIDING),
    (MASK, ("--boundary-tolerance", 3)),
    (MASK, ("--min-angle", 36)),
    (MASK, ("--max-area", 3)),
    ((), ("--invert",)),
    ((), ("--gamma", 2)),
    ((), ("--density-from", "size")),
    ((), ("--floor", 0.5)),
    ((), ("--size-from", "field.vtu")),
    (("--size-from", "size=field.vtu"), ("--size-field", "h")),
    ((), ("--within", "mask.pgm")),
    ((), ("--obstacle", "wall.csv")),
    ((), ("--weight", "wall.csv=7")),
    ((), ("--smooth", 3)),
    ((), ("--smooth", "3,0.1")),
    ((), ("--grade", 3)),
    ((), ("--grade", "3,0.4")),
    ((), ("--grade-size", 0.1)),
]
SEGMENT_EFFECTS = [
    (("--outside", "40,30,3"), ("--inside", "16,14,3")),
    (SEED, ("--outside", "20,14,0.5")),
    ((), ("--seeds", "seeds.pgm")),
    (SEED, ("--initial", "image")),
    (SEED, ("--sigma", 4)),
    (SEED, ("--k", 0.01)),
    ((*SEED, "--initial", "24,20,22", "--steps", 3), ("--epsilon", 0.01)),
    ((*SEED, "--initial", "24,20,22", "--steps", 40), ("--seed-value", 0.5)),
    ((*SEED, "--steps", 20), ("--tau", 0.05)),
    ((*SEED, "--initial", "image"), ("--steps", 1)),
    (SEED, ("--tolerance", 0.1)),
]
FIELD = """<VTKFile type="UnstructuredGrid"><UnstructuredGrid>
<Piece NumberOfPoints="9" NumberOfCells="8"><PointData>
<DataArray type="Float64" Name="u">0 0 0 0 1 0 0 0 3</DataArray>
<DataArray type="Float64" Name="h">9 9 9 9 9 9 9 9 5</DataArray></PointData><Points>
<DataArray type="Float64" NumberOfComponents="3">0 0 0 24 0 0 48 0 0 0 20 0 24 20 0 48 20 0
0 40 0 24 40 0 48 40 0</DataArray></Points><Cells>
<DataArray type="Int64" Name="connectivity">0 1 4 0 4 3 1 2 5 1 5 4 3 4 7 3 7 6 4 5 8 4 8 7
</DataArray><DataArray type="Int64" Name="offsets">3 6 9 12 15 18 21 24</DataArray>
<DataArray type="UInt8" Name="types">5 5 5 5 5 5 5 5</DataArray></Cells></Piece>
</UnstructuredGrid></VTKFile>
"""
# Options of pictures, of outputs and of how a run is watched, tested by themselves.
ELSEWHERE = {
    "levels", "flatten", "contrast", "tone", "colours", "overlap", "output", "report", "dark", "window", "watch",
    "every", "ranks", "checkpoint", "checkpoint-every", "device", "threads", "config",
    "quiet", "verbose", "help", "version"
}


@pytest.fixture
def inputs(cvtmesh):
    """A dense disc on a faint background; a mask with a speck; a wall; seeds."""
    y, x = np.mgrid[0:40, 0:48] + 0.5
    r = np.hypot(x - 16, y - 14)
    cvtmesh.file("rho.npy", (0.1 + 0.9 / (1 + np.exp(r - 9))).astype(np.float32))
    mask = (np.hypot(x - 22, y - 20) < 14) | (np.hypot(x - 43, y - 4) < 2)
    cvtmesh.file("mask.pgm", pgm_bytes(255 * mask))
    cvtmesh.file("grey.pgm", pgm_bytes(40 + 5 * r))
    cvtmesh.file("wall.csv", "20,4\n30,4\n30,35\n20,35\n")
    cvtmesh.file("seeds.pgm", pgm_bytes(128 + 127 * (r < 3) - 128 * (r > 20)))
    cvtmesh.file("field.vtu", FIELD)
    cvtmesh.file("three.csv", "x,y\n5,5\n40,30\n44,2\n")
    random = np.random.default_rng(2)
    cvtmesh.file("forty.npy", random.random((40, 2)) * (48, 40))
    return cvtmesh


def named(words, stem):
    return [str(word).replace("{}", stem) for word in words]


def results(cvtmesh, stem):
    return {path.name[len(stem):]: path.read_bytes() for path in cvtmesh.path().glob(f"{stem}*")}


def call(cvtmesh, command, words, stem, code=0):
    """The files that the command writes, by what follows `stem` in their names."""
    cvtmesh.call(command, *words, code=code)
    found = results(cvtmesh, stem)
    for name in found:
        cvtmesh.path(stem + name).unlink()
    return found


def test_every_option_of_run_is_here():
    tested = {word for _, option in EFFECTS for word in option[:1]}
    rows = {f"-{row.letter}" if row.name == "points" else "--" + row.name for row in options("run")}
    assert tested == rows - {"--" + name for name in ELSEWHERE}


def job(words, stem):
    """A line of a list of jobs: the last value of each option, and all outputs."""
    found = {"input": "rho.npy", "output": []}
    for word, value in zip(words, [*words[1:], None]):
        if not str(word).startswith("-"):
            continue
        name = {"-n": "points", "-o": "output"}.get(word, word[2:])
        if value is None or str(value).startswith("-"):
            found[name] = True
        elif name == "output":
            found[name] += named([value], stem)
        else:
            found[name] = value.replace("{}", stem) if isinstance(value, str) else value
    return json.dumps(found) + "\n"


def test_effects(inputs):
    """Without the option `run` does something else, or refuses; `batch` writes the same files."""
    without, found, jobs = {}, [], ""
    for k, (given, option) in enumerate(EFFECTS):
        words = [*RUN, "-o", "{}.csv", *given]
        if given not in without:
            without[given] = call(inputs, "run", named(["rho.npy", *words], "without"), "without",
                                  code=(0, 2, 3))
        words += option
        found.append(call(inputs, "run", named(["rho.npy", *words], f"r{k}-"), f"r{k}-"))
        assert found[k] and (found[k] != without[given] or option == SLIDING), option
        jobs += job(words, f"b{k}-")
    inputs.file("jobs.jsonl", jobs)
    inputs.call("batch", "jobs.jsonl", "-q")
    for k, (_, option) in enumerate(EFFECTS):
        assert results(inputs, f"b{k}-") == found[k], option


def test_preset_of_run(inputs):
    """A preset replaces defaults, whatever the order; it does not go with other kinds of sites."""
    words = ["rho.npy", "-n", 40, "-o", "p.csv"]
    paper = {"effort": "low", "tolerance": 0}
    for given in ({}, {"effort": "normal"}, {"tolerance": 0.5}):
        more = [word for name, value in given.items() for word in (f"--{name}", value)]
        for order in (["--preset", "paper", *more], [*more, "--preset", "paper"]):
            report = inputs.report("run", *words, *order)
            found = {name: report["options"][name] for name in paper}
            assert found == {**paper, **given} and report["objective"] == "pixel"
    plain = inputs.report("run", *words)
    assert {name: plain["options"][name] for name in paper} != paper
    assert plain["objective"] == "exact"
    for option in (["--equal-mass"], ["--noise", "blue"], ["--colours", "cmyk"]):
        inputs.refused("run", *words, "--preset", "paper", *option, code=2, names=["--preset"])


def effects_of(command):
    """The rows of EFFECTS whose options the command has."""
    names = {f"-{row.letter}" for row in options(command)}
    names |= {"--" + row.name for row in options(command)}
    for given, option in EFFECTS:
        if {word for word in (*given, *option) if str(word).startswith("-")} <= names:
            yield given, option


def test_density_means_the_same(inputs):
    tested = set()
    for given, option in effects_of("density"):
        words = [word for word in (*given, *option) if word not in PLY + MSH + VTU + INP]
        inputs.call("density", "rho.npy", *words, "-o", "density.npy")
        inputs.call("run", "rho.npy", *RUN, "--iterations", 0, *words, "--density-out", "run.npy")
        assert np.array_equal(inputs.array("density.npy").astype("f4"), inputs.array("run.npy"))
        tested.add(option[0])
    assert len(tested) >= 10


def test_segment_options(inputs):
    tested = set()
    for given, option in SEGMENT_EFFECTS:
        words = ["rho.npy", *given, "-o", "u.npy"]
        without = call(inputs, "segment", words, "u", code=(0, 2))
        assert call(inputs, "segment", [*words, *option], "u") != without, option
        tested.add(option[0])
    assert len(tested) > 8


def view_starts():
    """[given, option and the kind of file that shows its effect, ...]: of options whose effects are in
    different files one start tests several."""
    shown = [("--layers", "cells"), ("--dark",), ("--window", "90x70")]
    effects = [((), option, "-shot.png") for option in shown]
    effects.append((("--layers", "cells"), ("--colour", "sides"), "-shot.png"))
    for given, option in effects_of("view"):
        # Layers of a picture: a window has others. Dots of pictures have masses by default.
        if option in (("--layers", "sites,cells"), ("--dots", "mass")):
            continue
        effects.append((given[2:], option, given[1][2:]) if "-o" in given else (given, option, ".csv"))
    starts = []
    for given, option, kind in effects:
        for start in starts:
            # These change all files.
            alone = ".csv" in (kind, start[1][1]) or ("--unit",) in (option, start[1][0])
            if start[0] == given and not alone and not [
                    None for other, of in start[1:] if of == kind or other[0] == option[0]]:
                start.append((option, kind))
                break
        else:
            starts.append([given, (option, kind)])
    return starts


def test_view_options(inputs):
    def view(given, kinds):
        outputs = [word for kind in {*kinds} - {"-shot.png"} for word in ("-o", "v" + kind)]
        return call(inputs, "view", ["grey.pgm", "-n", 40, "--iterations", 40, "--window", "64x48", "--shot",
                                     "v-shot.png", *outputs, *given], "v")

    without, starts = {}, view_starts()
    for given, *_ in starts:
        if given not in without:
            kinds = [kind for other, *tested in starts if other == given for _, kind in tested]
            without[given] = view(given, kinds)
    for given, *tested in starts:
        words = [*given, *(word for option, _ in tested for word in option)]
        found = view(words, [kind for _, kind in tested])
        for option, kind in tested:
            assert found[kind] != without[given][kind], option
    # Without CUDA nothing is pinned.
    assert view([*given, "--pinned"], [".csv"])[".csv"] == without[given][".csv"]


def test_dark_pictures_of_watch(inputs):
    words = ["rho.npy", *RUN, "--watch", "w", "--window", "64x48"]
    inputs.call("run", *words)
    light = inputs.read("w/frame-000001.png")
    inputs.call("run", *words, "--dark")
    assert inputs.read("w/frame-000001.png") != light


def test_pictures_of_mesh(inputs):
    words = ["forty.npy", "-o", "m.png"]
    plain = call(inputs, "mesh", words, "m.")
    for option in (("--layers", "sites"), ("--picture-size", 77)):
        assert call(inputs, "mesh", [*words, *option], "m.") != plain


def test_stats_agree_with_run(inputs):
    for option in (["--periodic"], ["--invert"], ["--density-from", "size"], ["--floor", 0.5]):
        report = inputs.report("run", "rho.npy", "--init", "forty.npy", "--iterations", 0, "-o",
                               "r.csv", *option)
        done = inputs.call("stats", "forty.npy", "--density", "rho.npy", "--json", *option)
        ratio = strict_json(done.stdout)["energy_ratio"]
        assert ratio == pytest.approx(report["energy_ratio"], rel=1e-12), option
