"""WebP, GIF, BMP, HEIC, AVIF and TIFF against Pillow, the encoders' own pictures and the definitions of
the formats; formats that no build or not this build reads."""

import io
import pathlib
import re
import shutil
import struct
import subprocess

import numpy as np
import pytest

from conftest import PROGRAM, from_srgb, luminance, strict_json

Image = pytest.importorskip("PIL.Image")
from PIL import ImageCms, ImageOps  # noqa: E402

WIDTH, HEIGHT = 37, 23
WEIGHTS = np.array((0.2126, 0.7152, 0.0722))


def luminance_of(image):
    """Y of Pillow's picture, over white."""
    rgba = np.asarray(image.convert("RGBA"), dtype=float) / 255
    alpha = rgba[..., 3:]
    return from_srgb(rgba[..., :3] * alpha + 1 - alpha) @ WEIGHTS


def formats(cvtmesh):
    return cvtmesh.printed("info")["image_formats"]


def reader_of(kind):
    """A fixture that skips the test in a build that does not read this kind."""
    @pytest.fixture
    def needed(cvtmesh):
        if kind not in formats(cvtmesh):
            pytest.skip("a build that does not read " + kind)

    return needed


webp, gif, tiff_is_read = (reader_of(kind) for kind in ("webp", "gif", "tiff"))


def saved(image, kind, **options):
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def check(cvtmesh, content, name="picture"):
    """The program and Pillow read the same."""
    want = luminance_of(ImageOps.exif_transpose(Image.open(io.BytesIO(content))))
    found = luminance(cvtmesh, name, content)
    assert found.shape == want.shape
    np.testing.assert_allclose(found, want, atol=1e-6)


def cut_and_flipped(cvtmesh, content, kind, step):
    """Whatever the damage, the answer is sites or one line that names the file."""
    rng = np.random.default_rng(1)
    places = range(step, len(content), step)
    for k in places:
        flipped = bytearray(content)
        flipped[k] ^= int(rng.integers(1, 256))
        cvtmesh.file(f"{k}-cut.{kind}", content[:k])
        cvtmesh.file(f"{k}-flipped.{kind}", bytes(flipped))
    cvtmesh.call("batch", f"*-*.{kind}", "-n", 3, "--iterations", 0, "-o", "{stem}.npy", code=(0, 1))
    found = [strict_json(line) for line in cvtmesh.read("cvtmesh-batch.journal").splitlines()[1:]]
    assert len(found) == 2 * len(places)
    for job in found:
        if job["status"] != "done":
            assert job["code"] == 3 and job["input"] in job["reason"] and "\n" not in job["reason"], job


@pytest.fixture(scope="module")
def colours():
    rng = np.random.default_rng(23)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    smooth = np.stack([6 * x, 10 * y, 255 - 3 * x - 4 * y, 250 - 5 * x], axis=2)
    return Image.fromarray(np.clip(smooth + rng.integers(-3, 4, smooth.shape), 0, 255).astype(np.uint8))


# --- WebP ---


def test_webp(cvtmesh, webp, colours):
    check(cvtmesh, saved(colours.convert("RGB"), "webp", lossless=True))
    check(cvtmesh, saved(colours.convert("RGB"), "webp", quality=80))
    check(cvtmesh, saved(colours, "webp", lossless=True, exact=True))
    cut_and_flipped(cvtmesh, saved(colours, "webp", quality=60), "webp", 61)


def test_webp_orientation_and_profile(cvtmesh, webp, colours):
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        check(cvtmesh, saved(colours.convert("RGB"), "webp", lossless=True, exif=exif))
    if not cvtmesh.printed("info")["colour_profiles"]:
        return
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    check(cvtmesh, saved(colours.convert("RGB"), "webp", lossless=True, icc_profile=srgb))
    wide = srgb.replace(b"rXYZ", b"tXYZ", 1).replace(b"gXYZ", b"rXYZ", 1).replace(b"tXYZ", b"gXYZ", 1)
    swapped = Image.merge("RGB", [colours.getchannel(c) for c in "GRB"])
    found = luminance(cvtmesh, "w.webp", saved(swapped, "webp", lossless=True, icc_profile=wide))
    np.testing.assert_allclose(found, luminance_of(colours.convert("RGB")), atol=1e-3)


def test_webp_animation(cvtmesh, webp, colours):
    frames = [colours.convert("RGB"), Image.new("RGB", colours.size, "red")]
    content = saved(frames[0], "webp", save_all=True, append_images=frames[1:], lossless=True)
    np.testing.assert_allclose(luminance(cvtmesh, "a.webp", content), luminance_of(frames[0]),
                               atol=1e-6)


# --- GIF ---


def test_gif(cvtmesh, gif, colours):
    indexed = colours.convert("RGB").convert("P", palette=Image.Palette.ADAPTIVE, colors=64)
    for interlace in (0, 1):
        check(cvtmesh, saved(indexed, "gif", interlace=interlace))
    check(cvtmesh, saved(indexed, "gif", transparency=3))
    check(cvtmesh, saved(colours.convert("L"), "gif"))
    frames = [Image.new("RGB", colours.size, "blue")]
    content = saved(indexed, "gif", save_all=True, append_images=frames)
    assert Image.open(io.BytesIO(content)).n_frames == 2
    np.testing.assert_allclose(luminance(cvtmesh, "a.gif", content),
                               luminance_of(indexed), atol=1e-6)
    cut_and_flipped(cvtmesh, saved(indexed, "gif"), "gif", 53)


def test_gif_frame_smaller_than_the_screen(cvtmesh, gif, colours):
    """What the frame does not cover is transparent."""
    indexed = colours.convert("RGB").convert("P", palette=Image.Palette.ADAPTIVE, colors=16)
    content = bytearray(saved(indexed, "gif"))
    content[6:10] = struct.pack("<HH", WIDTH + 5, HEIGHT + 4)
    frame = content.index(b"," + struct.pack("<4H", 0, 0, WIDTH, HEIGHT))
    content[frame + 1:frame + 5] = struct.pack("<HH", 3, 2)
    found = luminance(cvtmesh, "small.gif", bytes(content))
    want = np.ones((HEIGHT + 4, WIDTH + 5))
    want[2:2 + HEIGHT, 3:3 + WIDTH] = luminance_of(indexed)
    np.testing.assert_allclose(found, want, atol=1e-6)


def test_gif_frame_beyond_the_screen(cvtmesh, gif, colours):
    """The frame is clipped; a screen without a side has the frame's."""
    indexed = colours.convert("RGB").convert("P", palette=Image.Palette.ADAPTIVE, colors=16)
    saved_gif, whole = saved(indexed, "gif"), luminance_of(indexed)
    frame = saved_gif.index(b"," + struct.pack("<4H", 0, 0, WIDTH, HEIGHT))
    for screen, (left, top) in (((WIDTH, HEIGHT), (6, 2)), ((WIDTH - 4, HEIGHT), (0, 0)),
                                ((WIDTH, HEIGHT - 9), (0, 0)), ((20, 10), (3, 1)), ((0, 0), (0, 0)),
                                ((0, HEIGHT - 2), (0, 0)), ((0, 0), (5, 7)), ((9, 9), (9, 0))):
        content = bytearray(saved_gif)
        content[6:10] = struct.pack("<HH", *screen)
        content[frame + 1:frame + 5] = struct.pack("<HH", left, top)
        width, height = screen[0] or left + WIDTH, screen[1] or top + HEIGHT
        want = np.ones((top + HEIGHT, left + WIDTH))
        want[top:, left:] = whole
        padded = np.ones((height, width))
        part = want[:height, :width]
        padded[:part.shape[0], :part.shape[1]] = part
        cvtmesh.file("beyond.gif", bytes(content))
        if (padded == 1).all():
            cvtmesh.refused("density", "beyond.gif", "-o", "x.npy", code=3, names=["no pixel is dark"])
            continue
        np.testing.assert_allclose(luminance(cvtmesh, "beyond.gif"), padded, atol=1e-6)


# --- BMP ---


def test_bmp(cvtmesh, colours):
    for mode in ("1", "L", "P", "RGB"):
        image = colours.convert("RGB").convert(mode)
        check(cvtmesh, saved(image, "bmp"))
    cut_and_flipped(cvtmesh, saved(colours.convert("P"), "bmp"), "bmp", 97)


def bmp(bits, compression, pixels, width, height, palette=b"", masks=(), header=40):
    info = struct.pack("<IiiHHIIiiII", header, width, height, 1, bits, compression, len(pixels), 0, 0,
                       len(palette) // 4, 0)
    info += struct.pack(f"<{len(masks)}I", *masks)
    info += bytes(max(header - len(info), 0)) + palette
    return b"BM" + struct.pack("<IHHI", 14 + len(info) + len(pixels), 0, 0, 14 + len(info)) + info + pixels


def test_bmp_of_bit_fields(cvtmesh):
    """The values of each channel by their definition; Pillow reads few of these."""
    rng = np.random.default_rng(3)
    for bits, masks, header in ((16, (0x7C00, 0x3E0, 0x1F), 40), (16, (0xF800, 0x7E0, 0x1F), 40),
                                (32, (0x3FF00000, 0xFFC00, 0x3FF), 40),
                                (32, (0xFF, 0xFF00, 0xFF0000, 0xFF000000), 108),
                                (16, (0xF00, 0xF0, 0xF, 0xF000), 56)):
        kind = {16: np.uint16, 32: np.uint32}[bits]
        values = rng.integers(0, 1 << bits, (HEIGHT, WIDTH)).astype(kind)
        rows = [row.tobytes() + bytes(-len(row.tobytes()) % 4) for row in values[::-1]]
        found = luminance(cvtmesh, "f.bmp", bmp(bits, 3, b"".join(rows), WIDTH, HEIGHT, masks=masks,
                                                header=header))
        parts = [(values & mask).astype(float) / mask for mask in masks]
        alpha = parts[3] if len(parts) > 3 else np.ones(values.shape)
        rgb = [from_srgb(part * alpha + 1 - alpha) for part in parts[:3]]
        np.testing.assert_allclose(found, np.stack(rgb, axis=2) @ WEIGHTS, atol=2e-5)
        top_down = b"".join(reversed(rows))
        again = luminance(cvtmesh, "t.bmp", bmp(bits, 3, top_down, WIDTH, -HEIGHT, masks=masks,
                                                header=header))
        assert (again == found).all()


def test_bmp_without_fields(cvtmesh):
    values = np.random.default_rng(4).integers(0, 1 << 15, (HEIGHT, WIDTH)).astype(np.uint16)
    rows = b"".join(row.tobytes() + bytes(-2 * WIDTH % 4) for row in values[::-1])
    want = np.stack([from_srgb((values >> s & 31) / 31) for s in (10, 5, 0)], axis=2) @ WEIGHTS
    np.testing.assert_allclose(luminance(cvtmesh, "s.bmp", bmp(16, 0, rows, WIDTH, HEIGHT)), want,
                               atol=2e-5)
    core = struct.pack("<IHHHH", 12, 2, 1, 1, 24) + bytes([1, 2, 3, 40, 50, 60, 0, 0])
    found = luminance(cvtmesh, "core.bmp", b"BM" + struct.pack("<IHHI", 34, 0, 0, 26) + core)
    want = from_srgb(np.array([[3, 2, 1], [60, 50, 40]]) / 255) @ WEIGHTS
    np.testing.assert_allclose(found, want[None], atol=1e-6)


GREYS = b"".join(bytes([17 * k, 17 * k, 17 * k, 0]) for k in range(16))


def test_bmp_of_runs(cvtmesh):
    """Runs, pixels that stand for themselves, a jump, ends of lines."""
    eight = bytes([3, 7, 0, 3, 1, 2, 9, 0, 0, 0, 0, 2, 2, 0, 4, 15, 0, 0, 0, 1])
    want = [[7, 7, 7, 1, 2, 9], [0, 0, 15, 15, 15, 15], [0] * 6]
    found = luminance(cvtmesh, "r.bmp", bmp(8, 1, eight, 6, 3, palette=GREYS))
    np.testing.assert_allclose(found, from_srgb(np.array(want[::-1]) / 15), atol=1e-6)
    four = bytes([5, 0x7A, 0, 0, 0, 3, 0x12, 0x90, 2, 0xFF, 0, 1])
    want = [[7, 10, 7, 10, 7, 0], [1, 2, 9, 15, 15, 0]]
    found = luminance(cvtmesh, "q.bmp", bmp(4, 2, four, 6, 2, palette=GREYS))
    np.testing.assert_allclose(found, from_srgb(np.array(want[::-1]) / 15), atol=1e-6)
    without_ends = ((8, 1, eight[:-2] + bytes([6, 0]), 3), (8, 1, eight[:-2] + bytes([6, 0, 0, 0]), 3),
                    (4, 2, four[:-2] + bytes([1, 0]), 2), (4, 2, four[:-2] + bytes([0, 0]), 2))
    for bits, compression, runs, height in without_ends:
        whole = bmp(bits, compression, runs + b"\0\1", 6, height, palette=GREYS)
        content = bmp(bits, compression, runs, 6, height, palette=GREYS)
        assert (luminance(cvtmesh, "e.bmp", content) == luminance(cvtmesh, "w.bmp", whole)).all()
    for content in (bmp(8, 1, eight[:-2], 6, 3, palette=GREYS), bmp(8, 1, b"\0\1", 30000, 30000),
                    bmp(4, 2, four[:-2], 6, 2, palette=GREYS)):
        cvtmesh.file("cut.bmp", content)
        cvtmesh.refused("density", "cut.bmp", "-o", "x.npy", code=3, names=["cut.bmp", "truncated"],
                        environment={"CVTMESH_READ_LIMIT": "1024G"})


@pytest.mark.parametrize("bits, compression, runs, want", [
    (8, 1, [9, 7, 0, 0, 6, 3, 0, 1], [[3] * 6, [7] * 6]),
    (8, 1, [0, 7, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 6, 3, 0, 1], [[3] * 6, [1, 2, 3, 4, 5, 6]]),
    (4, 2, [9, 0x12, 0, 0, 6, 0x33, 0, 1], [[3] * 6, [1, 2, 1, 2, 1, 2]]),
    (8, 1, [6, 7, 0, 0, 6, 3, 0, 0, 2, 9, 0, 1], [[3] * 6, [7] * 6]),
])
def test_bmp_runs_beyond_the_picture(cvtmesh, bits, compression, runs, want):
    """They are cut, with a note."""
    cvtmesh.file("c.bmp", bmp(bits, compression, bytes(runs), 6, 2, palette=GREYS))
    done = cvtmesh.call("density", "c.bmp", "--invert", "--density-from", "density", "-o", "y.npy")
    assert done.stderr.startswith(b"c.bmp: note: runs beyond the end of a row are cut\n")
    np.testing.assert_allclose(cvtmesh.array("y.npy"), from_srgb(np.array(want) / 15), atol=1e-6)
    quiet = cvtmesh.call("density", "c.bmp", "--quiet", "-o", "y.npy")
    assert quiet.stderr == b""


def test_bmp_alpha_of_zeros_is_none(cvtmesh):
    rng = np.random.default_rng(5)
    for bits, masks, header in ((32, (0xFF0000, 0xFF00, 0xFF, 0xFF000000), 108),
                                (32, (0xFF, 0xFF00, 0xFF0000, 0xFF000000), 124),
                                (16, (0xF00, 0xF0, 0xF, 0xF000), 56)):
        kind = {16: np.uint16, 32: np.uint32}[bits]
        values = rng.integers(0, 1 << bits, (HEIGHT, WIDTH)).astype(kind) & kind(~masks[3] & (1 << bits) - 1)

        def picture():
            rows = [row.tobytes() + bytes(-len(row.tobytes()) % 4) for row in values[::-1]]
            return bmp(bits, 3, b"".join(rows), WIDTH, HEIGHT, masks=masks, header=header)

        parts = [(values & mask).astype(float) / mask for mask in masks[:3]]
        want = np.stack([from_srgb(part) for part in parts], axis=2) @ WEIGHTS
        np.testing.assert_allclose(luminance(cvtmesh, "z.bmp", picture()), want, atol=2e-5)
        values[HEIGHT - 1, WIDTH - 1] |= kind(masks[3])  # one opaque pixel: all others are not
        opaque = np.ones((HEIGHT, WIDTH))
        opaque[-1, -1] = want[-1, -1]
        np.testing.assert_allclose(luminance(cvtmesh, "z.bmp", picture()), opaque, atol=2e-5)


def test_bmp_pixels_within_the_palette(cvtmesh):
    content = bytearray(bmp(8, 0, bytes(8 * 6), 6, 6, palette=GREYS))
    for start in (0, 14, 54, 54 + len(GREYS) - 4):
        content[10:14] = struct.pack("<I", start)
        cvtmesh.file("bad.bmp", bytes(content))
        cvtmesh.refused("density", "bad.bmp", "-o", "x.npy", code=3, names=["bad.bmp", "palette"])
    # OS/2: two colours where 16 are possible.
    core = struct.pack("<IHHHH", 12, 4, 1, 1, 4) + bytes([10, 20, 30, 200, 210, 220]) + b"\x01\x10\0\0"
    found = luminance(cvtmesh, "core.bmp", b"BM" + struct.pack("<IHHI", 36, 0, 0, 32) + core)
    dark, bright = from_srgb(np.array([[30, 20, 10], [220, 210, 200]]) / 255) @ WEIGHTS
    np.testing.assert_allclose(found, [[dark, bright, bright, dark]], atol=1e-6)
    direct = bytearray(bmp(24, 0, bytes(20 * 6), 6, 6))
    direct[10:14] = struct.pack("<I", 53)
    cvtmesh.file("bad.bmp", bytes(direct))
    cvtmesh.refused("density", "bad.bmp", "-o", "x.npy", code=3, names=["bad.bmp", "header"])


def test_bmp_refused(cvtmesh):
    for content, part in ((bmp(24, 0, b"", 9, 9), "truncated"), (bmp(24, 0, b"", 0, 9), "no pixels"),
                          (bmp(24, 4, b"", 9, 9), "compression 4"),
                          (bmp(24, 0, b"", 300000, 300000), "limit"),
                          (bmp(13, 0, b"", 9, 9), "13 bits"), (bmp(8, 0, b"", 9, 9)[:30], "truncated"),
                          (bmp(16, 3, b"", 9, 9, masks=(0, 1, 2)), "has no bits")):
        cvtmesh.file("bad.bmp", content)
        cvtmesh.refused("density", "bad.bmp", "-o", "x.npy", code=3, names=["bad.bmp", part])


# --- TIFF ---


def tiff(pages, order="<"):
    """Uncompressed pages. A page: an array (rows, columns) or (rows, columns, samples), its tags as
    {tag: (type, values)}, and the side of its tiles, 0: one strip."""
    content = struct.pack(order + "2sHI", b"II" if order == "<" else b"MM", 42, 0)
    link = 4
    for array, tags, side in pages:
        array = np.atleast_3d(array)
        rows, columns, samples = array.shape
        kind = {"u": 1, "f": 3}[array.dtype.kind]
        blocks = [array]
        if side:
            padded = np.pad(array, ((0, -rows % side), (0, -columns % side), (0, 0)))
            blocks = [padded[y:y + side, x:x + side] for y in range(0, rows, side)
                      for x in range(0, columns, side)]
        starts, sizes = [], []
        for block in blocks:
            data = block.astype(array.dtype.newbyteorder(order)).tobytes()
            starts.append(len(content))
            sizes.append(len(data))
            content += data + bytes(len(data) % 2)
        chunks = {322: (3, [side]), 323: (3, [side]), 324: (4, starts), 325: (4, sizes)} if side else {
            273: (4, starts), 278: (3, [rows]), 279: (4, sizes)}
        entries = {256: (3, [columns]), 257: (3, [rows]), 258: (3, samples * [8 * array.itemsize]),
                   259: (3, [1]), 262: (3, [2 if samples >= 3 else 1]), 277: (3, [samples]),
                   339: (3, samples * [kind]), **chunks, **tags}
        packed = []
        for tag, (type_, values) in sorted(entries.items()):
            data = values if type_ == 2 else struct.pack(f"{order}{len(values)}{'?BsHI'[type_]}", *values)
            if len(data) > 4:
                packed.append((tag, type_, len(values), struct.pack(order + "I", len(content))))
                content += data + bytes(len(data) % 2)
            else:
                packed.append((tag, type_, len(values), data.ljust(4, b"\0")))
        content = content[:link] + struct.pack(order + "I", len(content)) + content[link + 4:]
        content += struct.pack(order + "H", len(packed))
        for tag, type_, count, data in packed:
            content += struct.pack(order + "HHI", tag, type_, count) + data
        link = len(content)
        content += bytes(4)
    return content


def nodata(text):
    return {42113: (2, text.encode() + b"\0")}


@pytest.mark.parametrize("kind, text, hole, side, order", [
    ("f4", "9999", 9999, 0, "<"), ("f4", "-9999", -9999, 16, "<"), ("f4", "nan", np.nan, 16, ">"),
    ("f8", " -9999.0 ", -9999, 0, ">"), ("f4", "-3.4028234663852886e+38", -np.float32(3.4028235e38), 0, "<"),
    ("f4", "0.1", np.float32(0.1), 16, "<"), ("f4", "inf", np.inf, 0, "<"),
    ("f8", "-1.7976931348623157e+308", -1.7976931348623157e308, 16, "<"), ("f4", "0", np.nan, 0, ">"),
    ("u1", "255", 255, 0, "<"), ("u1", "0", 0, 16, ">"), ("u2", "65535", 65535, 16, "<"),
    ("u2", "9999.0", 9999, 0, ">"),
])
def test_tiff_without_data(cvtmesh, tiff_is_read, kind, text, hole, side, order):
    """No density, no region, no seed and no site where GDAL_NODATA says that there are no data."""
    rng = np.random.default_rng(6)
    values = rng.integers(1, 200, (23, 37)).astype(kind) * {"u2": 257}.get(kind, 1)
    empty = np.zeros(values.shape, dtype=bool)
    empty[5:15, 9:25] = empty[22, 36] = True
    values[empty] = hole
    cvtmesh.file("d.tif", tiff([(values, nodata(text), side)], order))
    plain = np.where(empty, 1, values).astype(kind)
    cvtmesh.file("plain.tif", tiff([(plain, {}, side)], order))
    for options in ((), ("--invert",), ("--floor", "0.001"), ("--density-from", "density", "--gamma", "2")):
        done = cvtmesh.call("density", "d.tif", *options, "-o", "d.npy")
        assert b"d.tif: note: 161 of 851 pixels have no data" in done.stderr
        density = cvtmesh.array("d.npy")
        assert (density[empty] == 0).all()
        if kind[0] == "u":  # inverted data count from their largest value
            cvtmesh.call("density", "plain.tif", *options, "-o", "plain.npy")
            assert (density[~empty] == cvtmesh.array("plain.npy")[~empty]).all()
    cvtmesh.call("run", "d.tif", "-n", 300, "--grade", "0.3", "-o", "p.csv")
    points = np.loadtxt(cvtmesh.path("p.csv"), delimiter=",", skiprows=1)
    assert len(points) == 300 and not empty[tuple(points.astype(int).T[::-1])].any()
    cvtmesh.file("one.npy", np.ones(values.shape, dtype="f4"))
    cvtmesh.call("density", "one.npy", "--within", "d.tif", "-o", "r.npy")
    assert (cvtmesh.array("r.npy")[empty] == 0).all() and cvtmesh.array("r.npy").max() == 1


def test_tiff_where_all_colours_have_no_data(cvtmesh, tiff_is_read):
    rng = np.random.default_rng(7)
    rgb = rng.integers(1, 255, (23, 37, 3)).astype("u1")
    rgb[3:9, 4:30] = 0
    rgb[15, :, 0] = 0  # of these pixels only the red is 0
    cvtmesh.file("c.tif", tiff([(rgb, nodata("0"), 0)]))
    cvtmesh.call("density", "c.tif", "--invert", "-o", "c.npy")
    want = np.zeros((23, 37), dtype=bool)
    want[3:9, 4:30] = True
    assert ((cvtmesh.array("c.npy") == 0) == want).all()
    cvtmesh.file("n.tif", tiff([(rgb, nodata("none"), 0)]))
    assert b"note" not in cvtmesh.call("density", "n.tif", "-o", "n.npy").stderr
    cvtmesh.file("a.tif", tiff([(np.full((9, 9), 7, dtype="f4"), nodata("7"), 0)]))
    done = cvtmesh.call("density", "a.tif", "-o", "x.npy", code=3)
    assert done.stderr.endswith(b"cvtmesh: a.tif: no pixel has data\n")
    nan = np.ones((9, 9), dtype="f4")
    nan[2, 3] = np.nan
    cvtmesh.file("f.tif", tiff([(nan, {}, 0)]))
    cvtmesh.refused("density", "f.tif", "-o", "x.npy", code=3, names=["f.tif", "(3, 2)", "not finite"])


def test_masks_and_labels_without_data(cvtmesh, tiff_is_read):
    values = np.full((40, 60), 200, dtype="u1")
    values[:, :20] = 7
    cvtmesh.file("m.tif", tiff([(values, nodata("7"), 0)]))
    cvtmesh.file("one.npy", np.ones(values.shape, dtype="f4"))
    for kind in ("mask", "labels"):
        done = cvtmesh.call("run", "one.npy", "-n", 60, "--domain", f"{kind}=m.tif", "-o",
                            "m.csv")
        assert b"m.tif: note: 800 of 2400 pixels have no data" in done.stderr
        points = np.loadtxt(cvtmesh.path("m.csv"), delimiter=",", skiprows=1)
        assert 19.5 < points[:, 0].min() < 20.5
    done = cvtmesh.call("mesh", "m.tif", "--metric", "hessian", "-n", 50, "-o", "x.vtu", code=3)
    assert done.stderr.endswith(b"cvtmesh: m.tif: a metric needs data in every pixel\n")


def test_tiff_with_a_fourth_sample(cvtmesh, tiff_is_read):
    """It is alpha, unless it is zero everywhere; a fifth makes it none."""
    rng = np.random.default_rng(8)
    for kind, most in (("u1", 255), ("u2", 65535)):
        rgba = rng.integers(0, most + 1, (23, 37, 4)).astype(kind)
        alpha = rgba[..., 3:] / most
        over_white = from_srgb(rgba[..., :3] / most * alpha + 1 - alpha) @ WEIGHTS
        opaque = from_srgb(rgba[..., :3] / most) @ WEIGHTS
        zeros = rgba * np.array([1, 1, 1, 0], dtype=kind)
        fifth = np.concatenate([rgba, rgba[..., :1]], axis=2)
        for array, tags, want in ((rgba, {338: (3, [0])}, over_white), (rgba, {}, over_white),
                                  (zeros, {338: (3, [0])}, opaque), (fifth, {338: (3, [0, 0])}, opaque),
                                  (rgba, {338: (3, [2])}, over_white)):
            cvtmesh.file("x.tif", tiff([(array, tags, 0)]))
            np.testing.assert_allclose(luminance(cvtmesh, "x.tif"), want, atol=2e-6)
            said = cvtmesh.call("density", "x.tif", "-o", "x.npy").stderr
            assert (b"x.tif: note: the fourth sample" in said) == (want is over_white and
                                                                 tags != {338: (3, [2])})


def test_tiff_thumbnail_first(cvtmesh, tiff_is_read):
    rng = np.random.default_rng(9)
    small, large, other = (rng.integers(0, 256, shape).astype("u1")
                           for shape in ((4, 6), (23, 37), (11, 13)))
    reduced, mask, plain = ({254: (4, [kind])} for kind in (1, 4, 0))
    for pages, want in (([(small, reduced, 0), (large, plain, 0), (other, {}, 0)], large),
                        ([(small, reduced, 0), (other, mask, 0), (large, {}, 0)], large),
                        ([(large, plain, 0), (small, reduced, 0)], large),
                        ([(small, reduced, 0), (other, reduced, 0)], small)):
        found = luminance(cvtmesh, "t.tif", tiff(pages))
        assert found.shape == want.shape
        np.testing.assert_allclose(found, from_srgb(want / 255), atol=1e-6)
    content = tiff([(small, reduced, 0), (large, plain, 0)])
    cvtmesh.file("cut.tif", content[:-20])
    cvtmesh.refused("density", "cut.tif", "-o", "x.npy", code=3, names=["cut.tif"])


# --- HEIC and AVIF ---


@pytest.mark.parametrize("kind", ["heic", "avif"])
def test_heif(cvtmesh, colours, kind):
    if "heic" not in formats(cvtmesh) or shutil.which("heif-enc") is None:
        pytest.skip("no libheif, or no encoder")
    smooth = colours.convert("RGB").resize((128, 96), Image.Resampling.BICUBIC)
    smooth.save(cvtmesh.path("p.png"))
    name = "p." + kind
    flags = ["-A"] if kind == "avif" else []
    made = subprocess.run(["heif-enc", *flags, "-L", "-p", "chroma=444", "p.png", "-o", name],
                          cwd=cvtmesh.folder, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if made.returncode != 0 or not cvtmesh.path(name).exists():
        pytest.skip("no encoder for " + kind)
    found = luminance(cvtmesh, name)
    np.testing.assert_allclose(found, luminance_of(smooth), atol=0.02)  # by way of YCbCr
    content = cvtmesh.read(name)
    cut_and_flipped(cvtmesh, content, kind, len(content) // 11)


# --- What is not read ---


@pytest.mark.parametrize("start, format_name, command", [
    (b"\xff\x0a" + bytes(30), "JPEG XL", "djxl"),
    (b"\0\0\0\x0cJXL \r\n\x87\n", "JPEG XL", "djxl"),
    (b"\0\0\0\x0cjP  \r\n\x87\n", "JPEG 2000", "opj_decompress"),
    (b"8BPS\0\1" + bytes(20), "PSD", "convert"),
    (b"v/1\x01" + bytes(20), "OpenEXR", "convert"),
])
def test_formats_that_are_not_read(cvtmesh, start, format_name, command):
    """One line with the file, its format and a command."""
    cvtmesh.file("my.png", start)
    done = cvtmesh.refused("density", "my.png", "-o", "x.npy", code=3,
                           names=["my.png", format_name, f"{command} "])
    assert done.stderr.decode().rstrip().endswith("my.png.png")


def test_formats_without_their_library(cvtmesh, colours):
    read = formats(cvtmesh)
    for kind, command in (("webp", "dwebp"), ("gif", "convert"), ("tiff", "convert")):
        cvtmesh.file("my.image", saved(colours.convert("RGB"), kind))
        if kind in read:
            cvtmesh.call("density", "my.image", "-o", "x.npy")
        else:
            cvtmesh.refused("density", "my.image", "-o", "y.npy", code=3, names=["my.image", command])


@pytest.mark.parametrize("library, arguments, content, code, named", [
    ("libheif", ["density", "a.x", "-o", "y.npy"], b"\0\0\0\x18ftypheic" + bytes(12), 3, "a.x"),
    ("libnetcdf", ["sphere", "a.nc", "-o", "y.nc"], b"CDF\1", 3, "a.nc"),
    ("libhdf5(?:_serial)?", ["mesh", "a.csv", "-o", "y.xdmf"], b"0,0\n1,0\n0,1\n", 1, "y.h5"),
    ("libcairo", ["run", "a.pgm", "-n", "5", "-o", "y.pdf"], b"P5 4 4 255 0123456789abcdef", 1, "PDF"),
])
def test_libraries_are_loaded_when_a_file_needs_them(cvtmesh, library, arguments, content, code,
                                                     named):
    """A library that cannot be loaded stops no other file, and the message has its name."""
    loaded = re.search(library.encode() + rb"\.so\.\d+", pathlib.Path(PROGRAM).read_bytes())
    if loaded is None:
        pytest.skip("a build without " + library)
    cvtmesh.file(loaded[0].decode(), "no library")
    cvtmesh.environment["LD_LIBRARY_PATH"] = str(cvtmesh.folder)
    cvtmesh.call("info")
    cvtmesh.file(arguments[1], content)
    cvtmesh.refused(*arguments, code=code, names=[named, loaded[0].decode()])


# --- Blocks of rows ---


@pytest.mark.parametrize("kind, mode", [("png", "RGB"), ("png", "L"), ("png", "RGBA"), ("jpeg", "RGB"),
                                        ("jpeg", "L")])
def test_pictures_of_many_blocks(cvtmesh, kind, mode):
    """Threads store rows while others are decoded; a file that ends early is refused all the same."""
    rng = np.random.default_rng(9)
    channels = len(mode)
    noise = rng.integers(0, 256, (700, 900, channels)).astype(np.uint8)
    content = saved(Image.fromarray(noise.squeeze(), mode), kind)
    assert len(content) > 1 << 17
    cvtmesh.file("large", content)
    found = []
    for threads in (1, 4):
        cvtmesh.call("density", "large", "--threads", threads, "--invert", "--density-from", "density",
                     "-o", "y.npy")
        found.append(cvtmesh.array("y.npy"))
    assert (found[0] == found[1]).all()
    np.testing.assert_allclose(found[0], luminance_of(Image.open(io.BytesIO(content))), atol=1e-6)
    for share in (0.3, 0.6, 0.97):
        cvtmesh.file("cut", content[:int(share * len(content))])
        cvtmesh.refused("density", "cut", "--threads", 4, "-o", "x.npy", code=3, names=["cut: "])
