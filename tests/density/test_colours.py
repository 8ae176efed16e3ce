"""Orientation and colours that a file declares, against Pillow and published colorimetry."""

import io
import struct
import zlib

import numpy as np
import pytest

from conftest import from_srgb, luminance

Image = pytest.importorskip("PIL.Image")
from PIL import ImageCms, ImageOps  # noqa: E402
from PIL.PngImagePlugin import PngInfo  # noqa: E402

SIZE = (19, 13)
# The middle row of the matrix from linear light to XYZ relative to D65 (Lindbloom; SMPTE EG 432-1).
Y_OF_ADOBE = (0.2973769, 0.6273491, 0.0752741)
Y_OF_P3 = (0.2289746, 0.6917385, 0.0792869)
Y_OF_SRGB = (0.2126, 0.7152, 0.0722)
# Columns of the matrices to XYZ relative to D50.
ADOBE_D50 = ((0.6097559, 0.3111242, 0.0194811), (0.2052401, 0.6256560, 0.0608902),
             (0.1492240, 0.0632197, 0.7448387))


@pytest.fixture(scope="module")
def colours():
    """Samples of 8 bits; those of two rows are extreme."""
    rng = np.random.default_rng(7)
    samples = rng.integers(0, 256, (SIZE[1], SIZE[0], 3)).astype(np.uint8)
    samples[0], samples[1] = 255, 0
    samples[2, :, 1] = 255
    return samples


def has_profiles(cvtmesh):
    return cvtmesh.printed("info")["colour_profiles"]


@pytest.fixture
def with_profiles(cvtmesh):
    if not has_profiles(cvtmesh):
        pytest.skip("a build without lcms2")


def saved(image, kind, **options):
    stream = io.BytesIO()
    if kind == "jpeg":
        options = {"quality": 100, "subsampling": 0, **options}
    image.save(stream, kind, **options)
    return stream.getvalue()


def decoded(content):
    """The samples that Pillow reads: a JPEG is not what was saved."""
    return np.asarray(Image.open(io.BytesIO(content)), dtype=float)


# --- Profiles made here ---


def tag(kind, data):
    return kind + bytes(4) + data


def profile(space, tags, pcs=b"XYZ ", device=b"mntr"):
    """An ICC profile, version 2."""
    tags = {
        b"desc": tag(b"desc", struct.pack(">I", 2) + b"t\0" + bytes(78)),
        b"cprt": tag(b"text", b"none\0"),
        b"wtpt": tag(b"XYZ ", fixed(0.9642, 1, 0.8249)),
        **tags
    }
    table, body, start = b"", b"", 132 + 12 * len(tags)
    for name, data in tags.items():
        data += bytes(-len(data) % 4)
        table += name + struct.pack(">II", start + len(body), len(data))
        body += data
    header = struct.pack(">I4sI4s4s4s12s4s", start + len(body), b"none", 0x02400000, device, space,
                         pcs, struct.pack(">6H", 2020, 1, 1, 0, 0, 0), b"acsp")
    header += bytes(28) + fixed(0.9642, 1, 0.8249)
    return header + bytes(128 - len(header)) + struct.pack(">I", len(tags)) + table + body


def fixed(*values):
    return b"".join(struct.pack(">i", round(v * 65536)) for v in values)


def gamma_curve(gamma):
    return tag(b"curv", struct.pack(">IH", 1, round(gamma * 256)))


def adobe_profile(padding=0):
    columns = {c + b"XYZ": tag(b"XYZ ", fixed(*xyz)) for c, xyz in zip((b"r", b"g", b"b"), ADOBE_D50)}
    curves = {c + b"TRC": gamma_curve(563 / 256) for c in (b"r", b"g", b"b")}
    rng = np.random.default_rng(3)
    extra = {b"junk": tag(b"data", struct.pack(">I", 1) + rng.bytes(padding))} if padding else {}
    return profile(b"RGB ", {**columns, **curves, **extra})


def grey_profile(gamma):
    return profile(b"GRAY", {b"kTRC": gamma_curve(gamma)})


def cmyk_profile():
    """A table of 3^4 colours of paper L* = 95 under inks that multiply."""
    lab = []
    for c in range(3):
        for m in range(3):
            for y in range(3):
                for k in range(3):
                    light = 1 - 0.45 * k
                    level = 95 * light * (1 - 0.1 * c) * (1 - 0.12 * m) * (1 - 0.02 * y)
                    a = (9 * m - 6 * c) * light
                    b = (10 * y - 8 * c) * light
                    lab += [level / 100 * 65280, (a + 128) * 256, (b + 128) * 256]
    ramp = struct.pack(">2H", 0, 65535)
    table = struct.pack(f">{len(lab)}H", *(round(v) for v in lab))
    lut = struct.pack(">BBBB", 4, 3, 3, 0) + fixed(1, 0, 0, 0, 1, 0, 0, 0, 1)
    lut += struct.pack(">2H", 2, 2) + 4 * ramp + table + 3 * ramp
    return profile(b"CMYK", {b"A2B0": tag(b"mft2", lut)}, pcs=b"Lab ", device=b"prtr")


# --- Orientation ---


@pytest.mark.parametrize("kind", ["png", "jpeg", "tiff"])
def test_orientation(cvtmesh, colours, kind):
    image = Image.fromarray(colours[..., 0])
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        options = {"tiffinfo": {274: orientation}} if kind == "tiff" else {"exif": exif}
        content = saved(image, kind, **options)
        found = luminance(cvtmesh, "picture", content)
        # Releases of Pillow differ in whether a TIFF is turned as it is loaded.
        stored = saved(image, "png", exif=exif) if kind == "tiff" else content
        seen = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(stored))), dtype=float)
        assert found.shape == seen.shape == (SIZE[::-1] if orientation < 5 else SIZE)
        np.testing.assert_allclose(found, from_srgb(seen / 255), atol=1e-6)


@pytest.mark.parametrize("kind", ["png", "jpeg", "webp", "tiff"])
@pytest.mark.parametrize("order", ["<", ">"])
def test_orientation_of_other_types(cvtmesh, colours, kind, order):
    """BYTE and LONG beside the SHORT of the standard."""
    if kind not in cvtmesh.printed("info")["image_formats"]:
        pytest.skip("a build without " + kind)
    plain = Image.fromarray(colours)
    options = {"webp": {"lossless": True}, "jpeg": {"quality": 100}}.get(kind, {})
    upright = luminance(cvtmesh, "plain", saved(plain, kind, **options))
    for type_, letter, turned in ((1, "B", 6), (3, "H", 6), (4, "I", 6), (4, "I", 3), (4, "I", 1 << 16 | 6)):
        value = struct.pack(order + letter, turned).ljust(4, b"\0")
        entry = struct.pack(order + "HHI", 0x0112, type_, 1) + value
        start = struct.pack(order + "2sHI", b"II" if order == "<" else b"MM", 42, 8)
        block = start + struct.pack(order + "H", 1) + entry + bytes(4)
        if kind == "tiff":
            height, width = colours.shape[:2]
            tags = [(256, 3, width), (257, 3, height), (258, 3, 8), (259, 3, 1), (262, 3, 1), (273, 4, 8),
                    (274, type_, turned), (277, 3, 1), (278, 3, height), (279, 4, width * height)]
            data = colours[..., 0].tobytes() + bytes(width * height % 2)
            content = struct.pack(order + "2sHI", start[:2], 42, 8 + len(data)) + data
            content += struct.pack(order + "H", len(tags))
            for tag, code, number in tags:
                packed = struct.pack(order + {1: "B", 3: "H", 4: "I"}[code], number)
                content += struct.pack(order + "HHI", tag, code, 1) + packed.ljust(4, b"\0")
            upright = from_srgb(colours[..., 0] / 255)
            content += bytes(4)
        else:
            content = saved(plain, kind, exif=b"Exif\0\0" + block, **options)
        found = luminance(cvtmesh, "picture", content)
        want = {6: np.rot90(upright, -1), 3: np.rot90(upright, 2)}.get(turned, upright)
        assert found.shape == want.shape
        np.testing.assert_allclose(found, want, atol=1e-6)


# --- ICC profiles ---


@pytest.mark.parametrize("kind", ["png", "jpeg", "tiff"])
@pytest.mark.parametrize("padding", [0, 150_000])  # more than one marker of a JPEG
def test_rgb_profile(cvtmesh, with_profiles, colours, kind, padding):
    content = saved(Image.fromarray(colours), kind, icc_profile=adobe_profile(padding))
    found = luminance(cvtmesh, "picture", content)
    want = (decoded(content) / 255)**(563 / 256) @ np.array(Y_OF_ADOBE)
    np.testing.assert_allclose(found, want, atol=2e-4)  # the profile has 16 bits
    white = (decoded(content) == 255).all(axis=2)
    assert white.any()
    assert (found[white] == 1).all()
    plain = luminance(cvtmesh, "plain", saved(Image.fromarray(colours), kind))
    assert abs(plain - found).max() > 0.05


@pytest.mark.parametrize("kind", ["png", "jpeg", "tiff"])
def test_grey_profile(cvtmesh, with_profiles, colours, kind):
    content = saved(Image.fromarray(colours[..., 0]), kind, icc_profile=grey_profile(1.75))
    found = luminance(cvtmesh, "picture", content)
    np.testing.assert_allclose(found, (decoded(content) / 255)**1.75, atol=1e-5)


def test_sixteen_bits(cvtmesh, with_profiles):
    """Pillow writes no profile with 16 bits: its chunk is put in."""
    values = np.random.default_rng(5).integers(0, 65536, SIZE[::-1]).astype(np.uint16)
    content = saved(Image.fromarray(values), "png")
    icc = b"p\0\0" + zlib.compress(grey_profile(1.75))
    found = luminance(cvtmesh, "wide.png", with_chunk(content, b"iCCP", icc))
    np.testing.assert_allclose(found, (values / 65535)**1.75, atol=1e-5)


@pytest.mark.parametrize("kind", ["jpeg", "tiff"])
def test_cmyk_profile(cvtmesh, with_profiles, colours, kind):
    rng = np.random.default_rng(11)
    inks = rng.integers(0, 160, (*SIZE[::-1], 4)).astype(np.uint8)
    inks[0] = 0
    content = saved(Image.fromarray(inks, "CMYK"), kind, icc_profile=cmyk_profile())
    found = luminance(cvtmesh, "picture", content)
    image = Image.open(io.BytesIO(content))
    assert image.mode == "CMYK"
    black_point = 0x2000
    seen = ImageCms.profileToProfile(image, ImageCms.ImageCmsProfile(io.BytesIO(cmyk_profile())),
                                     ImageCms.createProfile("sRGB"), outputMode="RGB",
                                     renderingIntent=1, flags=black_point)
    seen = np.asarray(seen, dtype=float)
    inside = ((seen > 1) & (seen < 254)).all(axis=2)
    assert inside.mean() > 0.8
    want = from_srgb(seen / 255) @ np.array(Y_OF_SRGB)
    np.testing.assert_allclose(found[inside], want[inside], atol=0.01)  # Pillow's has 8 bits
    assert abs(np.mean(found[inside] - want[inside])) < 0.001


def test_cmyk_without_profile(cvtmesh):
    inks = np.random.default_rng(11).integers(0, 256, (*SIZE[::-1], 4)).astype(np.uint8)
    for kind in ("tiff", "jpeg"):
        content = saved(Image.fromarray(inks, "CMYK"), kind)
        ink = decoded(content) / 255
        light = (1 - ink[..., :3]) * (1 - ink[..., 3:])
        want = from_srgb(light) @ np.array(Y_OF_SRGB)
        np.testing.assert_allclose(luminance(cvtmesh, "picture", content), want, atol=1e-5)


def test_transparent_pixels_are_composited_before_the_profile(cvtmesh, with_profiles, colours):
    alpha = np.full(SIZE[::-1] + (1, ), 77, dtype=np.uint8)
    alpha[3:6] = 0
    image = Image.fromarray(np.concatenate([colours, alpha], axis=2))
    found = luminance(cvtmesh, "a.png", saved(image, "png", icc_profile=adobe_profile()))
    opaque = alpha / 255
    encoded = colours / 255 * opaque + 1 - opaque
    want = encoded**(563 / 256) @ np.array(Y_OF_ADOBE)
    np.testing.assert_allclose(found, want, atol=2e-4)
    assert (found[3:6] == 1).all()


def test_profiles_that_change_nothing(cvtmesh, colours):
    """Those of sRGB keep every bit; damaged ones, or of another kind of colours, are not applied."""
    image = Image.fromarray(colours)
    plain = luminance(cvtmesh, "plain.png", saved(image, "png"))
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    damaged = bytearray(adobe_profile())
    damaged[140:400] = bytes(260)
    for icc in (srgb, bytes(damaged), grey_profile(1.2), adobe_profile()[:200], b"no profile"):
        for kind in ("png", "jpeg", "tiff"):
            want = plain
            if kind == "jpeg":
                want = luminance(cvtmesh, "plain.jpg", saved(image, kind))
            found = luminance(cvtmesh, "picture", saved(image, kind, icc_profile=icc))
            assert (found == want).all()


# --- Chunks of PNG ---


def with_chunk(png, kind, data, before=b"IDAT"):
    at = png.index(before) - 4
    chunk = struct.pack(">I", len(data)) + kind + data
    return png[:at] + chunk + struct.pack(">I", zlib.crc32(kind + data)) + png[at:]


def numbers(*values):
    return b"".join(struct.pack(">I", round(v * 100000)) for v in values)


ADOBE_CHROMATICITIES = numbers(0.3127, 0.3290, 0.64, 0.33, 0.21, 0.71, 0.15, 0.06)


def test_gamma_of_png(cvtmesh, colours):
    image = Image.fromarray(colours)
    plain = luminance(cvtmesh, "plain.png", saved(image, "png"))
    for gamma in (1, 1 / 1.8, 0.3):
        found = luminance(cvtmesh, "g.png", with_chunk(saved(image, "png"), b"gAMA", numbers(gamma)))
        want = (colours / 255)**(1 / (round(gamma * 100000) / 100000)) @ np.array(Y_OF_SRGB)
        np.testing.assert_allclose(found, want, atol=1e-5)
    for gamma in (0.45455, 0.45):
        content = with_chunk(saved(image, "png"), b"gAMA", numbers(gamma))
        assert (luminance(cvtmesh, "g.png", content) == plain).all()


def test_chromaticities_of_png(cvtmesh, colours):
    content = with_chunk(saved(Image.fromarray(colours), "png"), b"cHRM", ADOBE_CHROMATICITIES)
    content = with_chunk(content, b"gAMA", numbers(256 / 563 * 1.1))
    gamma = 1 / (round(256 / 563 * 1.1 * 100000) / 100000)
    want = (colours / 255)**gamma @ np.array(Y_OF_ADOBE)
    # The luminance of Rec. 709 has four digits.
    np.testing.assert_allclose(luminance(cvtmesh, "c.png", content), want, atol=2e-4)


def test_gamma_of_srgb_with_chromaticities(cvtmesh, colours):
    """1/2.2 means sRGB with the primaries of sRGB alone; without a gamma the curve is that of sRGB."""
    image = saved(Image.fromarray(colours), "png")
    of_srgb = with_chunk(image, b"cHRM", numbers(0.3127, 0.3290, 0.64, 0.33, 0.30, 0.60, 0.15, 0.06))
    of_srgb = with_chunk(of_srgb, b"gAMA", numbers(0.45455))
    assert (luminance(cvtmesh, "s.png", of_srgb) == luminance(cvtmesh, "plain.png", image)).all()
    of_adobe = with_chunk(image, b"cHRM", ADOBE_CHROMATICITIES)
    want = from_srgb(colours / 255) @ np.array(Y_OF_ADOBE)
    np.testing.assert_allclose(luminance(cvtmesh, "a.png", of_adobe), want, atol=2e-4)
    of_adobe = with_chunk(of_adobe, b"gAMA", numbers(0.45455))
    want = (colours / 255)**(1 / 0.45455) @ np.array(Y_OF_ADOBE)
    np.testing.assert_allclose(luminance(cvtmesh, "a.png", of_adobe), want, atol=2e-4)


def test_code_points_of_png(cvtmesh, colours):
    linear = from_srgb(colours / 255) @ np.array(Y_OF_P3)
    content = with_chunk(saved(Image.fromarray(colours), "png"), b"cICP", bytes([12, 13, 0, 1]))
    np.testing.assert_allclose(luminance(cvtmesh, "p3.png", content), linear, atol=2e-4)
    content = with_chunk(saved(Image.fromarray(colours), "png"), b"cICP", bytes([1, 8, 0, 1]))
    want = colours / 255 @ np.array(Y_OF_SRGB)
    np.testing.assert_allclose(luminance(cvtmesh, "linear.png", content), want, atol=1e-5)


def test_order_of_chunks_of_png(cvtmesh, with_profiles, colours):
    """cICP before iCCP before sRGB before gAMA and cHRM."""
    image = Image.fromarray(colours)
    plain = luminance(cvtmesh, "plain.png", saved(image, "png"))
    content = with_chunk(saved(image, "png"), b"gAMA", numbers(1))
    content = with_chunk(content, b"sRGB", b"\0")
    assert (luminance(cvtmesh, "s.png", content) == plain).all()
    content = with_chunk(saved(image, "png", icc_profile=adobe_profile()), b"gAMA", numbers(1))
    want = (colours / 255)**(563 / 256) @ np.array(Y_OF_ADOBE)
    np.testing.assert_allclose(luminance(cvtmesh, "i.png", content), want, atol=2e-4)
    content = with_chunk(content, b"cICP", bytes([12, 13, 0, 1]), before=b"iCCP")
    want = from_srgb(colours / 255) @ np.array(Y_OF_P3)
    np.testing.assert_allclose(luminance(cvtmesh, "ci.png", content), want, atol=2e-4)
