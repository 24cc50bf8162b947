"""File extensions and signatures of images, and extensions of their sidecars."""

from functools import lru_cache

IMAGE_EXTENSIONS = (
    "jpg", "jpeg", "jpe", "jfif", "png", "webp", "gif", "avif", "tif", "tiff", "bmp", "dib", "ppm",
    "pgm", "pbm", "pnm", "jp2", "j2k", "jpx", "ico", "icns", "dds", "pcx", "psd", "qoi", "sgi",
    "tga", "xbm", "xpm", "heic", "heif", "hif",
)  # fmt: skip

SIGNATURE_BYTES = 64
"""Number of leading bytes that identify a format."""

_TEXT_EXTENSIONS = (
    "txt", "text", "caption", "json", "jsonl", "cls", "html", "htm", "xml", "csv", "tsv", "md",
    "url", "yaml", "yml",
)  # fmt: skip

_FORMATS_BY_EXTENSION = {
    "jpg": "JPEG", "jpeg": "JPEG", "jpe": "JPEG", "jfif": "JPEG", "png": "PNG", "webp": "WEBP",
    "gif": "GIF", "avif": "AVIF", "tif": "TIFF", "tiff": "TIFF", "bmp": "BMP",
    "heic": "HEIF", "heif": "HEIF", "hif": "HEIF",
}  # fmt: skip

_JPEG_SIGNATURE = b"\xff\xd8\xff"
_JPEG_EXTENSIONS = ("jpg", "jpeg")

_USUAL_EXTENSIONS = {"JPEG": "jpg", "TIFF": "tif", "MPO": "jpg", "JPEG2000": "jp2", "HEIF": "heic"}

_HEIF_BRANDS = (
    b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs", b"mif1", b"msf1",
)  # fmt: skip
"""Brands of the file type box. `mif1` may also hold AV1, which a later brand shows."""

_SIGNATURES = (
    (b"\xff\xd8\xff", "JPEG"), (b"\x89PNG\r\n\x1a\n", "PNG"), (b"GIF8", "GIF"),
    (b"II*\0", "TIFF"), (b"MM\0*", "TIFF"), (b"BM", "BMP"),
)  # fmt: skip


def last_extension(ending: str) -> str:
    return ending.rpartition(".")[2].lower()


@lru_cache(1024)
def is_image_extension(ending: str) -> bool:
    return last_extension(ending) in IMAGE_EXTENSIONS


@lru_cache(1024)
def is_text_extension(ending: str) -> bool:
    return last_extension(ending) in _TEXT_EXTENSIONS


def usual_extension(kind: str) -> str:
    """Return the usual extension of a format, given its Pillow name."""
    return _USUAL_EXTENSIONS.get(kind, kind.lower())


def detect_format(data: bytes | bytearray | memoryview) -> str | None:
    """Return the format according to the first bytes, or None."""
    head = bytes(data[:SIGNATURE_BYTES])
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    if head[4:8] == b"ftyp":
        return _detect_iso_format(head)
    return next((kind for sign, kind in _SIGNATURES if head.startswith(sign)), None)


def _detect_iso_format(head: bytes) -> str | None:
    """Distinguish AVIF and HEIF by the brands in the first box."""
    size = int.from_bytes(head[:4], "big")
    brands = [head[8:12], *(head[at : at + 4] for at in range(16, min(size, len(head)), 4))]
    if b"avif" in brands or b"avis" in brands:
        return "AVIF"
    return "HEIF" if brands[0] in _HEIF_BRANDS else None


def extension_mismatch(ending: str, data: bytes | bytearray | memoryview) -> str | None:
    """Return an error message if an image has the extension of another format, else None."""
    if data[:3] == _JPEG_SIGNATURE and ending in _JPEG_EXTENSIONS:  # the most common case
        return None
    named = _FORMATS_BY_EXTENSION.get(last_extension(ending))
    found = detect_format(data) if named else None
    if found is None or found == named:
        return None
    return f"it is {found}, but is named .{ending}"
