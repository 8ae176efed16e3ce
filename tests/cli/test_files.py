"""No command overwrites a file that it reads, or writes one file twice; a resumed batch does
again what a changed file, option or version of the program makes stale."""

import json
import os
import pathlib
import re
import resource
import shutil

import numpy as np
import pytest

from conftest import PROGRAM, Program

POINTS = "x,y\n2,2\n9,3\n5,9\n13,12\n3,14\n"


def picture(size=16):
    values = bytes((x * 5 + y * 9) % 200 for y in range(size) for x in range(size))
    return b"P5\n%d %d\n255\n" % (size, size) + values


def jobs(header, *rows):
    """A list of jobs whose options the header names; empty ones are left out."""
    return "".join(
        json.dumps({name: value for name, value in zip(header.split(","), row.split(",")) if value}) + "\n"
        for row in rows)


@pytest.fixture(scope="module")
def png(tmp_path_factory):
    program = Program(tmp_path_factory.mktemp("png"))
    program.file("a.pgm", picture())
    program.call("density", "a.pgm", "-o", "a.png", "-q")
    return program.read("a.png")


@pytest.fixture(autouse=True)
def inputs(cvtmesh, png):
    """A file for every format that is read. All of them are whole, so that nothing but the
    clash of names can be wrong."""
    cvtmesh.file("a.pgm", picture())
    cvtmesh.file("a.png", png)
    cvtmesh.file("b.png", png)
    cvtmesh.file("p.csv", POINTS)
    cvtmesh.file("v.npy", np.ones(16))
    cvtmesh.file("labels.npy", np.zeros((16, 16), dtype=np.int32))
    cvtmesh.file("m.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n")
    cvtmesh.file("ring.csv", "x,y\n2,2\n12,2\n12,12\n")
    cvtmesh.file("options.txt", "seed = 2\n")
    cvtmesh.file("script.txt", "key q\n")


RUN = ["run", "a.pgm", "-n", "5", "--domain", "none"]
MESHED = RUN + ["-o", "out.obj"]
SEGMENT = ["segment", "a.pgm", "--inside", "8,8,2"]
HLCP = ["hlcp", "--matrix-a", "m.mtx", "--rhs", "v.npy"]
LCP = ["lcp", "--matrix", "m.mtx", "--rhs", "v.npy"]

# Arguments, the file that would be overwritten, and the option that would write it.
OVERWRITES = [
    (["run", "a.png", "-n", "5", "-o", "a.png"], "a.png", "--output"),
    (["run", "a.png", "-n", "5", "-o", "a.png"], "a.png", "--output"),
    (MESHED + ["--report", "a.pgm"], "a.pgm", "--report"),
    (["run", "labels.npy", "-n", "5", "--density-out", "labels.npy"], "labels.npy",
     "--density-out"),
    (MESHED + ["--equal-mass", "--init", "v.npy", "--weights-out", "v.npy"], "v.npy",
     "--weights-out"),
    (RUN + ["--init", "p.csv", "-o", "p.csv"], "p.csv", "--init"),
    (RUN + ["--fixed", "p.csv", "-o", "p.csv"], "p.csv", "--fixed"),
    (RUN + ["--domain", "mask=b.png", "-o", "b.png"], "b.png", "--domain"),
    (RUN + ["--domain", "polygon=ring.csv", "-o", "ring.csv"], "ring.csv", "--domain"),
    (RUN + ["--domain", "labels=labels.npy", "-o", "labels.npy"], "labels.npy",
     "--domain"),
    (RUN + ["--within", "b.png", "-o", "b.png"], "b.png", "--within"),
    (RUN + ["--obstacle", "a.png", "--obstacle", "b.png", "-o", "b.png"], "b.png", "--obstacle"),
    (RUN + ["--weight", "b.png=2", "-o", "b.png"], "b.png", "--weight"),
    (SEGMENT + ["--seeds", "b.png", "-o", "b.png"], "b.png", "--seeds"),
    (SEGMENT + ["--initial", "b.png", "-o", "b.png"], "b.png", "--initial"),
    (MESHED + ["--config", "options.txt", "--report", "options.txt"], "options.txt", "--config"),
    (["voronoi", "p.csv", "-o", "d.npy", "--report", "p.csv"], "p.csv", "--report"),
    (["voronoi", "p.csv", "--labels-from", "labels.npy", "-o", "labels.npy"], "labels.npy",
     "--labels-from"),
    (["mesh", "p.csv", "-o", "p.csv"], "p.csv", "--output"),
    (["sphere", "labels.npy", "--report", "labels.npy"], "labels.npy", "--report"),
    (["sphere", "900", "--mask", "labels.npy", "--report", "labels.npy"], "labels.npy", "--mask"),
    (["density", "a.png", "-o", "a.png"], "a.png", "--output"),
    (["density", "a.pgm", "--weight", "b.png=2", "-o", "b.png"], "b.png", "--weight"),
    (["segment", "a.png", "--inside", "8,8,2", "-o", "a.png"], "a.png", "--output"),
    (SEGMENT + ["--initial", "b.png", "-o", "b.png"], "b.png", "--initial"),
    (["minimize", "ept", "--config", "options.txt", "--report", "options.txt"], "options.txt",
     "--report"),
    (HLCP + ["--output-z", "v.npy"], "v.npy", "--output-z"),
    (HLCP + ["--output-w", "v.npy"], "v.npy", "--output-w"),
    (HLCP + ["--report", "m.mtx"], "m.mtx", "--matrix-a"),
    (HLCP + ["--matrix-b", "options.txt", "--report", "options.txt"], "options.txt",
     "--matrix-b"),
    (HLCP + ["--omega", "labels.npy", "--output-z", "labels.npy"], "labels.npy", "--omega"),
    (LCP + ["-o", "v.npy"], "v.npy", "--rhs"),
    (LCP + ["--report", "m.mtx"], "m.mtx", "--matrix"),
    (LCP + ["--lower", "labels.npy", "-o", "labels.npy"], "labels.npy", "--lower"),
    (LCP + ["--upper", "labels.npy", "-o", "labels.npy"], "labels.npy", "--upper"),
    (["view", "a.png", "--shot", "a.png"], "a.png", "--shot"),
    (["view", "a.png", "-o", "a.png", "--shot", "s.png"], "a.png", "--output"),
    (["view", "a.pgm", "--script", "script.txt", "--shot", "script.txt"], "script.txt",
     "--script"),
    (["view", "p.csv", "--save", "p", "--shot", "s.png"], "p.csv", "--save"),
    (["batch", "jobs.jsonl", "--journal", "jobs.jsonl"], "jobs.jsonl", "--journal"),
    (["batch", "jobs.jsonl", "--report", "jobs.jsonl"], "jobs.jsonl", "--report"),
]


@pytest.mark.parametrize("arguments, name, option", OVERWRITES,
                         ids=["%s-%s" % (a[0], o[2:]) + "-%d" % k
                              for k, (a, _, o) in enumerate(OVERWRITES)])
def test_an_input_is_not_overwritten(cvtmesh, arguments, name, option):
    cvtmesh.file("jobs.jsonl", jobs("input,output", "a.pgm,o.obj"))
    before = cvtmesh.path(name).read_bytes()
    cvtmesh.refused(*arguments, code=2, names=[name, option])
    assert cvtmesh.path(name).read_bytes() == before


FRAME = RUN + ["--domain", "frame", "-o", "x.xdmf"]


def has_hdf5(cvtmesh):
    return cvtmesh.printed("info")["hdf5"]


@pytest.mark.parametrize("arguments, name", [
    (["run", "x.h5", "-n", "5", "-o", "x.xdmf"], "x.h5"),
    (RUN + ["-o", "x.xdmf", "--report", "x.h5"], "x.h5"),
    (FRAME + ["--report", "x_boundary.h5"], "x_boundary.h5"),
    (FRAME + ["-o", "x_boundary.xdmf"], "x_boundary.xdmf"),
    (FRAME + ["--format", "ascii", "-o", "x_boundary.xdmf"], "x_boundary.xdmf"),
    (RUN + ["--size-from", "x.ele", "-o", "x.node"], "x.node"),
    (RUN + ["--domain", "polygon=x.poly", "-o", "x.node"], "x.node"),
])
def test_a_file_beside_is_not_overwritten(cvtmesh, arguments, name):
    """XDMF comes with up to three other files; ELE, and POLY without vertices, have a NODE file."""
    if "x.xdmf" in arguments and "ascii" not in arguments and not has_hdf5(cvtmesh):
        return
    shutil.copy(cvtmesh.path("a.pgm"), cvtmesh.path("x.h5"))
    cvtmesh.file("x.poly", "0 2 0 0\n3 0\n1 1 2\n2 2 3\n3 3 1\n0\n")
    cvtmesh.file("x.ele", "1 3 0\n1 1 2 3\n")
    cvtmesh.file("x.node", "3 2 0 0\n1 2 2\n2 12 2\n3 12 12\n")
    cvtmesh.refused(*arguments, code=2, names=[name, "--output"])


def test_files_that_are_not_beside(cvtmesh):
    """What the same names do not write or read may be written."""
    cvtmesh.file("x.poly", "4 2 0 0\n1 2 2\n2 12 2\n3 12 12\n4 2 12\n"
                           "4 0\n1 1 2\n2 2 3\n3 3 4\n4 4 1\n0\n")
    cvtmesh.call("mesh", "x.poly", "--min-angle", "20", "-o", "x.node", "-o", "x.ele", "-q")
    cvtmesh.call("mesh", "x.poly", "--min-angle", "20", "-o", "x.node", "-o", "x.ele", "-q")
    cvtmesh.call(*RUN, "--format", "ascii", "-o", "x.xdmf", "--report", "x.h5", "-q")
    cvtmesh.call(*RUN, "--format", "ascii", "-o", "x.xdmf", "-o", "x_boundary.xdmf", "-q")
    assert cvtmesh.json("x.h5")["options"]["points"] == 5


def options_of(cvtmesh, command):
    """Name -> argument of every option in the help."""
    text = cvtmesh.call(command, "--help", "all").stdout.decode()
    return dict(re.findall(r"^  (?:-\w,|   ) --([\w-]+) ([^\s\[]+)", text, re.MULTILINE))


# Texts that name no file, though the help gives them such an argument.
NO_FILES = {"format", "device", "shard", "param", "inside", "outside", "layers", "size",
            "msh-version", "size-field"}
WRITING = {"output", "density-out", "weights-out", "pairs-out", "report", "run-report",
           "journal", "output-z", "output-w", "shot", "record", "save", "watch"}


@pytest.mark.parametrize("command", ["run", "voronoi", "mesh", "sphere", "density", "segment", "view",
                                     "stats", "minimize", "hlcp", "lcp", "info"])
def test_every_option_that_reads_a_file_is_known(cvtmesh, command):
    """By the help: an argument in capitals with FILE, IMAGE, WHAT or an extension is a file."""
    options = options_of(cvtmesh, command)
    reading = [name for name, argument in options.items()
               if name not in NO_FILES | WRITING
               and (re.search("FILE|IMAGE|WHAT|[.]", argument) or name == "omega")
               and (command, name) != ("lcp", "omega")]
    assert "config" in reading
    if "report" not in options:
        return
    operands = {"run": ["a.pgm"], "density": ["a.pgm"], "segment": ["a.pgm"],
                "sphere": ["2000"], "minimize": ["ept"], "hlcp": [], "lcp": [], "info": []}
    operand = operands.get(command, ["p.csv"])
    for name in reading:
        value = "x.csv=2" if name == "weight" else "x.csv"
        cvtmesh.file("x.csv", "\n")  # read by the configuration before anything is checked
        cvtmesh.refused(command, *operand, "--" + name, value, "--report", "x.csv", code=2,
                        names=["x.csv", "--report", "--" + name])


def test_byte_order_marks(cvtmesh):
    """Texts of every kind may begin with that of UTF-8."""
    mark = b"\xef\xbb\xbf"
    texts = {
        "options.txt": b"points = 20\niterations = 2\n", "pens.txt": b"red = #ff0000\n",
        "script.txt": b"key q\n", "region.geojson":
            b'{"type": "Polygon", "coordinates": [[[2, 2], [9, 2], [9, 9], [2, 9], [2, 2]]]}',
        "region.csv": b"2,2\n9,2\n9,9\n2,9\n",
        "region.svg": b"<svg><rect x='2' y='2' width='7' height='7'/></svg>",
        "region.poly": b"4 2 0 0\n1 2 2\n2 9 2\n3 9 9\n4 2 9\n4 0\n1 1 2\n2 2 3\n3 3 4\n4 4 1\n0\n",
        "beside.node": b"4 2 0 0\n1 2 2\n2 9 2\n3 9 9\n4 2 9\n",
        "beside.poly": b"0 2 0 0\n4 0\n1 1 2\n2 2 3\n3 3 4\n4 4 1\n0\n", "beside.ele": b"1 3 0\n1 1 2 3\n",
        "a.mtx": b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n",
        "jobs.jsonl": b'{"input": "a.pgm", "output": "jsonl.csv"}\n'}
    for start in (b"", mark):
        for name, text in texts.items():
            cvtmesh.file(name, start + text)
        cvtmesh.file("q.npy", np.array([-1.0]))
        cvtmesh.call("run", "a.pgm", "--config", "options.txt", "-o", "config.csv")
        cvtmesh.call("run", "a.pgm", "-n", 20, "--iterations", 2, "--colours", "pens.txt", "-o", "pens.svg")
        cvtmesh.call("view", "p.csv", "--width", 16, "--height", 16, "--window", "64x64", "--shot", "shot.png",
                     "--script", "script.txt")
        for kind in ("geojson", "csv", "svg", "poly"):
            cvtmesh.call("density", "a.pgm", "--within", "region." + kind, "-o", kind + ".npy")
        cvtmesh.call("density", "a.pgm", "--within", "beside.poly", "-o", "beside.npy")
        cvtmesh.call("stats", "beside.ele")
        cvtmesh.call("stats", "beside.node")
        cvtmesh.call("hlcp", "--matrix-a", "a.mtx", "--rhs", "q.npy", "--output-z", "z.npy")
        cvtmesh.call("batch", "jobs.jsonl", "-n", 20, "--iterations", 2, "--journal", "jobs.journal")
        made = {name: cvtmesh.read(name) for name in cvtmesh.names()
                if name.endswith((".csv", ".npy", ".svg")) and name not in texts}
        assert len(made) > 10
        if start:
            assert made == plain
        plain = made
        cvtmesh.path("jobs.journal").unlink()


def test_words_are_no_files(cvtmesh):
    """A report may have the name of a word that an option takes instead of a file."""
    cvtmesh.call(*SEGMENT, "--initial", "grow", "--steps", "1", "--report", "grow")
    cvtmesh.call(*SEGMENT, "--initial", "8,8,3", "--steps", "1", "--report", "8,8,3")
    cvtmesh.call(*MESHED, "-n", 40, "--domain", "frame", "--report", "frame")
    cvtmesh.call("hlcp", "--example", "1", "--size", "4", "--omega", "ratio", "--report", "ratio")
    cvtmesh.call("hlcp", "--example", "1", "--size", "4", "--omega", "2", "--report", "2")
    cvtmesh.call("minimize", "ept", "--nx", "8", "--ny", "8", "--report", "ept")
    cvtmesh.call(*MESHED, "--within", "alpha", "--report", "alpha", code=3)  # a has no alpha


@pytest.mark.parametrize("name", ["./a.png", "folder/../a.png", "symbolic.png", "hard.png",
                                  "chain.png"])
def test_an_input_is_known_by_every_name(cvtmesh, name):
    os.mkdir(cvtmesh.path("folder"))
    os.symlink("a.png", cvtmesh.path("symbolic.png"))
    os.symlink("folder/../symbolic.png", cvtmesh.path("chain.png"))
    os.link(cvtmesh.path("a.png"), cvtmesh.path("hard.png"))
    cvtmesh.refused("run", "a.png", "-n", "5", "-o", name, code=2, names=[name, "--output"])
    cvtmesh.refused("run", name, "-n", "5", "-o", "a.png", code=2, names=["a.png", "--output"])
    cvtmesh.refused("run", cvtmesh.path("a.png"), "-n", "5", "-o", name, code=2, names=[name])


@pytest.mark.parametrize("first, second", [
    ("new.csv", "new.csv"), ("new.csv", "./new.csv"), ("new.csv", "folder/../new.csv"),
    ("folder/new.csv", "link/new.csv"), ("x.csv", "hard.csv"), ("-", "-")])
def test_two_outputs_are_two_files(cvtmesh, first, second):
    os.mkdir(cvtmesh.path("folder"))
    os.symlink("folder", cvtmesh.path("link"))
    cvtmesh.file("x.csv", POINTS)
    os.link(cvtmesh.path("x.csv"), cvtmesh.path("hard.csv"))
    cvtmesh.refused(*RUN, "-o", first, "-o", second, code=2, names=["--output"])
    cvtmesh.refused(*RUN, "-o", first, "--report", second, code=2, names=["--output", "--report"])
    assert os.listdir(cvtmesh.path("folder")) == []


def test_a_link_to_nothing_is_the_file_that_it_would_make(cvtmesh):
    os.mkdir(cvtmesh.path("folder"))
    os.symlink("../new.csv", cvtmesh.path("folder/loose.csv"))
    cvtmesh.refused(*RUN, "-o", "folder/loose.csv", "-o", "new.csv", code=2,
                    names=["new.csv", "loose.csv"])


def test_devices_and_pipes_repeat(cvtmesh):
    cvtmesh.call("hlcp", "--example", "1", "--size", "4", "--report", "/dev/null",
                 "--config", "/dev/null")
    cvtmesh.file("jobs.jsonl", jobs("input,points,output,report", "a.pgm,40,a.obj,/dev/null",
                                    "b.png,40,b.obj,/dev/null"))
    cvtmesh.call("batch", "jobs.jsonl", "-q")
    assert cvtmesh.path("a.obj").exists() and cvtmesh.path("b.obj").exists()


def test_redirected_streams_are_files(cvtmesh):
    with open(cvtmesh.path("a.png"), "rb") as stream:
        cvtmesh.refused("run", "-", "-n", "5", "-o", "a.png", code=2, names=["a.png"],
                        stdin=stream)
    with open(cvtmesh.path("a.png"), "ab") as stream:
        done = cvtmesh.call("run", "a.png", "-n", "5", "-o", "-", code=2, stdout=stream)
    assert b"--output" in done.stderr
    assert cvtmesh.path("a.png").read_bytes() == cvtmesh.path("b.png").read_bytes()


@pytest.mark.parametrize("command, option", [("run", "--watch"), ("view", "--record")])
def test_frames_overwrite_no_input(cvtmesh, command, option):
    os.mkdir(cvtmesh.path("d"))
    shutil.copy(cvtmesh.path("a.png"), cvtmesh.path("d/frame-000003.png"))
    os.link(cvtmesh.path("b.png"), cvtmesh.path("d/frame-000004.png"))
    shutil.copy(cvtmesh.path("a.png"), cvtmesh.path("d/other.png"))
    os.symlink("d", cvtmesh.path("e"))
    for name in ("d/frame-000003.png", "./e/frame-000003.png", "b.png"):
        for folder in ("d", "./e/"):
            cvtmesh.refused(command, name, "-n", "5", option, folder, code=2,
                            names=["frame-00000", option])
    cvtmesh.refused(command, "a.png", "-n", "5", option, "d", "-o", "d/frame-000010.png", code=2,
                    names=["d/frame-000010.png", option])


def test_page_overwrites_no_report(cvtmesh):
    os.mkdir(cvtmesh.path("d"))
    cvtmesh.refused(*RUN, "--watch", "d", "--report", "d/index.html", code=2,
                    names=["d/index.html", "--watch", "--report"])


# --- batches ------------------------------------------------------------------------------------

@pytest.mark.parametrize("header, first, second, names", [
    ("input,output", "a.pgm,x.obj", "b.png,./x.obj", ["job 2", "./x.obj", "--output"]),
    ("input,output", "a.pgm,b.png", "b.png,c.png", ["job 2", "b.png", "input"]),
    ("input,output,within", "a.pgm,b.png,", "a.pgm,c.png,b.png", ["job 2", "b.png", "--within"]),
    ("input,output,domain", "a.pgm,c.png,mask=b.png", "a.pgm,b.png,",
     ["job 2", "b.png", "--output"]),
    ("input,output,init", "a.pgm,x.csv,", "a.pgm,y.csv,x.csv", ["job 2", "x.csv", "--init"]),
    ("input,output,weight", "a.pgm,b.png,", "a.pgm,c.png,b.png=2", ["job 2", "b.png",
                                                                     "--weight"]),
    ("input,output", "a.pgm,b.png", "a.pgm,hard.png", ["job 2", "hard.png", "--output"]),
    ("input,report", "a.pgm,r.json", "a.pgm,jobs.jsonl", ["job 2", "jobs.jsonl"]),
    ("input,report", "a.pgm,r.json", "a.pgm,jobs.jsonl.journal", ["job 2", "jobs.jsonl.journal"]),
    ("input,output", "a.pgm,c.png", "b.png,b.png", ["job 2", "b.png"]),
])
def test_jobs_keep_each_others_files(cvtmesh, header, first, second, names):
    os.link(cvtmesh.path("b.png"), cvtmesh.path("hard.png"))
    cvtmesh.file("jobs.jsonl", jobs(header, first, second))
    cvtmesh.refused("batch", "jobs.jsonl", "-n", "5", code=2, names=names)


def test_a_batch_keeps_its_own_report(cvtmesh):
    cvtmesh.file("jobs.jsonl", jobs("input,output", "a.pgm,a.obj"))
    cvtmesh.refused("batch", "jobs.jsonl", "-n", "5", "--report", "jobs.jsonl.journal", code=2,
                    names=["jobs.jsonl.journal"])


def test_a_job_reads_no_stream(cvtmesh):
    cvtmesh.file("jobs.jsonl", jobs("input,output,init", "a.pgm,a.obj,-"))
    cvtmesh.refused("batch", "jobs.jsonl", "-n", "5", code=2, names=["line 1", "standard input"])


def done(cvtmesh, *options):
    """What makes a resumed batch repeat a job."""
    report = cvtmesh.report("batch", "jobs.jsonl", "--resume", *options)
    return report["done"]


@pytest.mark.parametrize("header, job, changed", [
    ("input,points,output", "a.pgm,40,x.obj", "a.pgm"),
    ("input,points,output,weight", "a.pgm,5,x.obj,b.png=2", "b.png"),
    ("input,points,output,within", "a.pgm,5,x.obj,b.png", "b.png"),
    ("input,points,output,obstacle", "a.pgm,5,x.obj,b.png", "b.png"),
    ("input,output,init", "a.pgm,x.obj,p.csv", "p.csv"),
    ("input,points,output,domain", "a.pgm,40,x.obj,polygon=ring.csv", "ring.csv"),
])
def test_a_changed_file_is_read_again(cvtmesh, header, job, changed):
    white = b"P5\n16 16\n255\n" + bytes([0] * 100 + [255] * 156)
    cvtmesh.file("b.png", white)
    cvtmesh.file("jobs.jsonl", jobs(header, job))
    cvtmesh.call("batch", "jobs.jsonl", "-q")
    assert done(cvtmesh) == 0
    os.utime(cvtmesh.path(changed), ns=(0, 10**9))
    assert done(cvtmesh) == 1
    assert done(cvtmesh) == 0


@pytest.mark.parametrize("options, beside", [("", "x.h5"), ("--format ascii", "x_boundary.xdmf")])
def test_a_missing_file_beside_is_made_again(cvtmesh, options, beside):
    if beside == "x.h5" and not has_hdf5(cvtmesh):
        return
    cvtmesh.file("jobs.jsonl", jobs("input,points,output,domain", "a.pgm,20,x.xdmf,frame"))
    cvtmesh.call("batch", "jobs.jsonl", "-q", *options.split())
    assert done(cvtmesh, *options.split()) == 0
    cvtmesh.path(beside).unlink()
    assert done(cvtmesh, *options.split()) == 1
    assert cvtmesh.path(beside).exists()


def test_what_affects_the_result_is_in_the_key(cvtmesh):
    cvtmesh.file("jobs.jsonl", jobs("input,points,output", "a.pgm,5,x.png"))
    cvtmesh.call("batch", "jobs.jsonl", "-q")
    for options in (["--verbose"], ["--threads", "2"], ["--jobs", "1"]):
        assert done(cvtmesh, *options) == 0
    for options in (["--picture-size", "99"], ["--seed", "3"], ["--layers", "sites"]):
        assert done(cvtmesh, *options) == 1
        assert done(cvtmesh, *options) == 0


def is_sanitized():
    return b"__asan_init" in pathlib.Path(PROGRAM).read_bytes()


@pytest.mark.skipif(is_sanitized(), reason="a sanitizer needs more address space than any limit")
def test_a_list_for_which_there_is_no_memory(cvtmesh):
    """A failure, not bad input: the same list may be read elsewhere."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))
    with open(cvtmesh.file("jobs.jsonl", ""), "ab") as stream:
        stream.truncate(1 << 30)
    cvtmesh.refused("batch", "jobs.jsonl", "-n", "5", code=1, names=["memory"], preexec_fn=limit)


def test_long_names_of_folders(cvtmesh):
    """A long path is not cut."""
    folder = "/".join(["d" * 200] * 3)
    os.makedirs(cvtmesh.path(folder))
    if "viewer" not in cvtmesh.call("info").stdout.decode():
        pytest.skip("this build has no viewer")
    cvtmesh.call("run", "a.pgm", "-n", "5", "--watch", folder + "/w", "--iterations", "3",
                 "--window", "64x64", "-q")
    assert "index.html" in os.listdir(cvtmesh.path(folder + "/w"))
    assert "frame-000001.png" in os.listdir(cvtmesh.path(folder + "/w"))


def test_names_that_the_viewer_would_cut(cvtmesh):
    for option in ("--save", "--record"):
        cvtmesh.refused("view", "a.pgm", "-n", "5", option, "d" * 501, code=2, names=[option])
