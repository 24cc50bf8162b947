"""Thumbnails: small JPEGs of pictures, and the facts in their headers."""

import io
from typing import Any

from curator_image.decoding import (
    Encoded,
    ImageDecodeError,
    decode_to_pillow,
    open_image,
    read_orientation,
)
from curator_image.pixel_view import View

_SIDE = 144


def describe_header(data: Encoded) -> dict[str, Any]:
    """Return size and format of a picture, or why it cannot be read."""
    size = memoryview(data).nbytes
    try:
        with open_image(data) as image:
            width, height = image.size
            if read_orientation(image) >= 5:
                width, height = height, width
            facts = {"width": width, "height": height, "format": str(image.format).lower()}
    except ImageDecodeError as error:
        facts = {"problem": str(error)}
    return {**facts, "bytes": size}


def encode_thumbnail(data: Encoded) -> bytes:
    """Return a JPEG whose shorter side has at most 144 pixels."""
    sink = io.BytesIO()
    decode_to_pillow(data, View(short_side=_SIDE)).save(sink, "JPEG", quality=80)
    return sink.getvalue()
