"""Command lines of `cvtmesh run`, and the same runs as calls of Python. tests/run_lines.c has them as
programs in C. All three write the same bytes: cli/test_run_lines.py, python/test_run_lines.py."""

import json

import numpy as np


def inputs(folder, examples):
    """The files that the lines read."""
    for name in ("camera", "coins", "horse"):
        (folder / f"{name}.png").symlink_to(examples / f"{name}.png")
    y, x = np.mgrid[:120, :160]
    disc = np.hypot(x - 70, y - 60) < 45
    np.save(folder / "density.npy", (1 + 0.05 * x + 9 * disc).astype(np.float32))
    np.save(folder / "labels.npy", (disc * (1 + (x > 70))).astype(np.int16))
    np.save(folder / "left.npy", x < 100)
    points = np.column_stack([np.linspace(3, 150, 40), 60 + 50 * np.sin(np.arange(40.0))])
    np.savetxt(folder / "points.csv", points, delimiter=",", fmt="%.3f")
    np.savetxt(folder / "fixed.csv", points[::9] + 1, delimiter=",", fmt="%.3f")
    rows = np.array([[0, 0, 6], [160, 0, 9], [0, 120, 7], [160, 120, 14]])
    np.save(folder / "sizes.npy", rows.astype(np.float32))
    (folder / "shape.geojson").write_text(json.dumps({
        "type": "Polygon", "coordinates": [[[0, 20], [90, 12], [160, 20], [160, 100], [0, 100], [0, 20]]]}))


# Name: the picture, the words of the command line, the keywords.
LINES = {
    "plain": ("camera.png", "-n 400 --iterations 20 -o a.svg -o a.msh -o a.csv -o a.png",
              dict(points=400, iterations=20, output=["a.svg", "a.msh", "a.csv", "a.png"])),
    "domain": (
        "horse.png",
        "-n 700 --iterations 9 --domain image --region-name 1=horse --max-area 90 --min-angle 32 "
        "--element-order 2 --format ascii,msh2 -o a.msh -o a.vtu",
        dict(points=700, iterations=9, domain="image", region_name=(1, "horse"), max_area=90,
             min_angle=32, element_order=2, format="ascii,msh2", output=["a.msh", "a.vtu"])),
    "labels": (
        "density.npy",
        "-n 300 --iterations 9 --domain labels=labels.npy --domain-smooth 1 --boundary sliding "
        "--max-area 1=40 --unit -o a.msh -o a.obj -o a.svg --svg mesh",
        dict(points=300, iterations=9, domain=("labels", "labels.npy"), domain_smooth=1,
             boundary="sliding", max_area={1: 40}, unit=True, output=["a.msh", "a.obj", "a.svg"],
             svg="mesh")),
    "periodic": (
        "density.npy",
        "-n 300 --iterations 9 --domain polygon=shape.geojson --periodic --pairs-out p.npy "
        "--boundary-tolerance 0.5 -o a.vtk -o a.inp",
        dict(points=300, iterations=9, domain=("polygon", "shape.geojson"), periodic=True,
             pairs_out="p.npy", boundary_tolerance=0.5, output=["a.vtk", "a.inp"])),
    "torus": (
        "density.npy",
        "--periodic --init points.csv --fixed fixed.csv --preset paper --iterations 9 --seed 3 "
        "-o a.ply -o a.npy",
        dict(periodic=True, init="points.csv", fixed="fixed.csv", preset="paper", iterations=9,
             seed=3, output=["a.ply", "a.npy"])),
    "inks": (
        "coins.png",
        "-n 600 --iterations 9 --colours cmyk --dot-size 1,3 -o a.svg -o a.png -o a.csv",
        dict(points=600, iterations=9, colours="cmyk", dot_size=(1, 3),
             output=["a.svg", "a.png", "a.csv"])),
    "page": (
        "camera.png",
        "--iterations 5 --page A6,landscape --margin 7.5 --dot-size 0.9,1.8mm "
        "--dots tone --order plot --plotter grbl-z -o a.svg -o a.plt -o a.nc",
        dict(iterations=5, page="A6,landscape", margin=7.5,
             dot_size=(0.9, 1.8, "mm"), dots="tone", order="plot", plotter="grbl-z",
             output=["a.svg", "a.plt", "a.nc"])),
    "path": (
        "horse.png",
        "-n 300 --iterations 9 --order tsp --svg path --page 120x90,fill --split 300 "
        "--levels 0.1,0.9 --contrast 1.3 --gamma 1.2 -o a.svg -o a.dxf",
        dict(points=300, iterations=9, order="tsp", svg="path", page="120x90,fill",
             split=300, levels=(0.1, 0.9), contrast=1.3, gamma=1.2, output=["a.svg", "a.dxf"])),
    "equal mass": (
        "density.npy",
        "-n 200 --iterations 9 --equal-mass --mass-tolerance 1e-5 --weights-out w.npy -o a.npy "
        "-o a.off",
        dict(points=200, iterations=9, equal_mass=True, mass_tolerance=1e-5, weights_out="w.npy",
             output=["a.npy", "a.off"])),
    "noise": ("camera.png", "-n 500 --iterations 20 --noise blue --invert --seed 7 -o a.csv -o a.svg",
              dict(points=500, iterations=20, noise="blue", invert=True, seed=7,
                   output=["a.csv", "a.svg"])),
    "world": (
        "density.npy",
        "-n 200 --iterations 9 --domain frame --pixel-size 0.65um --origin 2,3.5 --unit mm "
        "--max-area 20um2 -o a.msh -o a.csv -o a.xyz",
        dict(points=200, iterations=9, domain="frame", pixel_size=(0.65, "um"), origin=(2, 3.5),
             unit="mm", max_area="20um2", output=["a.msh", "a.csv", "a.xyz"])),
    "density": (
        "density.npy",
        "-n 200 --iterations 9 --within shape.geojson --obstacle left.npy --weight left.npy=2.5 "
        "--weight shape.geojson=0.5 --smooth 4,0.3 --grade 2,50 --grade-size 0.4 --floor 0.01 "
        "--density-out d.npy -o a.csv",
        dict(points=200, iterations=9, within="shape.geojson", obstacle="left.npy",
             weight=[("left.npy", 2.5), ("shape.geojson", 0.5)], smooth=(4, 0.3), grade=(2, 50),
             grade_size=0.4, floor=0.01, density_out="d.npy", output="a.csv")),
    "sizes": ("density.npy", "--iterations 9 --size-from size=sizes.npy --effort high --domain none -o a.off"
              " -o a.stl",
              dict(iterations=9, domain="none", size_from=("size", "sizes.npy"), effort="high",
                   output=["a.off", "a.stl"])),
    "checkpoint": (
        "camera.png",
        "-n 300 --effort low --gradient-tolerance 0.05 --tolerance 0 --checkpoint c.bin "
        "--checkpoint-every 0 --picture-size 300 --layers cells,sites -o a.png",
        dict(points=300, effort="low", gradient_tolerance=0.05, tolerance=0, checkpoint="c.bin",
             checkpoint_every=0, picture_size=300, layers=("cells", "sites"), output="a.png")),
}


def report(path):
    """A report without what differs between two runs of one line, and between callers."""
    made = json.loads(path.read_text())
    made.pop("options", None)
    made.pop("device_description")
    without = ("seconds", "device")

    def plain(value):
        if isinstance(value, dict):
            return {k: plain(v) for k, v in value.items() if not k.startswith(without)}
        return list(map(plain, value)) if isinstance(value, list) else value

    return plain(made)


def compare(one, other):
    """Two folders have the same files but for checkpoints, which hold seconds."""
    names = {path.name for path in one.iterdir() if not path.is_symlink()}
    assert names == {path.name for path in other.iterdir() if not path.is_symlink()}
    assert len(names - {"r.json"}) > 0
    for name in names - {"r.json", "c.bin"}:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    assert report(one / "r.json") == report(other / "r.json")
