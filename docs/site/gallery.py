"""The gallery: every picture is made by the command under it, when the site is built."""

import concurrent.futures
import html
import os
import shlex
import subprocess

# Title, commands, the picture to show. The last command makes it.
PICTURES = [
    ("Stipples", ["cvtmesh run camera.png -n 4000 -o stipples.svg"], "stipples.svg"),
    ("Cells", ["cvtmesh run camera.png -n 3000 -o cells.csv -o cells.png --picture-size 800"],
     "cells.png"),
    ("A mesh, fine where it is dark",
     ["cvtmesh run camera.png -n 1500 -o mesh.vtu -o mesh.svg --svg mesh"], "mesh.svg"),
    ("One line (TSP art)",
     ["cvtmesh run camera.png -n 4000 --order tsp --svg path -o line.svg"], "line.svg"),
    ("Larger dots where it is dark",
     ["cvtmesh run coins.png --dots tone --dot-size 2,6 -o tone.svg"], "tone.svg"),
    ("White on black", ["cvtmesh run coins.png --invert -n 2500 -o dark.svg"], "dark.svg"),
    ("Four inks on a page",
     ["cvtmesh run coins.png --colours cmyk -n 1500 --page A5 -o inks.svg"],
     "inks.svg"),
    ("A domain with its outline",
     ["cvtmesh run horse.png -n 1500 --domain image -o horse.msh -o horse.svg --svg mesh"],
     "horse.svg"),
    ("One coin, by one disc inside it",
     ["cvtmesh segment coins.png --inside 48,56,8 -o coin.png"], "coin.png"),
    ("A polygon, no angle below 30 degrees",
     ["cvtmesh mesh plan.csv --min-angle 30 --size 9.6 -o plan.svg"], "plan.svg"),
    ("Triangles stretched along a picture",
     ["cvtmesh mesh camera.png --metric hessian -n 2500 -o stretched.svg"], "stretched.svg"),
    ("Cells of equal mass",
     ["cvtmesh run camera.png -n 1500 --equal-mass -o mass.csv -o mass.png"
      " --picture-size 800"], "mass.png"),
    ("Blue noise", ["cvtmesh run horse.png -n 3000 --noise blue -o blue.svg"], "blue.svg"),
    ("The density, graded", ["cvtmesh density camera.png --grade 200 -o graded.png"], "graded.png"),
    ("The globe, by even cells for a climate model", ["cvtmesh sphere 400 -o globe.png"], "globe.png"),
    ("An obstacle problem on a mesh",
     ["cvtmesh run horse.png -n 1200 --domain image -o h.msh",
      "cvtmesh lcp --mesh h.msh --problem torsion --load 25 -o torsion.png"], "torsion.png"),
]

PLAN = """0,0
120,0
120,40
60,40
60,90
0,90

15,15
15,30
40,30
40,15
"""


def run(program, examples, folder):
    for name in ("camera.png", "coins.png", "horse.png"):
        (folder / name).write_bytes((examples / name).read_bytes())
    (folder / "plan.csv").write_text(PLAN)

    def draw(row):
        for command in row[1]:
            subprocess.run([program, *shlex.split(command)[1:], "--quiet"], cwd=folder, check=True,
                           stdout=subprocess.DEVNULL)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(draw, PICTURES))


def write(program, examples, docs, draw):
    folder = docs / "site/static/gallery"
    folder.mkdir()
    if draw:
        work = docs.parent / "gallery"
        work.mkdir()
        run(program, examples, work)
        for _, _, picture in PICTURES:
            (folder / picture).write_bytes((work / picture).read_bytes())
    page = ["# Gallery", "",
            "The pictures come from the three in `docs/examples/`, and each was made by the command under "
            "it when these pages were built. `docs/site/gallery.py` has them all.", "",
            "```{raw} html", '<div class="gallery">']
    for title, commands, picture in PICTURES:
        lines = html.escape("\n".join(commands))
        page += [f'<figure><a href="_static/gallery/{picture}"><img src="_static/gallery/{picture}" '
                 f'alt="{html.escape(title)}"></a><figcaption><strong>{html.escape(title)}</strong>'
                 f'<div class="highlight"><pre>{lines}</pre></div></figcaption></figure>']
    page += ["</div>", "```", ""]
    (docs / "gallery.md").write_text("\n".join(page))
