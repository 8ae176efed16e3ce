"""Wrong use of options and operands: one line, exit code 2."""

from conftest import EXAMPLES

CAMERA = EXAMPLES / "camera.png"
HORSE = EXAMPLES / "horse.png"


def test_counts(cvtmesh):
    for bad in ("0", "-3", "many", "1.5", "", "99999999999999999999"):
        cvtmesh.refused("run", CAMERA, "-n", bad, "-o", "out.obj", code=2, names=["--points"])


def test_ranges_and_choices(cvtmesh):
    for option, bad in (("--method", "bfgs"), ("--levels", "1"), ("--levels", "0,11"),
                        ("--smooth", "1,1"), ("--grade", "-1"), ("--colours", "17"),
                        ("--tolerance", "-1"), ("--tolerance", "nan"), ("--time-limit", "inf"),
                        ("--iterations", "-1"), ("--seed", "-1"), ("--gamma", "0"),
                        ("--threads", "-1"), ("--device", "gpu"), ("--svg", "x"),
                        ("--density-from", "x"), ("--ranks", "x"), ("--floor", "-1"),
                        ("--floor", "1e300"), ("--layers", "cells,hills")):
        cvtmesh.refused("run", CAMERA, "-n", 5, "-o", "out.csv", option, bad, code=2)


def test_what_is_missing_comes_with_the_usage(cvtmesh):
    usage = "is missing; usage: cvtmesh run IMAGE -n POINTS -o OUT"
    cvtmesh.refused("run", CAMERA, code=2, names=["--output " + usage])
    cvtmesh.refused("run", code=2, names=["IMAGE " + usage])
    cvtmesh.refused("run", HORSE, "--domain", "image", "-o", "a.msh", code=2,
                    names=["--points " + usage])
    for words in (("a.hpgl",), ("a.vtu", "--unit", "mm"), ("a.svg", "--dot-size", "1mm")):
        cvtmesh.refused("run", CAMERA, "-n", 5, "-o", *words, code=2,
                        names=["--page is missing, as in --page A4"])
    cvtmesh.refused("run", CAMERA, "-n", 5, "-o", "a.svg", "--svg", "path", "--order", "none",
                    code=2, names=["--svg path does not go with --order none"])
    for name in ("plan.geojson", "plan.poly"):
        cvtmesh.refused("mesh", name, "-o", "a.msh", code=2,
                        names=[name + " is an outline", "--size or --points is missing"])
    cvtmesh.refused("mesh", CAMERA, "-o", "a.vtu", code=2, names=["--metric hessian"])


def test_options_that_contradict(cvtmesh):
    cvtmesh.refused("run", CAMERA, "-n", 5, "-o", "a.csv", "--levels", "0.9,0.1", code=3,
                    names=["black is 0.9", "white 0.1"])
    cvtmesh.refused("run", CAMERA, "-n", 5, "-o", "a.stl", "--element-order", 2, code=2,
                    names=["--element-order 2"])
    cvtmesh.refused("run", "", "-n", 5, "-o", "a.csv", code=2, names=["IMAGE"])
    cvtmesh.refused("mesh", "points.csv", "--periodic", "--width", 9, "-o", "a.vtu", code=2,
                    names=["--like PICTURE"])


def test_points_outside_the_domain_are_told_of(cvtmesh):
    cvtmesh.file("p.csv", "x,y\n1,1\n9,2\n4,8\n7,7\n")
    for command, name in (("mesh", "a.vtu"), ("voronoi", "a.npy")):
        size = "--width", 8, "--height", 7
        note = b"p.csv: note: 2 of 4 points lie outside the domain of 8 x 7 pixels\n"
        assert cvtmesh.call(command, "p.csv", *size, "-o", name).stderr.endswith(note)
        assert cvtmesh.call(command, "p.csv", *size, "-q", "-o", name).stderr == b""
    assert b"note" not in cvtmesh.call("mesh", "p.csv", "-o", "a.vtu").stderr


def test_missing_and_unknown(cvtmesh):
    cvtmesh.refused("run", CAMERA, "--domain", "image", "-o", "out.obj", code=2, names=["--points"])
    cvtmesh.refused("run", CAMERA, "-n", "5", code=2, names=["--output"])
    cvtmesh.refused("run", "-n", "5", "-o", "out.obj", code=2, names=["IMAGE"])
    cvtmesh.refused("run", CAMERA, HORSE, "-n", "5", "-o", "out.obj", code=2, names=[HORSE])
    cvtmesh.refused("run", CAMERA, "-n", "5", "-o", "out.obj", "--frob", code=2, names=["--frob"])
    cvtmesh.refused("run", CAMERA, "-n", "5", "-o", "out.obj", "-Z", code=2, names=["-Z"])
    cvtmesh.refused("mesh", "points.xyz", "-o", "out.obj", "-n", "5", code=2)
    cvtmesh.refused("run", CAMERA, "--device", "cpu", "-o", "out.obj", "-n", code=2)
    cvtmesh.refused("frobnicate", code=2, names=["frobnicate"])
    cvtmesh.refused("--hlep", code=2, names=["--help"])
    assert b"commands" in cvtmesh.call(code=2).stderr


def test_unknown_extension_is_refused_before_work(cvtmesh):
    for name in ("out", "out.doc", "out.obj.bak", "dir.obj/out"):
        cvtmesh.refused("run", "absent.png", "-n", 5, "-o", "fine.obj", "-o", name, code=2,
                        names=[name])
    cvtmesh.refused("run", "absent.png", "-n", 5, "-o", "-", "--format", "doc", code=2)
    cvtmesh.refused("run", "absent.png", "-n", 5, "-o", "out.jpg", code=2, names=["out.jpg"])
    cvtmesh.refused("run", "absent.png", "-n", 5, "--density-out", "out.csv", code=2)
    cvtmesh.refused("voronoi", "absent.csv", "-o", "out.obj", code=2, names=["out.obj"])
    cvtmesh.refused("stats", "file.doc", code=2, names=["file.doc"])


def test_outputs_that_collide(cvtmesh):
    cvtmesh.refused("run", CAMERA, "-n", 5, "-o", "-", "--report", "-", code=2)
    cvtmesh.refused("run", CAMERA, "-n", 5, "-o", "a.obj", "-o", "a.obj", code=2, names=["a.obj"])


def test_sites_outside_the_image(cvtmesh):
    for name, text in (("far.csv", "x,y\n1,2\n5,1e300\n"), ("right.csv", "x,y\n1,2\n512.5,6\n")):
        cvtmesh.file(name, text)
        for option in ("--fixed", "--init"):
            cvtmesh.refused("run", CAMERA, "-n", 2, option, name, "-o", "a.csv", code=3,
                            names=[name, "point 2"])


def test_fixed_and_init_counts(cvtmesh):
    cvtmesh.file("three.csv", "x,y\n1,2\n5,6\n9,20\n")
    cvtmesh.refused("run", CAMERA, "-n", 2, "--fixed", "three.csv", "-o", "a.obj", code=2,
                    names=["three.csv"])
    cvtmesh.refused("run", CAMERA, "-n", 9, "--init", "three.csv", "-o", "a.obj", code=2,
                    names=["three.csv"])


def test_suggestions(cvtmesh):
    """A wrong word is answered by what was probably meant."""
    cvtmesh.file("my photo", "")
    for words, names in (
        (["rum"], ["'run'"]),
        (["help", "hclp"], ["'hlcp'"]),
        (["photo.png"], ["cvtmesh run photo.png -n"]),
        (["my photo"], ["cvtmesh run 'my photo' -n"]),
        (["points.csv"], ["cvtmesh stats points.csv"]),
        (["jobs.jsonl"], ["cvtmesh batch jobs.jsonl"]),
        (["plan.geojson"], ["cvtmesh mesh plan.geojson -n 1000"]),
        (["--invert"], ["cvtmesh COMMAND --invert"]),
        (["run", CAMERA, "--invret"], ["'--invert'"]),
        (["run", CAMERA, "--no-invret"], ["'--no-invert'"]),
        (["run", CAMERA, "--dmain=mask"], ["'--domain'"]),
        (["run", CAMERA, "--domain-s"], ["--domain-smooth", "--domain-smallest"]),
        (["stats", "points.csv", "--points", 5], ["one of run, batch, mesh, sphere, view"]),
        (["run", CAMERA, "-n", "5q"], ["5000 or 5k"]),
        (["run", CAMERA, "-n", 5, "-o", "a.xyz2"], ["'xyz'", "csv", "vtu", "gcode"]),
        (["run", CAMERA, "-n", 5, "-o", "a"], ["no extension", "csv"]),
        (["voronoi", "a.csv", "-o", "a.obj"], ["formats: npy png ppm"]),
    ):
        cvtmesh.refused(*words, code=2, names=names)
    # A word that is like no other gets no suggestion.
    for words in (["zzz"], ["run", CAMERA, "--frobnicate"]):
        assert b"did you mean" not in cvtmesh.refused(*words, code=2).stderr


def test_short_counts(cvtmesh):
    cvtmesh.file("even.pgm", b"P5 20 20 255\n" + bytes(400))
    for text, count in (("0.1k", 100), ("1e2", 100), ("0.00005M", 50)):
        report = cvtmesh.report("run", "even.pgm", "-n", text, "--iterations", 0, "-o", "a.csv")
        assert report["sites"] == count
    for bad in ("1.5", "5kk", "k", "0x10", "1e999", "5k "):
        cvtmesh.refused("run", "even.pgm", "-n", bad, "-o", "a.csv", code=2, names=["--points"])


def test_quiet_statistics_and_counts_of_one(cvtmesh):
    done = cvtmesh.call("run", CAMERA, "-n", 1, "-o", "one.csv")
    assert b" 1 site, " in done.stderr and b"1 sites" not in done.stderr
    assert cvtmesh.call("stats", "one.csv").stdout.startswith(b"one.csv: 1 vertex, 0 triangles\n")
    quiet = cvtmesh.call("stats", "one.csv", "--quiet")
    assert quiet.stdout == quiet.stderr == b""
    assert cvtmesh.call("stats", "one.csv", "--quiet", "--json").stdout.startswith(b"{")
