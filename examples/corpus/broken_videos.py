"""Videos as they should not be: what a large collection has a few of, each under a telling name."""

from collections.abc import Callable
from pathlib import Path

import av

from corpus.films import Film, Shot
from corpus.videos import Style, write_video

_FILM = Film([Shot(50, "pan"), Shot(50, "object")])


def make_broken_videos(folder: Path) -> dict[str, Path]:
    """One of each kind, by the name of the kind."""
    folder.mkdir(parents=True, exist_ok=True)
    good = write_video(folder / "good.mp4", _FILM)
    return {"good": good, **{kind: make(folder, good) for kind, make in _KINDS.items()}}


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _cut_short(folder: Path, good: Path) -> Path:
    content = good.read_bytes()
    return _written(folder / "cut_short.mp4", content[: len(content) // 2])


def _empty(folder: Path, good: Path) -> Path:
    return _written(folder / "empty.mp4", b"")


def _text(folder: Path, good: Path) -> Path:
    return _written(folder / "text.mp4", b"<html>404 Not Found</html>\n" * 40)


def _playlist(folder: Path, good: Path) -> Path:
    """What would make a careless reader open another file."""
    lines = f"#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n{good.resolve()}\n#EXT-X-ENDLIST\n"
    return _written(folder / "playlist.mp4", lines.encode())


def _wrong_ending(folder: Path, good: Path) -> Path:
    return write_video(folder / "inner.mkv", _FILM).rename(folder / "matroska.mp4")


def _only_sound(folder: Path, good: Path) -> Path:
    path = folder / "only_sound.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=48000, layout="mono")
        for piece in _silence():
            container.mux(stream.encode(piece))
        container.mux(stream.encode(None))
    return path


def _silence() -> list[av.AudioFrame]:
    pieces = []
    for number in range(50):
        piece = av.AudioFrame("fltp", "mono", 1024)
        piece.planes[0].update(bytes(4096))
        piece.sample_rate, piece.pts = 48000, number * 1024
        pieces.append(piece)
    return pieces


def _one_picture(folder: Path, good: Path) -> Path:
    return write_video(folder / "one_picture.mp4", Film([Shot(1)]))


def _no_picture(folder: Path, good: Path) -> Path:
    """A video track that was announced, and nothing in it."""
    path = folder / "no_picture.mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 320, 180, "yuv420p"
        container.start_encoding()
    return path


def _no_timestamps(folder: Path, good: Path) -> Path:
    """AVI has none for pictures that are not shown in the order in which they are stored."""
    style = Style(codec="mpeg4", options={"bf": "2"})
    return write_video(folder / "no_timestamps.avi", _FILM, style)


def _odd_size(folder: Path, good: Path) -> Path:
    style = Style(width=321, height=181, pixel_format="yuv444p")
    return write_video(folder / "odd_size.mp4", _FILM, style)


def _ten_bits(folder: Path, good: Path) -> Path:
    return write_video(folder / "ten_bits.mp4", _FILM, Style(pixel_format="yuv420p10le"))


def _turned(folder: Path, good: Path) -> Path:
    return write_video(folder / "turned.mp4", _FILM, Style(rotation=90))


def _damaged_middle(folder: Path, good: Path) -> Path:
    """Packets in the middle hold something else; index and headers are whole."""
    with av.open(str(good)) as container:
        packets = [packet for packet in container.demux(video=0) if packet.size]
        spans = [(packet.pos, packet.size) for packet in packets[20:26]]
    content = bytearray(good.read_bytes())
    for start, size in spans:
        if start is not None:
            content[start + 5 : start + size] = bytes(
                (7 * place) % 251 for place in range(size - 5)
            )
    return _written(folder / "damaged_middle.mp4", bytes(content))


def _missing_end(folder: Path, good: Path) -> Path:
    """The index stands in front, and tells of pictures that were never fetched."""
    path = folder / "missing_end.mp4"
    with (
        av.open(str(good)) as source,
        av.open(str(path), "w", options={"movflags": "faststart"}) as container,
    ):
        stream = container.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                container.mux(packet)
    content = path.read_bytes()
    return _written(path, content[: len(content) * 6 // 10])


_KINDS: dict[str, Callable[[Path, Path], Path]] = {
    "cut short": _cut_short,
    "empty": _empty,
    "text": _text,
    "playlist": _playlist,
    "wrong ending": _wrong_ending,
    "only sound": _only_sound,
    "one picture": _one_picture,
    "no picture": _no_picture,
    "no timestamps": _no_timestamps,
    "odd size": _odd_size,
    "ten bits": _ten_bits,
    "turned": _turned,
    "damaged middle": _damaged_middle,
    "missing end": _missing_end,
}
