"""A format is one row: --help, the manual, messages, checks and README.md follow from it."""

import re
import subprocess

import numpy as np
import pytest
from PIL import Image

from conftest import BUILD, EXAMPLES, PROGRAM, ROOT

FAKES = BUILD / "tests/program_with_row"
HORSE = EXAMPLES / "horse.png"


def call(program, *arguments, code=0, cwd=None, stdin=None):
    done = subprocess.run([program, *map(str, arguments)], stdin=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, cwd=cwd)
    assert done.returncode == code, done.stdout
    return done.stdout


def manual(program):
    with open(ROOT / "docs/cvtmesh.1.in") as template:
        page = call(program, "help", "man", stdin=template)
    return re.sub(r"\\f[PRBI]", "", page).replace("\\", "")


def formats():
    """{extension: (kind, paragraph of the manual)}; an alias has the row of its format."""
    section = re.search(r"^\.SH FORMATS\n(.*?)^\.SH ", manual(PROGRAM), re.M | re.S).group(1)
    rows = re.findall(r"^\.TP\n([\w ]+) \((\w+)\)\n(.*?)(?=^\.[TP]P)", section, re.M | re.S)
    return {name: (kind, text) for names, kind, text in rows for name in names.split(" or ")}


def test_help_and_manual():
    for command in ("run", "mesh", "batch"):
        assert "meshes (y up) fake phony obj off" in call(FAKES, command, "--help")
        for topic in ("formats", "all"):
            assert re.search(r"^  \.fake, \.phony +Fake: programs for fakes$",
                             call(FAKES, command, "--help", topic), re.M)
    assert "meshes fake obj" in call(FAKES, "stats", "--help")
    assert re.search(r"^meshes +fake phony obj", call(FAKES, "info"), re.M)
    assert (".TP\nfake or phony (meshes)\nFake: programs for fakes.\nA fake has few numbers.\n"
            "See --svg.\nIt holds nodes of second order, values of vertices.\n") in manual(FAKES)
    assert "fake" not in manual(PROGRAM)
    assert call(FAKES, "completion", "--", "run", "-h", "").startswith("all\t\nformats\t\n")


def test_messages(tmp_path):
    for name, wanted in (("a.fale", "did you mean 'fake'? Formats: fake phony obj"),
                         ("a.quux", "formats: fake phony obj")):
        assert wanted in call(FAKES, "run", HORSE, "-n", 9, "-o", name, code=2, cwd=tmp_path)
    order = ("--element-order", 2, "-o")
    assert "no output has one of the formats fake, vtk" in call(FAKES, "run", HORSE, "-n", 9, *order, "a.stl",
                                                   code=2, cwd=tmp_path)
    assert "fake" in call(FAKES, "lcp", "--mesh", "a.obj", "--problem", "torsion", "-o", "a.csv",
                          code=2, cwd=tmp_path)


def test_it_is_written_and_read(tmp_path):
    run = ("run", HORSE, "--domain", "frame", "-n", 90, "--iterations", 2, "-q", "-o")
    call(FAKES, *run, "a.fake", "--element-order", 2, cwd=tmp_path)
    call(FAKES, *run, "a.phony", "-o", "a.obj", cwd=tmp_path)
    text = (tmp_path / "a.fake").read_text()
    assert re.fullmatch(r"fake \d+ \d+\n", text) and text == (tmp_path / "a.phony").read_text()
    lines = (tmp_path / "a.obj").read_text().splitlines()
    assert [sum(line[0] == kind for line in lines) for kind in "vf"] == [
        int(word) for word in text.split()[1:]]
    assert text == call(FAKES, *run[:-1], "-o", "-", "--format", "ascii,fake", cwd=tmp_path)
    assert "a.fake: 3 vertices, 1 triangle\n" in call(FAKES, "stats", "a.fake", cwd=tmp_path)


def test_files_beside(tmp_path):
    """Those that are written must not be the ones that are read, and streams have none."""
    (tmp_path / "a_second.fake").write_bytes(HORSE.read_bytes())
    run = ("run", "a_second.fake", "-n", 9, "-o")
    assert "would overwrite" in call(FAKES, *run, "a.fake", code=2, cwd=tmp_path)
    (tmp_path / "a_third.fake").write_bytes(HORSE.read_bytes())
    run = ("run", "a_third.fake", "-n", 9, "-o")
    assert "would overwrite" in call(FAKES, *run, "a.fake", code=2, cwd=tmp_path)
    call(FAKES, *run, "a.fake", "--format", "ascii", "-q", cwd=tmp_path)
    assert "fake goes to a stream only with --format ascii" in call(
        FAKES, *run, "-", "--format", "fake", code=2, cwd=tmp_path)
    assert "would overwrite" in call(FAKES, "lcp", "--problem", "torsion", "--mesh", "a.fake", "-o",
                                     "a_first.npy", "--report", "a_first.fake", code=2,
                                     cwd=tmp_path)


@pytest.mark.parametrize("page", ["README.md", "docs/reference/formats.md"])
def test_pages_name_every_format(page):
    """The extensions of a page are those of the rows, and none is missing."""
    named = set(re.findall(r"`\.(\w+)`", (ROOT / page).read_text()))
    written = set(formats())
    assert named >= written, written - named
    read = set(re.search(r"^Points are read from(.*?)^\.SH", manual(PROGRAM) + ".SH", re.M | re.S)
               .group(1).replace(";", ",").replace(",", " ").split())
    assert named <= written | read | {"h5", "pgm", "info"}, named - written


def test_the_table_of_readme():
    """Each kind has its own line."""
    text, known = (ROOT / "README.md").read_text(), formats()
    for kind in ("points", "meshes", "drawings", "pictures"):
        line = re.search(rf"^\| {kind} \|(.*)\|$", text, re.M).group(1)
        assert set(re.findall(r"`\.(\w+)`", line)) == {
            name for name, (of, _) in known.items() if of == kind}


def test_the_table_of_meshes():
    """The columns of groups and of nodes of second order."""
    text, known = (ROOT / "docs/reference/formats.md").read_text(), formats()
    rows = re.findall(r"^\| (`\..*?) \|[^|]*\| (.*?) \| (yes|no) \|$", text, re.M)
    names = [re.findall(r"`\.(\w+)`", row[0]) for row in rows]
    assert sorted(set(sum(names, [])) - {"h5"}) == sorted(
        name for name, (kind, _) in known.items() if kind == "meshes")
    for extensions, (_, groups, second) in zip(names, rows):
        facts = [known[name][1] for name in extensions if name != "h5"]
        assert all(("regions" in text) == (groups != "no") for text in facts), extensions
        assert any(("second order" in text) for text in facts) == (second == "yes"), extensions


@pytest.mark.parametrize("colours", [(), ("--colours", "cmyk")])
def test_pictures_of_both_formats_are_equal(tmp_path, colours):
    call(PROGRAM, "run", HORSE, "-n", 90, "--iterations", 2, "-q", "--picture-size", 300, *colours,
         "-o", "a.png", "-o", "a.ppm", cwd=tmp_path)
    png, ppm = (np.asarray(Image.open(tmp_path / name)) for name in ("a.png", "a.ppm"))
    assert png.shape == (246, 300, 3) and (png == ppm).all()
