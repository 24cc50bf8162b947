"""The recipe of examples/video keeps and drops what was filmed for it."""

import hashlib
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from curator_cli.recipes import load_recipe
from curator_core import LocalExecutor

pytest.importorskip("av")

from corpus.films import Film, Shot
from corpus.scenes import Screen
from corpus.videos import Style, write_video

RECIPE = Path(__file__).parents[2] / "examples" / "video" / "split_and_filter.yaml"


def test_split_and_filter(tmp_path: Path) -> None:
    films = tmp_path / "films"
    films.mkdir()
    motions = ("pan", "frozen", "zoom", "black", "pan")
    film = Film([Shot(100, motion) for motion in motions], seed=5)
    write_video(films / "one.mp4", film, Style(audio="aac"))
    (films / "broken.mp4").write_bytes(b"no video")
    settings = [f"input.file_paths={films}", f"output.path={tmp_path / 'out'}"]
    result = load_recipe(RECIPE, settings).pipeline().run(LocalExecutor(workers=0))
    [record] = result.quarantined
    assert "broken.mp4 cannot be opened as a video" in record.reason
    rows = sorted(pq.read_table(tmp_path / "out" / "index").to_pylist(), key=lambda r: r["start"])
    kept = [motions[int(row["start"] // 4)] for row in rows]
    assert kept == ["pan", "zoom", "pan"]
    assert all(row["end"] - row["start"] == pytest.approx(3.0) for row in rows)
    assert all(Path(row["clip_location"]).is_file() for row in rows)
    pages = [
        json.loads(p.read_text())
        for p in (tmp_path / "out" / "metas" / "v0").glob("[0-9a-f]*.json")
    ]
    dropped = {page["filtered"]["stage"] for page in pages if not page["valid"]}
    assert dropped == {"black_filter", "freeze_filter"}


def test_films_are_the_same_each_time() -> None:
    film = Film([Shot(12, "pan"), Shot(12, "object", "dissolve", 8)])
    first, second = (
        hashlib.sha256(b"".join(p.tobytes() for p in film.pictures(Screen(64, 36)))).hexdigest()
        for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize("name", ["film.mp4", "film.mkv", "film.ts"])
def test_a_film_is_the_same_bytes_each_time(tmp_path: Path, name: str) -> None:
    film = Film([Shot(10, "pan"), Shot(10, "object")])
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        write_video(tmp_path / folder / name, film, Style(audio="aac"))
    assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
