"""Thumbnails: small pictures embedded in a page, and their style."""

import base64
import io
from html import escape

from curator_image.decoding import Encoded, ImageDecodeError, decode_to_pillow, open_image
from curator_image.pixel_view import View
from curator_image.resize import compute_fit

STYLE = """
.sheet { display: flex; flex-wrap: wrap; gap: .5rem; margin: .3rem 0 1rem }
.sheet figure { margin: 0; width: 144px; font-size: .72rem; line-height: 1.25 }
.sheet img { max-width: 144px; max-height: 144px; display: block }
.sheet figcaption { overflow-wrap: anywhere }
.sheet .best { outline: 3px solid var(--good); outline-offset: -3px }
.missing { width: 144px; height: 80px; border: 1px dashed var(--line); padding: .4rem;
  box-sizing: border-box; opacity: .7 }
h3 { margin: 1rem 0 .2rem; font-size: .95rem }
"""


SIDE = 144


def thumbnail(data: Encoded | None, caption: str, note: str = "", *, sized: bool = False) -> str:
    """Return a figure with the picture, or with the reason why it cannot be shown.

    The tooltip shows its size; `sized` also writes it below.
    """
    image, size = _image_html(data)
    bold = f"<b>{escape(note)}</b> " if note else ""
    below = f"<br>{size}" if sized and size else ""
    return f"<figure>{image}<figcaption>{bold}{escape(caption)}{below}</figcaption></figure>"


def _image_html(data: Encoded | None) -> tuple[str, str]:
    """Return the picture as HTML, and its size as text."""
    if data is None:
        return '<div class="missing">not found</div>', ""
    try:
        encoded, size = _shrink(data)
    except ImageDecodeError as error:
        return f'<div class="missing">{escape(str(error))}</div>', ""
    source = base64.b64encode(encoded).decode()
    return f'<img src="data:image/jpeg;base64,{source}" title="{size}" alt="">', size


def _shrink(data: Encoded) -> tuple[bytes, str]:
    with open_image(data) as header:
        width, height = header.size
    fit = compute_fit((width, height), (SIDE, SIDE), "border", enlarge=False)
    view = View(short_side=max(1, min(fit.scaled)))
    sink = io.BytesIO()
    decode_to_pillow(data, view).save(sink, "JPEG", quality=80)
    return sink.getvalue(), f"{width} x {height}, {memoryview(data).nbytes:,} bytes"
