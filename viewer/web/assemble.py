"""Writes the page as one file: python3 assemble.py cvtmesh_web.js PAGE.html"""

import base64
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
EXAMPLES = HERE.parents[1] / "docs/examples"
glue, page = map(pathlib.Path, sys.argv[1:])


def base64_of(path):
    return base64.b64encode(path.read_bytes()).decode()


parts = {
    "page.css": (HERE / "page.css").read_text(),
    "page.js": (HERE / "page.js").read_text(),
    "worker.js": glue.read_text() + (HERE / "worker.js").read_text(),
    "cvtmesh.wasm": base64_of(glue.with_suffix(".wasm")),
    **{name: base64_of(EXAMPLES / name) for name in ("camera.png", "coins.png", "horse.png")},
}
html = (HERE / "page.html").read_text()
for name, text in parts.items():
    assert "</script" not in text and f"@{name}@" in html, name
    html = html.replace(f"@{name}@", text)
page.write_text(html)
