"""WebP, GIF, BMP, HEIC and AVIF against Pillow and the encoders' own pictures; formats that no build
or not this build reads."""

import io
import shutil
import struct
import subprocess

import numpy as np
import pytest

from conftest import strict_json

Image = pytest.importorskip("PIL.Image")
from PIL import ImageCms, ImageOps  # noqa: E402

WIDTH, HEIGHT = 37, 23
WEIGHTS = np.array((0.2126, 0.7152, 0.0722))


def from_srgb(v):
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055)**2.4)


def luminance_of(image):
    """Y of Pillow's picture, over white."""
    rgba = np.asarray(image.convert("RGBA"), dtype=float) / 255
    alpha = rgba[..., 3:]
    return from_srgb(rgba[..., :3] * alpha + 1 - alpha) @ WEIGHTS


def formats(cvtmesh):
    return strict_json(cvtmesh.call("info", "--json").stdout)["image_formats"]


def luminance(cvtmesh, name, content=None):
    if content is not None:
        cvtmesh.file(name, content)
    cvtmesh.call("density", name, "--invert", "--density-from", "density", "-o", "y.npy")
    return cvtmesh.array("y.npy")


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


def cut_and_flipped(cvtmesh, content, name, step):
    """Whatever the damage, the answer is a picture or one line that names the file."""
    rng = np.random.default_rng(1)
    for k in range(step, len(content), step):
        flipped = bytearray(content)
        flipped[k] ^= int(rng.integers(1, 256))
        for damaged in (content[:k], bytes(flipped)):
            cvtmesh.file(name, damaged)
            done = cvtmesh.call("density", name, "-o", "y.npy", code=(0, 3))
            said = done.stderr.decode()
            assert done.returncode == 0 or (name in said and said.count("\n") == 1), said


@pytest.fixture(scope="module")
def colours():
    rng = np.random.default_rng(23)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    smooth = np.stack([6 * x, 10 * y, 255 - 3 * x - 4 * y, 250 - 5 * x], axis=2)
    return Image.fromarray(np.clip(smooth + rng.integers(-3, 4, smooth.shape), 0, 255).astype(np.uint8))


# --- WebP ---


@pytest.fixture
def webp(cvtmesh):
    if "webp" not in formats(cvtmesh):
        pytest.skip("a build without libwebp")


def test_webp(cvtmesh, webp, colours):
    check(cvtmesh, saved(colours.convert("RGB"), "webp", lossless=True))
    check(cvtmesh, saved(colours.convert("RGB"), "webp", quality=80))
    check(cvtmesh, saved(colours, "webp", lossless=True, exact=True))
    cut_and_flipped(cvtmesh, saved(colours, "webp", quality=60), "damaged.webp", 61)


def test_webp_orientation_and_profile(cvtmesh, webp, colours):
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        check(cvtmesh, saved(colours.convert("RGB"), "webp", lossless=True, exif=exif))
    if not strict_json(cvtmesh.call("info", "--json").stdout)["colour_profiles"]:
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


@pytest.fixture
def gif(cvtmesh):
    if "gif" not in formats(cvtmesh):
        pytest.skip("a build without giflib")


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
    cut_and_flipped(cvtmesh, saved(indexed, "gif"), "damaged.gif", 53)


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
    content[frame + 1:frame + 5] = struct.pack("<HH", 6, 2)
    cvtmesh.file("beyond.gif", bytes(content))
    cvtmesh.refused("density", "beyond.gif", "-o", "x.npy", code=3, names=["beyond.gif", "screen"])


# --- BMP ---


def test_bmp(cvtmesh, colours):
    for mode in ("1", "L", "P", "RGB"):
        image = colours.convert("RGB").convert(mode)
        check(cvtmesh, saved(image, "bmp"))
    cut_and_flipped(cvtmesh, saved(colours.convert("P"), "bmp"), "damaged.bmp", 97)


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
    for content in (bmp(8, 1, eight[:-2], 6, 3, palette=GREYS), bmp(8, 1, b"\0\1", 30000, 30000)):
        cvtmesh.file("cut.bmp", content)
        cvtmesh.refused("density", "cut.bmp", "-o", "x.npy", code=3, names=["cut.bmp", "truncated"])


def test_bmp_refused(cvtmesh):
    for content, part in ((bmp(24, 0, b"", 9, 9), "truncated"), (bmp(24, 0, b"", 0, 9), "no pixels"),
                          (bmp(24, 4, b"", 9, 9), "compression 4"),
                          (bmp(24, 0, b"", 300000, 300000), "limit"),
                          (bmp(13, 0, b"", 9, 9), "13 bits"), (bmp(8, 0, b"", 9, 9)[:30], "truncated"),
                          (bmp(16, 3, b"", 9, 9, masks=(0, 1, 2)), "without bits")):
        cvtmesh.file("bad.bmp", content)
        cvtmesh.refused("density", "bad.bmp", "-o", "x.npy", code=3, names=["bad.bmp", part])


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
    cut_and_flipped(cvtmesh, content, "damaged." + kind, len(content) // 11)


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
