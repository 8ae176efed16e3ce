"""Sphinx: the documentation site. `cmake --build build --target site` runs build.py, which runs this."""

import os

project = "cvtmesh"
author = "The cvtmesh developers"
copyright = "2026, The cvtmesh developers"
release = version = os.environ.get("CVTMESH_SITE_VERSION", "")

extensions = ["myst_parser"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"cvtmesh {version}"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["static"]
html_css_files = ["site.css"]
pygments_style = "friendly"
highlight_language = "none"
