"""Thumbnails: small pictures embedded in a page."""

import base64
import io
from html import escape

from curator_image.decoding import picture
from curator_image.opening import Encoded, UndecodableError, opened
from curator_image.resizing.fits import fit_for
from curator_image.views import View

SIDE = 144


def thumbnail(data: Encoded | None, caption: str, note: str = "", *, sized: bool = False) -> str:
    """Return a figure with the picture, or with the reason why it cannot be shown.

    The tooltip shows its size; `sized` also writes it below.
    """
    shown, size = _shown(data)
    told = f"<b>{escape(note)}</b> " if note else ""
    below = f"<br>{size}" if sized and size else ""
    return f"<figure>{shown}<figcaption>{told}{escape(caption)}{below}</figcaption></figure>"


def _shown(data: Encoded | None) -> tuple[str, str]:
    """Return the picture as HTML, and its size as text."""
    if data is None:
        return '<div class="gone">not found again</div>', ""
    try:
        encoded, size = _made_small(data)
    except UndecodableError as error:
        return f'<div class="gone">{escape(str(error))}</div>', ""
    source = base64.b64encode(encoded).decode()
    return f'<img src="data:image/jpeg;base64,{source}" title="{size}" alt="">', size


def _made_small(data: Encoded) -> tuple[bytes, str]:
    with opened(data) as header:
        width, height = header.size
    fit = fit_for((width, height), (SIDE, SIDE), "border", enlarge=False)
    view = View(short_side=max(1, min(fit.scaled)))
    sink = io.BytesIO()
    picture(data, view).save(sink, "JPEG", quality=80)
    return sink.getvalue(), f"{width} x {height}, {memoryview(data).nbytes:,} bytes"
