"""mesh OUTLINE.svg: what editors write. Each case has the groups of lines and the area that a viewer of SVG shows."""

import json
import math

import meshio
import numpy as np
import pytest

PLATE = '<rect x="0" y="0" width="100" height="60"/>'
HEAD = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:inkscape="http://www.inkscape.org/namespaces/inkscape" ' \
       'xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 100 60">'
CIRCLE = 100 * math.pi


def solve(cvtmesh, text, *words):
    """The names of regions and of lines inside or around holes, and the area."""
    cvtmesh.file("o.svg", HEAD + text + "</svg>")
    cvtmesh.call("mesh", "o.svg", "--size", 4, *words, "-o", "m.msh")
    mesh = meshio.read(cvtmesh.path("m.msh"))
    a, b, c = (mesh.points[mesh.cells_dict["triangle"][:, k], :2] for k in range(3))
    u, v = b - a, c - a
    names = {name for name in mesh.field_data if not name.startswith("region-")}
    return names - {"left", "right", "top", "bottom"}, np.abs(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]).sum() / 2


@pytest.mark.parametrize("path, names", [
    ('d="M20,15 Q50,60 80,15" fill="none"', {"interface-1-1"}),
    ('d="M10,10 C30,50 60,-10 90,50" id="seam" style="stroke:#000; fill : none"', {"seam"}),
    ('d="M10,10 L90,50" id="crack"', {"crack"}),  # no area to fill
    ('d="m10,10 20,5 m10,10 l20,.3" class="thin" id="crack"', {"crack"}),
    ('d="m10,10 h.7 v.1 h-.7 v-.1" fill="none"', {"hole-1"}),  # the ends meet
    ('d="M20,15 Q50,60 80,15" class="thin" style="fill:red"', {"hole-1"}),  # filling closes it
])
def test_open_paths(cvtmesh, path, names):
    """An open path is a line, unless its filled inside has an area."""
    sheet = "<style>/* c */ .thick, path.thin { stroke: red; fill: none }</style>"
    for text in (sheet + PLATE + f"<path {path}/>", f'{sheet}<g fill="none">{PLATE}<path {path}/></g>'):
        found, area = solve(cvtmesh, text)
        assert found == names and (area == pytest.approx(6000)) == ("hole-1" not in names)


def test_lines_of_curves_are_divided_by_the_size(cvtmesh):
    solve(cvtmesh, PLATE + '<path id="w" d="M10,30 C40,10 60,50 90,30" fill="none"/>')
    mesh = meshio.read(cvtmesh.path("m.msh"))
    tags = np.concatenate([tags for cells, tags in zip(mesh.cells, mesh.cell_data["gmsh:physical"])
                           if cells.type == "line"])
    assert 18 < np.sum(tags == mesh.field_data["w"][0]) < 26


@pytest.mark.parametrize("text", [
    '<g style="display:none">{}</g>', '<g display="none"><g display="inline">{}</g></g>', '<g visibility="hidden">{}</g>',
    '<defs>{}</defs>', '<symbol>{}</symbol>', '<clipPath>{}</clipPath>', '<mask>{}</mask>', '<pattern>{}</pattern>',
    "<style><![CDATA[ .a { fill: none } #off { display: none !important; } ]]></style><g id='off'>{}</g>"])
def test_what_is_not_shown_is_not_cut(cvtmesh, text):
    circle = '<circle cx="20" cy="30" r="10"/>'
    assert solve(cvtmesh, PLATE + text.replace("{}", circle)) == (set(), pytest.approx(6000))
    shown = '<g visibility="hidden"><circle visibility="visible" cx="20" cy="30" r="10"/></g>'
    assert solve(cvtmesh, PLATE + shown) == ({"hole-1"}, pytest.approx(6000 - CIRCLE, rel=0.01))


@pytest.mark.parametrize("text, names, area", [
    ('<circle id="hole" cx="20" cy="30" r="10"/><use href="#hole" x="30"/>', {"hole-1", "hole-2"}, 6000 - 2 * CIRCLE),
    ('<defs><g id="pair" transform="scale(.5)"><circle cx="40" cy="60" r="20"/><circle cx="100" cy="60" r="20"/></g></defs>'
     '<use xlink:href="#pair" transform="translate(25 0)" y="2"/>', {"hole-1", "hole-2"}, 6000 - 2 * CIRCLE),
    ('<symbol id="s"><circle cx="0" cy="0" r="10"/></symbol><use id="pin" href="#s" x="50" y="30"/>',
     {"interface-1-pin", "pin"}, 6000),
    ('<use href="#hole-9" x="20" y="30"/><g display="none" transform="scale(9)"><circle id="hole-9" r="10"/></g>',
     {"hole-1"}, 6000 - CIRCLE),
])
def test_use(cvtmesh, text, names, area):
    """A <use> shows another element, in the place where the <use> is."""
    assert solve(cvtmesh, PLATE + text) == (names, pytest.approx(area, rel=0.01))


def test_use_that_cannot_be_resolved(cvtmesh):
    for text, name in (('<use href="#gone"/>', "gone"), ('<use href="other.svg#a"/>', "other.svg"),
                       ('<g id="a"><use href="#a"/></g>', "nested"),
                       ('<symbol id="s" viewBox="0 0 1 1"/><use href="#s"/>', "viewBox"),
                       ("".join(f'<g id="g{k}">' + f'<use href="#g{k + 1}"/>' * 20 + "</g>" for k in range(9))
                        + '<rect id="g9" width="1" height="1"/>', "<use>")):
        cvtmesh.file("o.svg", HEAD + PLATE + text + "</svg>")
        cvtmesh.refused("mesh", "o.svg", "--size", 4, "-o", "m.msh", code=3, names=["o.svg", name])


@pytest.mark.parametrize("name, regions", [
    ('id="path835"', set()), ('id="circle12-3"', set()), ('id="rect833"', set()), ('id="circle"', set()),
    ('id="Ellipse 2"', set()), ('id="XMLID_12_"', set()), ('id="g7"', set()), ('id="hole-4"', set()),
    ('id="path835" inkscape:label="steel"', {"steel"}), ('id="steel"', {"steel"}), ('id="pathology1"', {"pathology1"}),
    ('id="gear3"', {"gear3"}), ('inkscape:label="rect1"', {"rect1"})])
def test_ids_of_editors_are_no_names(cvtmesh, name, regions):
    found, area = solve(cvtmesh, f'<rect id="rect1-7" width="100" height="60"/><circle {name} cx="30" cy="30" r="10"/>')
    holes = {f"interface-1-{region}" for region in regions} | regions if regions else {"hole-1"}
    assert found == holes and area == pytest.approx(6000 if regions else 6000 - CIRCLE, rel=0.01)


@pytest.mark.parametrize("path", [
    "M20 30a10 10 0 1120 0 10,10,0,01-20 0z", "M20,30A10 10 0 0 1 40 30 10 10 0 0140 30 10 10 0 01 20 30Z",
    "m 30 20 c5.5228,0 10,4.4772 10,10 s-4.4772,10-10,10-10-4.4772-10-10 4.4772-10 10-10",
    "M30 20C35.5228 20 40 24.4772 40 30S35.5228 40 30 40 20 35.5228 20 30 24.4772 20 30 20z"])
def test_spellings_of_a_circle(cvtmesh, path):
    for text in (f'<path d="{path}"/>', f'<g transform="translate(30,30) scale(2)"><g transform="scale(.5,-.5),rotate(90)">'
                 f'<path transform="translate(-30 -30)" d="{path}"/></g></g>'):
        assert solve(cvtmesh, PLATE + text) == ({"hole-1"}, pytest.approx(6000 - CIRCLE, rel=0.01))


def test_lengths_have_units(cvtmesh):
    mm = 96 / 25.4
    text = '<rect width="100mm" height="6cm"/><circle cx="20mm" cy="30mm" r="10mm"/>'
    found, area = solve(cvtmesh, text)
    assert found == {"hole-1"} and area == pytest.approx((6000 - CIRCLE) * mm * mm, rel=0.01)
    cvtmesh.file("o.svg", HEAD + '<rect width="100%" height="60"/></svg>')
    cvtmesh.refused("mesh", "o.svg", "--size", 4, "-o", "m.msh", code=3, names=["100%"])


SIDES = ('<path d="M0 0L100 0"/><path d="M100 50L100 0"/><path d="M100 50A10 10 0 0 1 90 60"/>'
         '<line x1="0" y1="60" x2="90" y2="60"/><path d="M0 60L0 0"/>')


def test_sides_drawn_one_by_one(cvtmesh):
    """CAD programs draw each side of an outline as an element of its own."""
    whole = 6000 - 100 + CIRCLE / 4
    for inside, names, area in (("", set(), whole), ('<circle cx="30" cy="30" r="10"/>', {"hole-1"}, whole - CIRCLE),
                                ('<circle id="a" cx="30" cy="30" r="10"/>', {"a", "interface-1-a"}, whole),
                                ('<path id="w" d="M30 30L40 50L60 30"/>', {"w"}, whole),
                                (SIDES.replace("/>", ' transform="translate(30 20) scale(.1)"/>'), {"hole-1"}, 0.99 * whole)):
        found = solve(cvtmesh, f'<g fill="none">{SIDES}{inside}</g>')
        assert found == (names | {"outer"}, pytest.approx(area, rel=0.003))
    loop = '<path d="M10 10L40 10"/><path d="M40 10L40 40"/><path d="M40 40L10 10"/>'
    assert solve(cvtmesh, PLATE + f'<g fill="none">{loop}</g>') == ({"interface-1-1"}, pytest.approx(6000))


def test_sides_that_miss_each_other_by_rounding(cvtmesh):
    """40.3 - 30.2 is not 10.1, and editors write 8 digits."""
    sides = '<path d="m10.1 10.2h30.2"/><path d="m40.3 10.2v30.5"/><path d="m40.3 40.7h-30.2"/><path d="m10.1 40.7v-30.5"/>'
    hole = '<circle cx="25" cy="25" r="10"/>'
    for lines in (sides, '<path d="M10.1 10.2H40.3V40.7H10.1V10.200001"/>'):
        found = solve(cvtmesh, f'<g fill="none">{lines}</g>{hole}')
        assert found == ({"hole-1"}, pytest.approx(30.2 * 30.5 - CIRCLE, rel=0.02))


def test_named_sides(cvtmesh):
    """Lines of GeoJSON around everything are the outline, and keep their names."""
    sides = {"inlet": [[0, 0], [0, 50]], "wall": [[0, 50], [40, 60], [100, 50]], "outlet": [[100, 0], [100, 50]],
             "": [[0, 0], [100, 0]]}
    features = [{"type": "Feature", "properties": {"name": name} if name else {},
                 "geometry": {"type": "LineString", "coordinates": line}} for name, line in sides.items()]
    features.append({"type": "Feature", "geometry": {"type": "Point", "coordinates": [50.3, 20.7]}})
    cvtmesh.file("o.geojson", json.dumps({"type": "FeatureCollection", "features": features}))
    cvtmesh.call("mesh", "o.geojson", "--size", 5, "-o", "m.msh")
    mesh = meshio.read(cvtmesh.path("m.msh"))
    assert {"inlet", "wall", "outlet", "bottom"} <= set(mesh.field_data) and "hole-1" not in mesh.field_data
    assert [50.3, 20.7] in mesh.points[:, :2].tolist()


def test_transforms_in_styles_and_stretched_drawings(cvtmesh):
    sheet = "<style>.moved { transform: translate(40 0) }</style>"
    for moved in ('class="moved"', 'style="transform:translate(40,0)"', 'transform="translate(40)"',
                  'style="transform: rotate(360deg) translate(40px, 0px)"'):
        found = solve(cvtmesh, f'{sheet}{PLATE}<circle cx="30" cy="30" r="10"/><circle {moved} cx="30" cy="30" r="10"/>')
        assert found == ({"hole-1", "hole-2"}, pytest.approx(6000 - 2 * CIRCLE, rel=0.01))
    text = '<svg:svg xmlns:svg="http://www.w3.org/2000/svg" width="{}mm" height="60mm" viewBox="0 0 100 60" ' \
           'preserveAspectRatio="none"><svg:rect width="100" height="60"/></svg:svg>'
    cvtmesh.file("o.svg", text.format(100))
    cvtmesh.call("mesh", "o.svg", "--size", "4mm", "-o", "m.msh")
    cvtmesh.file("o.svg", text.format(200))
    cvtmesh.refused("mesh", "o.svg", "--size", "4mm", "-o", "m.msh", code=3, names=["o.svg", "stretches"])


def test_rings_of_lines_may_follow_other_shapes(cvtmesh):
    """A shape whose lines close around the others has its rings before and after theirs."""
    corners = [[-10, -10], [10, -10], [10, 10], [-10, 10]]
    square = [[1, 1], [2, 1], [2, 2], [1, 2], [1, 1]]
    sides = [[corners[k], corners[(k + 1) % 4]] for k in range(4)]
    geometries = [{"type": "Polygon", "coordinates": [square]}, {"type": "MultiLineString", "coordinates": sides}]
    moved = {"type": "Polygon", "coordinates": [[[x + 4, y + 4] for x, y in square]]}
    features = [{"type": "Feature", "geometry": {"type": "GeometryCollection", "geometries": geometries}},
                {"type": "Feature", "properties": {"name": "b"}, "geometry": moved}]
    cvtmesh.file("o.geojson", json.dumps({"type": "FeatureCollection", "features": features}))
    cvtmesh.call("mesh", "o.geojson", "--size", 1, "-o", "m.msh")
    mesh = meshio.read(cvtmesh.path("m.msh"))
    assert {name for name, (_, dimension) in mesh.field_data.items() if dimension == 2} == {"region-1", "b"}
