"""File extensions and signatures of images, and extensions of their sidecars."""

from functools import lru_cache

IMAGE_ENDINGS = (
    "jpg", "jpeg", "jpe", "jfif", "png", "webp", "gif", "avif", "tif", "tiff", "bmp", "dib", "ppm",
    "pgm", "pbm", "pnm", "jp2", "j2k", "jpx", "ico", "icns", "dds", "pcx", "psd", "qoi", "sgi",
    "tga", "xbm", "xpm", "heic", "heif", "hif",
)  # fmt: skip

HEAD = 64
"""Number of leading bytes that identify a format."""

_TEXT = ("txt", "text", "caption", "json", "jsonl", "cls", "html", "htm", "xml", "csv", "tsv",
         "md", "url", "yaml", "yml")  # fmt: skip

_FORMATS = {
    "jpg": "JPEG", "jpeg": "JPEG", "jpe": "JPEG", "jfif": "JPEG", "png": "PNG", "webp": "WEBP",
    "gif": "GIF", "avif": "AVIF", "tif": "TIFF", "tiff": "TIFF", "bmp": "BMP",
    "heic": "HEIF", "heif": "HEIF", "hif": "HEIF",
}  # fmt: skip

_JPEG = b"\xff\xd8\xff"
_JPEG_ENDINGS = ("jpg", "jpeg")

_USUAL = {"JPEG": "jpg", "TIFF": "tif", "MPO": "jpg", "JPEG2000": "jp2", "HEIF": "heic"}

_HEIF_BRANDS = (
    b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs", b"mif1", b"msf1",
)  # fmt: skip
"""Brands of the file type box. `mif1` may also hold AV1, which a later brand shows."""

_SIGNS = (
    (b"\xff\xd8\xff", "JPEG"), (b"\x89PNG\r\n\x1a\n", "PNG"), (b"GIF8", "GIF"),
    (b"II*\0", "TIFF"), (b"MM\0*", "TIFF"), (b"BM", "BMP"),
)  # fmt: skip


def last_part(ending: str) -> str:
    return ending.rpartition(".")[2].lower()


@lru_cache(1024)
def is_image(ending: str) -> bool:
    return last_part(ending) in IMAGE_ENDINGS


@lru_cache(1024)
def is_text(ending: str) -> bool:
    return last_part(ending) in _TEXT


def usual_ending(kind: str) -> str:
    """Return the usual extension of a format, given its Pillow name."""
    return _USUAL.get(kind, kind.lower())


def format_of(data: bytes | bytearray | memoryview) -> str | None:
    """Return the format according to the first bytes, or None."""
    head = bytes(data[:HEAD])
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    if head[4:8] == b"ftyp":
        return _iso_format(head)
    return next((kind for sign, kind in _SIGNS if head.startswith(sign)), None)


def _iso_format(head: bytes) -> str | None:
    """Distinguish AVIF and HEIF by the brands in the first box."""
    size = int.from_bytes(head[:4], "big")
    brands = [head[8:12], *(head[at : at + 4] for at in range(16, min(size, len(head)), 4))]
    if b"avif" in brands or b"avis" in brands:
        return "AVIF"
    return "HEIF" if brands[0] in _HEIF_BRANDS else None


def mismatch(ending: str, data: bytes | bytearray | memoryview) -> str | None:
    """Return an error message if an image has the extension of another format, else None."""
    if data[:3] == _JPEG and ending in _JPEG_ENDINGS:  # the most common case
        return None
    named = _FORMATS.get(last_part(ending))
    found = format_of(data) if named else None
    if found is None or found == named:
        return None
    return f"it is {found}, but is named .{ending}"
