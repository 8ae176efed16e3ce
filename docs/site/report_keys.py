"""Compares the keys of reports with the page that explains them: none is missing, none is gone. The
build of the site and tests/cli/test_report_keys.py do so."""

import json
import re
import subprocess
import tempfile
from pathlib import Path

# Short runs that together have every key. {e}: the examples; the files are in one folder.
RUNS = [
    "run {e}/camera.png -n 99 --iterations 3 -o a.svg",
    "run {e}/camera.png -n 99 --effort best --time-limit 0.1 -o a.csv",
    "run {e}/camera.png -n 99 --iterations 3 --preset paper -o a.csv",
    "run {e}/horse.png -n 900 --iterations 3 --domain image --periodic --element-order 2 -o a.msh",
    "run {e}/camera.png -n 2min --iterations 3 --page A4 -o a.hpgl",
    "run {e}/horse.png -n 99 --iterations 3 --noise blue -o a.csv --order tsp",
    "run {e}/coins.png -n 99 --iterations 3 --equal-mass --pixel-size 0.5um -o b.csv",
    "run {e}/coins.png -n 99 --iterations 3 --colours cmyk -o b.svg",
    "run {e}/coins.png --iterations 1 --dot-size 9 --smooth 4 --grade 3 --within p.csv -o c.svg",
    "voronoi a.csv --like {e}/horse.png -o l.npy --check",
    "mesh a.csv --like {e}/horse.png -o m.msh",
    "mesh p.csv --periodic --width 90 --height 80 -o t.ply",
    "mesh p.csv --min-angle 30 -o p.msh",
    "mesh p.csv --size 5 -n 200 -o s.msh",
    "mesh box.csv --periodic --size 9 -o s.msh",
    "mesh {e}/coins.png --metric hessian -n 50 -o q.msh",
    "sphere 2000 -o s.obj",
    "density {e}/coins.png --grade 4 -o d.npy",
    "segment {e}/coins.png --inside 75,75,10 -o s.png",
    "stats a.csv --json",
    "minimize ept --nx 20 --ny 20 --history",
    "hlcp --example 1 --size 10",
    "lcp --problem torsion --size 31",
    "batch '{e}/h*.png' -n 99 --iterations 1 -o x.csv",
]


def keys_of(value, prefix=""):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield prefix + key
            if key != "options":
                yield from keys_of(inner, f"{prefix}{key}.")
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, dict):
                yield from keys_of(inner, f"{prefix[:-1]}[].")


def reported(program, examples):
    keys = set()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "p.csv").write_text("10,10\n90,10\n90,80\n")
        Path(folder, "box.csv").write_text("10,10\n90,20\n90,80\n10,70\n")
        for run in RUNS:
            words = run.format(e=examples).replace("'", "").split()
            if words[0] != "stats":
                words += ["--quiet", "--report", "report.json"]
            done = subprocess.run([program, *words], cwd=folder, text=True, check=False,
                                  stdout=subprocess.PIPE)
            assert done.returncode in (0, 4), run
            text = done.stdout if words[0] == "stats" else Path(folder, "report.json").read_text()
            keys |= set(keys_of(json.loads(text)))
    return keys


def check(program, examples, page):
    text = page.read_text()
    explained = set()
    for row in re.findall(r"^\| (`.*?`) \|", text, re.M):
        explained |= set(re.findall(r"`([^`]+)`", row))
    found = reported(program, examples)
    # An object whose members are in the page needs no row; nor do copies of quality and of_inks.
    inner = {key for key in found if any(other.startswith((key + ".", key + "[]."))
                                         for other in explained)}
    copies = {key for key in found if key.startswith(("quality_all.", "colour_error.of_inks."))}
    missing = found - explained - inner - copies - {"history"}
    gone = explained - found - {"history[]"}
    assert not missing, f"{page.name} does not explain {sorted(missing)}"
    assert not gone, f"{page.name} explains keys that no report has: {sorted(gone)}"
