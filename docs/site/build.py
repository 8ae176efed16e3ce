#!/usr/bin/env python3
"""Builds the documentation site: the pages of docs/, and what is generated from the program, the
manual page and the headers, so that there is one source of each.

usage: docs/site/build.py --program build/cvtmesh --out build/site [--page PAGE.html] [--no-pictures]

Needs Sphinx, MyST-Parser, Furo and mandoc. Warnings are errors. The site is OUT/html.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import gallery
import headers
import manual
import options
import report_keys

ROOT = Path(__file__).resolve().parents[2]
# Files that the pages link to.
BESIDE = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "packaging"]


def copy_tree(out):
    """Pages are generated beside a copy of docs/, so that the source tree stays clean."""
    tree = out / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT / "docs", tree / "docs")
    for name in BESIDE:
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tree / name)
    shutil.copy(ROOT / "CHANGELOG.md", tree / "docs/changelog.md")
    return tree / "docs"


def show_page(page, docs):
    """The live page takes the place of its picture in the first page of the site."""
    shutil.copy(page, docs / "site/static")
    index = docs / "index.md"
    before, text, after = re.split(r"^!\[(.*)\]\(page\.png\)$", index.read_text(), flags=re.M)
    address = f"_static/{page.name}"
    index.write_text(f'{before}<iframe class="page" src="{address}#camera.png" title="{text}"></iframe>\n\n'
                     f'<a href="{address}">This page alone</a>{after}')


def version_of(program):
    line = subprocess.run([program, "--version"], check=True, text=True, stdout=subprocess.PIPE)
    return line.stdout.split()[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--page", type=Path, help="the page for browsers, which may be missing")
    parser.add_argument("--no-pictures", action="store_true", help="leave out the gallery's runs")
    asked = parser.parse_args()
    program = asked.program.resolve()
    out = asked.out.resolve()
    docs = copy_tree(out)
    options.write(program, docs / "reference")
    manual.write(program, ROOT / "docs/cvtmesh.1.in", docs / "reference/manual.md")
    headers.write(ROOT, docs / "reference/library")
    report_keys.check(program, ROOT / "docs/examples", docs / "reference/report.md")
    gallery.write(program, ROOT / "docs/examples", docs, draw=not asked.no_pictures)
    if asked.page and asked.page.exists():
        show_page(asked.page, docs)
    environment = {**os.environ, "CVTMESH_SITE_VERSION": version_of(program)}
    return subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-j", "auto",
         "-c", docs / "site", docs, out / "html"], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
