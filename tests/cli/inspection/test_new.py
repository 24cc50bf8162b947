"""`curate new --from`: recipes for ten kinds of input, each of which is then run."""

import csv
import gzip
import io
import json
import random
import sys
import tarfile
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from curator_cli.app import call
from curator_cli.inspection.inspect import inspect_files
from curator_core.plugins.registry import plugins

WORDS = (Path(__file__).read_text() * 3).replace("(", " ").replace(")", " ").split()
WORDS = [word for word in WORDS if word.isalpha()]


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "data").mkdir()


def texts(number: int) -> list[str]:
    """Return sentences of 20 to 200 words, a few very short ones, and some copies."""
    dice = random.Random(number)
    made = [
        " ".join(dice.choice(WORDS) for _ in range(dice.randint(20, 200))) + "."
        for _ in range(number)
    ]
    return [*made[:-4], made[0], made[1], "Too short.", "Buy now!"]


class Made:
    """The result of `curate new --json`, and of running its recipe."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts
        self.recipe = yaml.safe_load(Path(facts["recipe"]).read_text())
        self.stages = [step["stage"] for step in self.recipe["steps"] if "stage" in step]

    def step(self, stage: str) -> dict[str, Any]:
        found: dict[str, Any] = next(one for one in self.recipe["steps"] if one["stage"] == stage)
        return found

    def records(self, pattern: str = "output/data/kept/*.jsonl") -> list[dict[str, Any]]:
        files = sorted(Path().glob(pattern))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@pytest.fixture
def make(capfd: pytest.CaptureFixture[str]) -> Callable[..., Made]:
    def made(*arguments: str, run: bool = True) -> Made:
        capfd.readouterr()
        assert call(["new", "--from", "data", "--json", *arguments]) == 0
        result = Made(json.loads(capfd.readouterr().out))
        if run:
            local = ("--executor", "local", "--workers", "0")
            assert call(["run", result.facts["recipe"], *local, "--json"]) == 0, (
                capfd.readouterr().err
            )
        return result

    return made


def write_jsonl(path: Path, column: str, rows: list[str]) -> None:
    lines = [{"uid": n, "page_url": f"https://a.example/{n}", column: text, "tags": ["a"]}
             for n, text in enumerate(rows)]  # fmt: skip
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def test_json_lines_with_odd_column_names(make: Callable[..., Made]) -> None:
    write_jsonl(Path("data/a.jsonl"), "Seitentext", texts(60))
    write_jsonl(Path("data/b.jsonl.gz"), "Seitentext", texts(50))
    Path("data/broken.jsonl").write_text('{"uid": 1, "Seitentext": \nnot json at all\n')
    made = make()
    assert made.recipe["input"]["text_field"] == "Seitentext"
    assert made.step("text.word_count_filter")["min_words"] > 2
    kept = made.records()
    assert 30 <= len(kept) <= 108  # some are near duplicates
    assert set(kept[0]) >= {"uid", "page_url", "Seitentext", "tags"}
    assert "2 failures" in made.facts["findings"]["sample"]
    assert "exact" in made.facts["findings"]["duplicates"]


def test_the_comment_of_a_limit_is_what_it_drops(make: Callable[..., Made]) -> None:
    rows = [" ".join(["word"] * n) for n in range(1, 101)]
    write_jsonl(Path("data/a.jsonl"), "text", rows)
    made = make()
    limit = made.step("text.word_count_filter")["min_words"]
    text = Path("data.yaml").read_text()
    assert f"min_words: {limit}" in text
    assert f"# {limit - 1} % of your documents are shorter" in text or (
        f"# {limit - 1}.0 % of your documents are shorter" in text
    )
    dropped = made.records("output/data/dropped/**/*.jsonl")
    assert sum("fewer than" in json.dumps(row) for row in dropped) >= limit - 1


def test_parquet(make: Callable[..., Made]) -> None:
    rows = texts(80)
    table = pa.table({"content": rows, "id": list(range(len(rows))), "lang": ["en"] * len(rows)})
    pq.write_table(table, "data/a.parquet")
    made = make()
    assert made.recipe["input"]["stage"] == "text.parquet_reader"
    kept = pq.read_table("output/data/kept")
    assert 70 <= kept.num_rows <= 78
    assert set(kept.column_names) >= {"content", "id", "lang"}


def test_csv(make: Callable[..., Made]) -> None:
    with open("data/a.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["nr", "review", "stars"])
        writer.writerows([n, text, 5] for n, text in enumerate(texts(60)))
    made = make()
    assert made.recipe["input"]["text_field"] == "review"
    assert set(made.records()[0]) >= {"nr", "review", "stars"}


def test_large_text_files_are_many_documents(make: Callable[..., Made]) -> None:
    Path("data/a.txt").write_text("\n\n".join(texts(40) * 100))
    made = make()
    assert made.recipe["input"]["unit"] == "paragraph"
    assert len(made.records()) > 20  # each text is there 100 times


def test_small_text_files_are_documents(make: Callable[..., Made]) -> None:
    for number, text in enumerate(texts(30)):
        Path(f"data/{number}.txt").write_text(text)
    made = make()
    assert "unit" not in made.recipe["input"]
    assert 25 <= len(made.records()) <= 28


def test_warc(make: Callable[..., Made]) -> None:
    pytest.importorskip("resiliparse")
    with gzip.open("data/a.warc.gz", "wb") as file:
        for n, text in enumerate(texts(40)):
            page = f"<html><body><p>{text}</p><p>{text[:50]} {n}</p></body></html>".encode()
            answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + page
            head = (
                "WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
                f"WARC-Record-ID: <urn:uuid:{n:032x}>\r\nWARC-Target-URI: https://a.example/{n}\r\n"
                f"Content-Type: application/http\r\nContent-Length: {len(answer)}\r\n\r\n"
            )
            file.write(head.encode() + answer + b"\r\n\r\n")
    made = make()
    assert made.stages[0] == "text.html_extractor"
    kept = made.records()
    assert len(kept) > 25
    assert kept[0]["url"].startswith("https://a.example/")


def draw(number: int) -> bytes:
    images = pytest.importorskip("PIL.Image")
    dice = random.Random(number)
    width, height = dice.randint(260, 400), dice.randint(260, 400)
    if number % 10 == 9:  # blank
        picture = images.new("RGB", (width, height), (200, 200, 200))
    else:
        noise = images.frombytes("RGB", (24, 24), dice.randbytes(24 * 24 * 3))
        picture = noise.resize((width, height))
    sink = io.BytesIO()
    picture.save(sink, "JPEG")
    return sink.getvalue()


def test_pictures_in_folders(make: Callable[..., Made]) -> None:
    for number in range(30):
        folder = Path(f"data/{number % 3}")
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.jpg").write_bytes(draw(number))
        (folder / f"{number}.txt").write_text(f"caption {number}")
    Path("data/0/broken.jpg").write_bytes(b"\xff\xd8\xff no picture")
    made = make()
    assert made.recipe["input"]["stage"] == "image.folder_reader"
    assert {"image.uniformity_filter", "image.entropy_filter"} & set(made.stages)
    names = []
    for shard in Path("output/data/kept").glob("*.tar"):
        with tarfile.open(shard) as archive:
            names += archive.getnames()
    assert 20 <= sum(name.endswith(".jpg") for name in names) <= 27
    assert any(name.endswith(".txt") for name in names)


def test_shards(make: Callable[..., Made]) -> None:
    for shard in range(2):
        with tarfile.open(f"data/{shard}.tar", "w") as archive:
            for number in range(15):
                data = draw(shard * 15 + number)
                member = tarfile.TarInfo(f"{shard}{number:03}.jpg")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    made = make()
    assert made.recipe["input"]["stage"] == "image.web_dataset_reader"
    assert list(Path("output/data/kept").glob("*.tar"))


def test_videos(make: Callable[..., Made]) -> None:
    pytest.importorskip("av")
    sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
    from corpus.films import Film, Shot
    from corpus.videos import Style, write_video

    film = Film([Shot(75, "pan"), Shot(75, "object")])
    write_video(Path("data/a.mp4"), film, Style())
    made = make()
    assert made.stages[0] == "video.histogram_shot_splitter"
    assert len(list(Path("output/data/clips").rglob("*.mp4"))) == 2


def write_wav(path: Path, seconds: float, rate: int = 16_000) -> None:
    dice = random.Random(round(1000 * seconds))
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(dice.randbytes(2 * round(seconds * rate)))


def test_recordings_with_a_manifest(make: Callable[..., Made]) -> None:
    pytest.importorskip("av")
    lines = []
    for number in range(8):
        write_wav(Path(f"data/{number}.wav"), 0.5 + number / 4)
        lines.append({"audio_filepath": f"{number}.wav", "text": "hello", "speaker": f"s{number}"})
    Path("data/manifest.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    made = make()
    assert made.recipe["input"]["stage"] == "audio.manifest_reader"
    assert "8 recordings" in made.facts["findings"]["sample"]
    [first, *_] = made.records()
    assert first["speaker"].startswith("s")
    assert (Path("output/data/kept") / first["audio_filepath"]).exists()


def test_mixed_files(make: Callable[..., Made]) -> None:
    write_jsonl(Path("data/a.jsonl"), "text", texts(300))
    for number in range(3):
        Path(f"data/{number}.jpg").write_bytes(draw(number)[:2000])
    Path("data/notes.xyz").write_text("whatever")
    made = make(run=False)
    assert made.recipe["input"]["stage"] == "text.jsonl_reader"
    notes = " ".join(made.facts["notes"])
    assert "3 pictures" in notes
    assert "--goal images" in notes
    assert "1 file of no known format (.xyz)" in notes


def test_a_goal_chooses_among_mixed_files(make: Callable[..., Made]) -> None:
    write_jsonl(Path("data/a.jsonl"), "text", texts(300))
    for number in range(3):
        Path(f"data/{number}.jpg").write_bytes(draw(number))
    made = make("--goal", "images")
    assert made.recipe["input"]["stage"] == "image.folder_reader"
    assert list(Path("output/data/kept").glob("*.tar"))


def refused(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    capfd.readouterr()
    assert call(["new", *arguments]) == 2
    return capfd.readouterr().err


def test_an_empty_folder(capfd: pytest.CaptureFixture[str]) -> None:
    assert "data" in refused(capfd, "--from", "data")
    assert not Path("data.yaml").exists()


def test_unknown_files_are_described(capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("a.foo", "b.foo", "c.zip"):
        Path(f"data/{name}").write_bytes(b"\x00\x01 anything")
    message = refused(capfd, "--from", "data")
    assert "2 .foo" in message
    assert "1 .zip" in message
    assert "unpack" in message


def test_a_recipe_is_not_overwritten(capfd: pytest.CaptureFixture[str]) -> None:
    write_jsonl(Path("data/a.jsonl"), "text", texts(30))
    Path("mine.yaml").write_text("mine")
    assert "--force" in refused(capfd, "--from", "data", "mine.yaml")
    assert Path("mine.yaml").read_text() == "mine"
    assert call(["new", "--from", "data", "mine.yaml", "--force"]) == 0
    assert "text.jsonl_reader" in Path("mine.yaml").read_text()


def test_a_goal_without_such_files(capfd: pytest.CaptureFixture[str]) -> None:
    write_jsonl(Path("data/a.jsonl"), "text", texts(30))
    message = refused(capfd, "--from", "data", "--goal", "video")
    assert "1 JSON Lines file" in message
    assert "--goal pretraining" in message


def test_the_missing_package_is_named(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("data/a.jpg").write_bytes(b"\xff\xd8\xff")
    monkeypatch.setenv("CURATOR_PLUGINS", "text")
    plugins.cache_clear()
    try:
        assert "pip install curator-image" in refused(capfd, "--from", "data")
    finally:
        plugins.cache_clear()


def test_records_without_a_text(capfd: pytest.CaptureFixture[str]) -> None:
    Path("data/a.jsonl").write_text('{"n": 1, "ok": true}\n' * 30)
    message = refused(capfd, "--from", "data")
    assert "n (number), ok (boolean)" in message


def test_records_that_cannot_be_read(capfd: pytest.CaptureFixture[str]) -> None:
    Path("data/a.jsonl").write_text("no json\n" * 30)
    message = refused(capfd, "--from", "data")
    assert "1 JSON Lines file" in message
    assert "not JSON" in message


def test_prompts_and_answers(make: Callable[..., Made]) -> None:
    rows = [{"instruction": "Explain this. " * 60, "output": text} for text in texts(60)]
    Path("data/a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = make("--goal", "sft")
    assert made.recipe["input"]["text_field"] == "output"
    assert "text.punctuation_filter" not in made.stages
    assert set(made.records()[0]) >= {"instruction", "output"}


def test_conversations(make: Callable[..., Made]) -> None:
    chat = [{"role": "user", "content": "Hello there"}, {"role": "assistant", "content": "Hi"}]
    Path("data/a.jsonl").write_text(json.dumps({"id": 1, "messages": chat}) + "\n")
    made = make()
    assert made.recipe["steps"] == []
    assert made.records()[0]["messages"] == chat


def test_files_with_unusual_names_are_read(make: Callable[..., Made]) -> None:
    write_jsonl(Path("data/a.dump"), "text", texts(30))
    made = make()
    assert made.recipe["input"]["file_extensions"] == [".dump"]
    assert len(made.records()) > 20


def test_the_output_is_never_read_as_input(capfd: pytest.CaptureFixture[str]) -> None:
    write_jsonl(Path("a.jsonl"), "text", texts(30))
    assert call(["new", "--from", ".", "r.yaml"]) == 0
    assert yaml.safe_load(Path("r.yaml").read_text())["output"]["path"].startswith("_output/")


def test_the_output_is_not_below_a_parent_that_is_read(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_jsonl(Path("data/a.jsonl"), "text", texts(30))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for source in ("..", "../**/*.jsonl"):
        assert call(["new", "--from", source, "r.yaml", "--force"]) == 0
        assert yaml.safe_load(Path("r.yaml").read_text())["output"]["path"].startswith("_output/")


def test_deduplication_is_a_step() -> None:
    write_jsonl(Path("data/a.jsonl"), "body", texts(30))
    proposal = inspect_files("data", None, "data", plugins())
    steps = yaml.safe_load(proposal.to_yaml("data.yaml"))["steps"]
    assert steps[-1] == {"workflow": "dedup.fuzzy", "text_field": "body"}
    assert not proposal.next_commands


def test_output_fits_a_narrow_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    write_jsonl(Path("data/a.jsonl"), "a_rather_long_column_name", texts(60))
    capfd.readouterr()
    assert call(["new", "--from", "data"]) == 0
    lines = capfd.readouterr().out.splitlines()
    commands = [line for line in lines if line.startswith("  curate ")]
    assert commands
    assert max(len(line) for line in lines if line not in commands) <= 80
