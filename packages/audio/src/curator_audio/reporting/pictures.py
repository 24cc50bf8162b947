"""Pictures: encode arrays as PNG with a palette, without an image library."""

import base64
import struct
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

LEVELS = 24
_DARK_TO_LIGHT = ((6, 4, 32), (72, 20, 110), (170, 50, 100), (240, 120, 60), (252, 240, 180))


def png(levels: "np.ndarray") -> bytes:
    """Encode whole numbers below LEVELS, from dark to light; the first row is on top."""
    height, width = levels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    lines = b"".join(b"\0" + row.tobytes() for row in levels.astype("uint8"))
    chunks = ((b"IHDR", header), (b"PLTE", _palette()), (b"IDAT", zlib.compress(lines, 9)))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*one) for one in (*chunks, (b"IEND", b"")))


def data_url(data: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _palette() -> bytes:
    found = bytearray()
    for level in range(LEVELS):
        place = level / (LEVELS - 1) * (len(_DARK_TO_LIGHT) - 1)
        low = min(int(place), len(_DARK_TO_LIGHT) - 2)
        one, other = _DARK_TO_LIGHT[low], _DARK_TO_LIGHT[low + 1]
        found += bytes(round(a + (b - a) * (place - low)) for a, b in zip(one, other, strict=True))
    return bytes(found)
