"""cvtmesh run: the report, the stops, warm starts, streams, configuration, formats, determinism."""

import os
import re
import struct

import numpy as np
import pytest

from conftest import EXAMPLES, grey_ramp, png_bytes, read_obj, strict_json

CAMERA = EXAMPLES / "camera.png"
HORSE = EXAMPLES / "horse.png"
OUTPUTS = ["obj", "off", "ply", "stl", "vtk", "vtu", "msh", "csv", "npy", "xyz", "svg", "png"]


def test_what_nobody_asks_for_is_left_out(cvtmesh):
    """Cells and quality are not computed for a mesh alone, nor a mesh for points alone; the mesh and the
    points are the same."""
    small = ("run", CAMERA, "-n", 400, "--iterations", 5, "--seed", 3, "--domain", "none")
    cvtmesh.call(*small, "-o", "all.ply", "-o", "all.svg", "-o", "points.csv", "--report", "all.json")
    cvtmesh.call(*small, "-q", "-o", "alone.ply")
    cvtmesh.call(*small, "-q", "-o", "alone.csv")
    assert cvtmesh.path("all.ply").read_bytes() == cvtmesh.path("alone.ply").read_bytes()
    assert cvtmesh.path("points.csv").read_bytes() == cvtmesh.path("alone.csv").read_bytes()
    cvtmesh.call("mesh", "points.csv", "-q", "--device", "cpu", "-o", "mesh.ply")
    report = cvtmesh.report("mesh", "points.csv", "--device", "cpu", "-o", "told.ply")
    assert cvtmesh.path("mesh.ply").read_bytes() == cvtmesh.path("told.ply").read_bytes()
    assert report["triangulation"]["device"] == "cpu"
    assert report["quality"]["triangles"] > 0


def test_report(cvtmesh):
    report = cvtmesh.report("run", CAMERA, "-n", 500, "--iterations", 30, "--seed", 7, "-o",
                            "points.npy", "-o", "a.obj")
    for key in ("version", "device", "seed", "options", "width", "height", "sites", "iterations",
                "evaluations", "stop_reason", "energy", "energy_ratio", "objective",
                "tolerance", "history", "seconds", "quality", "quality_all", "empty_cells"):
        assert key in report
    assert (report["width"], report["height"], report["sites"]) == (512, 512, 500)
    assert (report["seed"], report["objective"]) == (7, "exact")
    assert report["options"]["density_from"] == "tone"
    assert report["options"]["points"] == 500
    assert report["options"]["iterations"] == 30
    assert report["options"]["output"] == ["points.npy", "a.obj"]
    for phase in ("read", "sample", "optimize", "evaluation", "mesh", "write", "total"):
        assert report["seconds"][phase] >= 0
    assert report["triangulation"]["device"] == "cpu"
    assert 0 < report["triangulation"]["seconds"] <= report["seconds"]["mesh"]
    assert report["iterations"] <= 30
    assert [e["iteration"] for e in report["history"]] == list(range(report["iterations"] + 1))
    for entry in report["history"]:
        assert set(entry) == {"iteration", "energy", "gradient_norm", "step"}
    energies = [e["energy"] for e in report["history"]]
    assert report["energy_ratio"] < 1.2
    assert energies[-1] < energies[0]
    assert report["energy"] / energies[-1] == pytest.approx(1, abs=1e-9)
    assert "energy_pixel" not in report
    quality = report["quality"]
    assert quality["vertices"] == 500
    assert quality["triangles"] < 1000
    assert 0 < quality["min_angle"] <= quality["mean_min_angle"] <= 60
    assert 0 < quality["mean_q"] <= 1 and 0 < quality["degree6_share"] <= 1
    assert sum(quality["angle_histogram"]) == quality["triangles"]
    points = cvtmesh.array("points.npy")
    assert points.shape == (500, 2)
    assert (points >= 0).all() and (points <= 512).all()


def test_stats_agree_with_report(cvtmesh):
    report = cvtmesh.report("run", HORSE, "-n", 300, "--iterations", 10, "--gamma", 0.8, "-o",
                            "points.npy")
    text = cvtmesh.call("stats", "points.npy", "--json", "--density", HORSE, "--gamma", 0.8).stdout
    stats = strict_json(text)
    assert stats["energy_ratio"] / report["energy_ratio"] == pytest.approx(1, abs=1e-12)
    assert stats["quality"] == report["quality"]
    assert stats["quality_all"] == report["quality_all"]
    assert b"energy ratio" in cvtmesh.call("stats", "points.npy", "--density", HORSE).stdout


def test_mesh_stats(cvtmesh):
    for unit in ([], ["--unit"]):
        report = cvtmesh.report("run", HORSE, "-n", 300, "--iterations", 5, "--domain", "none", "-o",
                                "a.obj", "-o", "a.vtu", "-o", "a.msh", *unit)
        close = 1e-9
        for name in ("a.obj", "a.vtu", "a.msh"):
            plain = cvtmesh.printed("stats", name)
            placed = cvtmesh.printed("stats", name, "--width", 400, "--height", 328, *unit)
            dense = cvtmesh.printed("stats", name, "--density", HORSE, *unit)
            assert dense["energy_ratio"] / report["energy_ratio"] == pytest.approx(1, abs=close)
            for stats in (plain, placed, dense):
                assert stats["quality_all"]["triangles"] == report["quality_all"]["triangles"]
                assert stats["quality_all"]["mean_q"] == pytest.approx(
                    report["quality_all"]["mean_q"], abs=close)
            for stats in (placed, dense):
                for key in ("triangles", "interior_vertices", "degree6_share"):
                    assert stats["quality"][key] == report["quality"][key]
                for key in ("min_angle", "mean_min_angle", "mean_q"):
                    assert stats["quality"][key] == pytest.approx(report["quality"][key],
                                                                  abs=100 * close)
    cvtmesh.refused("stats", "a.obj", "--width", 10, "--height", 5, "--unit", code=3,
                    names=["a.obj"])


def small_horse(cvtmesh):
    """Its density, every fourth pixel: jump flooding of the whole picture is slow under sanitizers."""
    cvtmesh.call("density", HORSE, "-o", "whole.npy")
    np.save(cvtmesh.path("horse.npy"), cvtmesh.array("whole.npy")[::4, ::4])
    return "horse.npy"


def test_lloyd_and_pixel(cvtmesh):
    horse = small_horse(cvtmesh)
    for method in ("lloyd", "lbfgsb"):
        report = cvtmesh.report("run", horse, "-n", 200, "--method", method, "--preset", "paper",
                                "--iterations", 8, "-o", "a.csv")
        assert report["objective"] == "pixel"
        assert report["history"][-1]["energy"] < report["history"][0]["energy"]


def test_stops(cvtmesh):
    args = [CAMERA, "-n", 200, "-o", "a.csv"]
    assert cvtmesh.report("run", *args, "--iterations", 3)["stop_reason"] == "iterations"
    long = [CAMERA, "-n", 5000, "-o", "a.csv", "--tolerance", 0, "--iterations", 1000000]
    report = cvtmesh.report("run", *long, "--time-limit", 0.05)
    assert report["stop_reason"] == "time"
    assert cvtmesh.report("run", *args, "--tolerance", 1e-3)["stop_reason"] == "decrease"
    report = cvtmesh.report("run", *args, "--gradient-tolerance", 3, "--tolerance", 0)
    assert report["stop_reason"] == "gradient"
    assert report["history"][-1]["gradient_norm"] <= 3
    report = cvtmesh.report("run", *args, "--iterations", 0)
    assert (report["iterations"], report["stop_reason"]) == (0, "iterations")
    assert len(report["history"]) == 1


def test_warm_start(cvtmesh):
    first = cvtmesh.report("run", CAMERA, "-n", 200, "--iterations", 20, "-o", "points.npy")
    held = cvtmesh.report("run", CAMERA, "--init", "points.npy", "--iterations", 0, "-o",
                          "same.csv")
    assert held["energy"] == first["energy"]
    assert held["sites"] == 200
    onward = cvtmesh.report("run", CAMERA, "--init", "points.npy", "--iterations", 20, "-o",
                            "next.csv")
    assert onward["energy"] < first["energy"]


def test_fixed_sites_stay_first(cvtmesh):
    fixed = np.array([[10.5, 20.25], [300.0, 400.0], [511.0, 0.0]])
    cvtmesh.file("fixed.npy", fixed)
    report = cvtmesh.report("run", CAMERA, "-n", 50, "--fixed", "fixed.npy", "--iterations", 10,
                            "-o", "points.npy")
    assert report["sites"] == 50
    np.testing.assert_array_equal(cvtmesh.array("points.npy")[:3], fixed)
    report = cvtmesh.report("run", CAMERA, "--fixed", "fixed.npy", "-o", "points.npy")
    assert report["sites"] == 3
    np.testing.assert_array_equal(cvtmesh.array("points.npy"), fixed)


def test_smallest_inputs(cvtmesh):
    cvtmesh.file("dot.png", png_bytes([[0]]))
    cvtmesh.file("line.png", png_bytes([np.arange(0, 200)]))
    cvtmesh.file("column.png", png_bytes(np.arange(0, 200).reshape(-1, 1)))
    cvtmesh.file("small.png", png_bytes(np.zeros((4, 4))))
    cvtmesh.file("grey.pgm", grey_ramp(1, 60))
    for name, count in (("dot.png", 1), ("dot.png", 7), ("line.png", 1), ("line.png", 2),
                        ("line.png", 30), ("column.png", 30), ("small.png", 50), ("small.png", 1),
                        ("grey.pgm", 1), ("grey.pgm", 2), ("grey.pgm", 3)):
        for periodic in ([], ["--periodic"]):
            report = cvtmesh.report("run", name, "-n", count, "--iterations", 20, "-o", "a.obj",
                                    "-o", "points.npy", "-o", "a.svg", "-o", "a.vtu", "-o",
                                    "a.png", "--picture-size", 100, *periodic)
            assert report["sites"] == count
            assert np.isfinite(cvtmesh.array("points.npy")).all()
            vertices = cvtmesh.read("a.obj").count(b"\nv ")
            assert vertices == count


# The descent of a low effort is short, also that of touches.
@pytest.mark.parametrize("pen", [(), ("--pen", "1px"), ("--effort", "low"), ("--effort", "low", "--domain", "frame")])
def test_dots_follow_the_mean_of_dithered_ink(cvtmesh, pen):
    """Left half: even grey; right half: the same mean ink as one black pixel in four."""
    grey = np.full((160, 320), 255, np.uint8)
    grey[::2, 160::2] = 0
    grey[:, :160] = 225  # tone 0.2471
    cvtmesh.file("half.png", png_bytes(grey))
    cvtmesh.call("run", "half.png", "-n", 1000, "-o", "points.npy", *pen)
    left = (cvtmesh.array("points.npy")[:, 0] < 160).sum()
    assert abs(left - 1000 * 0.2471 / (0.2471 + 0.25)) < 15


def test_density_out(cvtmesh):
    grey = np.arange(0, 240, dtype=np.uint8).reshape(12, 20)
    cvtmesh.file("ramp.png", png_bytes(grey))
    # As many sites as pixels: the tone is not averaged over cells.
    cvtmesh.call("run", "ramp.png", "-n", 240, "--iterations", 2, "--density-out", "rho.npy")
    value = grey / 255.0
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055)**2.4)
    rho = cvtmesh.array("rho.npy")
    assert (rho.dtype, rho.shape) == (np.dtype("float32"), (12, 20))
    np.testing.assert_allclose(rho, (1 - linear)**2, atol=1e-5)
    cvtmesh.call("run", "ramp.png", "-n", 9, "--iterations", 2, "--density-out", "rho.npy",
                 "--invert", "--gamma", 0.5, "--density-from", "density", "--floor", 0.1)
    np.testing.assert_allclose(cvtmesh.array("rho.npy"), np.maximum(linear**0.5, 0.1), atol=1e-5)


def test_quiet_and_summary(cvtmesh):
    args = ["run", CAMERA, "-n", 50, "--iterations", 3, "-o", "a.obj"]
    assert cvtmesh.call(*args, "-q").stderr == b""
    done = cvtmesh.call(*args)
    assert done.stdout == b""
    assert b"a.obj" in done.stderr
    assert b"cpu" in done.stderr
    assert b"\r" not in done.stderr


def test_streams(cvtmesh):
    args = ["run", CAMERA, "-n", 50, "--iterations", 3]
    rows = cvtmesh.call(*args, "-o", "-").stdout.decode().splitlines()
    assert (rows[0], len(rows)) == ("x,y", 51)
    assert cvtmesh.call(*args, "-o", "-", "--format", "off").stdout.startswith(b"OFF")
    report = strict_json(cvtmesh.call(*args, "--report", "-").stdout)
    assert report["sites"] == 50
    cvtmesh.call(*args, "-o", "a.csv", "-q")
    assert cvtmesh.read("a.csv").decode().splitlines() == rows


def test_config(cvtmesh):
    cvtmesh.file(
        "run.conf", "# a comment\n\npoints = 40\n iterations=4 \noutput = a.csv\n"
        "output = b.csv\ninvert = yes\ncheck = true\nseed = 9\nreport = r.json\n")
    cvtmesh.call("run", CAMERA, "--config", "run.conf")
    report = cvtmesh.json("r.json")
    assert report["options"]["output"] == ["a.csv", "b.csv"]
    assert (report["sites"], report["seed"]) == (40, 9)
    assert report["options"]["invert"] is True
    cvtmesh.call("run", CAMERA, "--config", "run.conf", "--seed", 3, "--no-invert", "-o", "c.csv")
    report = cvtmesh.json("r.json")
    assert (report["options"]["output"], report["seed"]) == (["c.csv"], 3)
    assert report["options"]["invert"] is False
    for text in ("pionts = 3", "points", "points = 0", "invert = perhaps", "config = a"):
        cvtmesh.file("bad.conf", "seed = 1\n" + text + "\n")
        cvtmesh.refused("run", CAMERA, "-n", 5, "-o", "x.csv", "--config", "bad.conf", code=2,
                        names=["bad.conf", "line 2"])
    cvtmesh.refused("run", CAMERA, "--config", "absent.conf", code=3, names=["absent.conf"])


def outputs(stem):
    return ["--picture-size", 200, *(word for e in OUTPUTS for word in ("-o", stem + "." + e))]


def test_same_seed_same_files(cvtmesh):
    for name, extra in (("a", ["--threads", 1]), ("b", ["--threads", 2]), ("c", ["--threads", 2])):
        cvtmesh.call("run", CAMERA, "-n", 1500, "--iterations", 5, "--seed", 5, *extra,
                     *outputs(name), "--density-out", name + "_rho.npy")
    for extension in OUTPUTS:
        a = cvtmesh.read("a." + extension)
        for other in "bc":
            assert a == cvtmesh.read(other + "." + extension), extension
    cvtmesh.call("run", CAMERA, "-n", 1500, "--iterations", 5, "--seed", 6, "-o", "d.csv")
    assert cvtmesh.read("a.csv") != cvtmesh.read("d.csv")
    horse = small_horse(cvtmesh)
    for method in (["--method", "lloyd"], ["--preset", "paper"], ["--periodic"]):
        for threads in "12":
            cvtmesh.call("run", horse, "-n", 400, "--iterations", 6, *method, "--threads", threads,
                         "-o", threads + ".csv")
        assert cvtmesh.read("1.csv") == cvtmesh.read("2.csv"), method


def test_points_read_back_to_the_same_bits(cvtmesh):
    cvtmesh.call("run", CAMERA, "-n", 100, "--iterations", 5, *outputs("a"))
    exact = cvtmesh.array("a.npy")
    np.testing.assert_array_equal(np.loadtxt(cvtmesh.path("a.csv"), delimiter=",", skiprows=1),
                                  exact)
    np.testing.assert_array_equal(np.loadtxt(cvtmesh.path("a.xyz"))[:, :2], exact)
    assert cvtmesh.read("a.svg").count(b"<circle") == 100
    assert cvtmesh.read("a.png").startswith(b"\x89PNG")


def test_other_options_of_outputs(cvtmesh):
    for kind in ("stipples", "cells", "mesh"):
        cvtmesh.call("run", HORSE, "-n", 60, "--iterations", 3, "-o", "a.svg", "--svg", kind)
        assert b"<svg" in cvtmesh.read("a.svg")
    cvtmesh.call("run", HORSE, "-n", 60, "--iterations", 3, "-o", "a.svg", "--dots", "mass")
    radii = set(re.findall(rb'r="([^"]+)"', cvtmesh.read("a.svg")))
    assert len(radii) > 10
    cvtmesh.call("run", HORSE, "-n", 60, "--iterations", 3, "-o", "a.png", "--layers",
                 "density,mesh-edges,sites", "--picture-size", 300)
    width, height = struct.unpack(">II", cvtmesh.read("a.png")[16:24])
    assert max(width, height) == 300
    cvtmesh.call("run", HORSE, "-n", 60, "--iterations", 3, "-o", "u.obj", "--unit")
    vertices, _ = read_obj(cvtmesh.path("u.obj"))
    assert 0.5 < max(x for x, _ in vertices) <= 1


def test_progress_on_a_terminal(cvtmesh):
    master, slave = os.openpty()
    with cvtmesh.start("run", CAMERA, "-n", 2000, "--iterations", 9, "-o", "a.csv", stderr=slave):
        pass
    os.close(slave)
    text = b""
    try:
        while part := os.read(master, 65536):  # may return only a part of what was written
            text += part
    except OSError:  # all is read, and the other end is closed
        pass
    os.close(master)
    lines, summary = text.split(b"\r\x1b[K")  # the last line is erased before the summary
    assert lines.startswith(b"\rcoarse level: ") and b" sites, iteration 0" in lines
    assert b"2000 sites" in summary and b"coarse" not in summary
