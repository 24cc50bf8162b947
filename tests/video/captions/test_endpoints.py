"""Captions from a local server: requests, retries, rate limit and errors."""

import base64
import io
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import av
import pytest
from curator_core import AnyStage, StageError
from curator_core.testing import check_stage, run_stages
from curator_models import endpoint_stage
from curator_models.rate_limit import RateLimiter
from curator_video.captions.endpoints import EndpointCaptionEnhancer, EndpointClipCaptioner
from curator_video.tasks import Clip

Problems = Callable[[AnyStage], list[str]]

KEY = "sk-very-secret-key"


@dataclass
class Server:
    """Record requests; answer with the next of `next_answers` (code, text), else with a caption."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    next_answers: list[tuple[int, str]] = field(default_factory=list)
    first_answer: tuple[int, str] = (200, "Hello!")
    first_requests: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, body: dict[str, Any]) -> tuple[int, str]:
        with self.lock:
            if body["max_tokens"] == 1:
                self.first_requests += 1
                return self.first_answer
            self.requests.append(body)
            if self.next_answers:
                return self.next_answers.pop(0)
        content = body["messages"][0]["content"]
        if isinstance(content, str):
            return 200, content.rpartition("\n")[2].upper()
        sizes = [size_of(part) for part in content if part["type"] == "image_url"]
        return 200, f"{len(sizes)} of {sizes[0]}"


def size_of(part: dict[str, Any]) -> tuple[int, int]:
    jpeg = base64.b64decode(part["image_url"]["url"].removeprefix("data:image/jpeg;base64,"))
    with av.open(io.BytesIO(jpeg), format="jpeg_pipe") as file:
        [picture] = file.decode(video=0)
        return picture.width, picture.height


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            state.keys.append(self.headers.get("Authorization"))
            code, text = state.answer(
                json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            )
            self.send_response(code)
            self.end_headers()
            reply = (
                {"choices": [{"message": {"content": text}}]} if code == 200 else {"error": text}
            )
            self.wfile.write(json.dumps(reply).encode())

        def log_message(self, *_: object) -> None:
            pass

    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=served.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{served.server_port}/v1"
    yield state
    served.shutdown()
    served.server_close()
    thread.join()


def captioner(server: Server, **options: Any) -> EndpointClipCaptioner:
    return EndpointClipCaptioner(url=server.url, model="tiny", backoff_s=0.01, **options)


def captions(clip: Clip, name: str = "caption") -> list[str]:
    return [window.captions[name] for window in clip.data.windows]


def long(clip: Clip) -> Clip:
    """Extend a clip to eleven seconds of the video, 275 frames."""
    return clip.with_data(replace(clip.data, start=0.5, end=11.5))


def test_each_window_is_captioned(server: Server, harbour_clips: list[Clip]) -> None:
    stage = captioner(server, window_frames=100, remainder_frames=50, height=90)
    [clip, short] = run_stages([stage], [long(harbour_clips[0]), harbour_clips[1]]).outputs
    places = [(w.start_frame, w.end_frame, w.start, w.end) for w in clip.data.windows]
    assert places == [(0, 100, 0.5, 4.5), (100, 200, 4.5, 8.5), (200, 275, 8.5, 11.5)]
    assert captions(clip) == ["8 of (160, 90)", "8 of (160, 90)", "6 of (160, 90)"]
    assert captions(short) == ["4 of (160, 90)"]
    assert clip.scores["caption_model"] == "tiny"
    assert {request["max_tokens"] for request in server.requests} == {512}
    assert server.keys == [None] * 5  # one of them to check the access


def test_captions_are_rewritten_and_both_are_kept(
    server: Server, harbour_clips: list[Clip]
) -> None:
    stages = [
        captioner(server),
        EndpointCaptionEnhancer(url=server.url, model="writer", prompt="Better:\n{caption}"),
    ]
    [clip] = run_stages(stages, harbour_clips[:1]).outputs
    assert captions(clip) == ["4 of (320, 180)"]
    assert captions(clip, "enhanced_caption") == ["4 OF (320, 180)"]
    assert clip.scores["enhanced_caption_model"] == "writer"
    assert server.requests[1]["messages"][0]["content"] == "Better:\n4 of (320, 180)"


def test_clips_without_the_caption_are_rejected(server: Server, harbour_clips: list[Clip]) -> None:
    stage = EndpointCaptionEnhancer(url=server.url, model="writer")
    ran = run_stages([stage], harbour_clips[:1], on_error="quarantine")
    [record] = ran.report.quarantined
    assert "no caption called 'caption': the clip has no captions; put a captioner before" in (
        record.reason
    )
    stages = [captioner(server, caption_field="words"), stage]
    [record] = run_stages(stages, harbour_clips[:1], on_error="quarantine").report.quarantined
    assert "the clip has words" in record.reason


def test_busy_servers_are_retried_and_one_error_fails_one_clip(
    server: Server, harbour_clips: list[Clip]
) -> None:
    server.next_answers = [(503, "busy"), (400, "no such pictures here")]
    ran = run_stages([captioner(server, concurrency=1)], harbour_clips, on_error="quarantine")
    assert len(ran.outputs) == 2
    assert len(server.requests) == 4
    [record] = ran.report.quarantined
    assert "the endpoint answered 400 Bad Request" in record.reason
    assert "no such pictures here" in record.reason
    assert harbour_clips[0].describe() in record.detail


def test_clips_without_an_answer_can_be_retried(server: Server, harbour_clips: list[Clip]) -> None:
    enhancer = EndpointCaptionEnhancer(url=server.url, model="writer", attempts=1)
    for stage in (captioner(server, attempts=1), enhancer):
        server.next_answers = [(500, "not now")]
        ran = run_stages([stage], harbour_clips[:1], on_error="quarantine")
        [record] = ran.report.quarantined
        assert record.whole_task
        assert record.payload is not None
        again = run_stages([stage], [Clip.from_payload(record.payload)]).outputs
        assert len(captions(again[0])) == 1
        harbour_clips = again


@pytest.mark.parametrize("code", [401, 403, 404])
def test_a_refused_key_or_model_fails_the_run_at_setup(
    server: Server, harbour_clips: list[Clip], monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    server.first_answer = (code, f"not with {KEY}")
    options: dict[str, Any] = {
        "url": server.url, "model": "tiny", "api_key_variable": "MY_KEY"
    }  # fmt: skip
    for stage in (EndpointClipCaptioner(**options), EndpointCaptionEnhancer(**options)):
        with pytest.raises(StageError) as raised:
            run_stages([stage], harbour_clips[:1], on_error="quarantine")
        message = str(raised.value)
        assert f"could not be set up: EndpointError: the endpoint answered {code} " in message
        assert message.endswith("; check url, model and the key in api_key_variable")
        assert KEY not in message + repr(stage)
    assert server.keys == [f"Bearer {KEY}"] * 2
    assert not server.requests


def test_a_busy_server_at_setup_does_not_fail_the_run(
    server: Server, harbour_clips: list[Clip]
) -> None:
    server.first_answer = (503, "busy")
    [clip] = run_stages([captioner(server)], harbour_clips[:1]).outputs
    assert len(captions(clip)) == server.first_requests == 1


def test_an_unreachable_server_quarantines_the_clip(harbour_clips: list[Clip]) -> None:
    stage = EndpointClipCaptioner(
        url="http://127.0.0.1:9/v1", model="tiny", attempts=2, backoff_s=0.01
    )
    ran = run_stages([stage], harbour_clips[:1], on_error="quarantine")
    [record] = ran.report.quarantined
    assert "127.0.0.1:9 does not answer: " in record.reason
    assert "(after 2 attempts)" in record.reason


def test_requests_per_minute_limits_the_rate(
    server: Server, harbour_clips: list[Clip], monkeypatch: pytest.MonkeyPatch
) -> None:
    turns: list[float | None] = []

    class Limiter(RateLimiter):
        def __init__(self, per_minute: float | None) -> None:
            super().__init__(None)
            self._per_minute = per_minute

        def wait(self) -> None:
            turns.append(self._per_minute)

    monkeypatch.setattr(endpoint_stage, "RateLimiter", Limiter)
    run_stages([captioner(server, requests_per_minute=300)], harbour_clips)
    assert turns == [300] * 4, "one to check the access, and one for each clip"
    assert len(server.requests) + server.first_requests == 4


def test_wrong_options_are_reported(problems: Problems) -> None:
    reported = problems(
        EndpointClipCaptioner(
            url="host/v1", model="", api_key_variable="NO_SUCH", caption_field="start", fps=0,
            requests_per_minute=0, concurrency=0,
        )
    )  # fmt: skip
    assert reported == [
        "url is 'host/v1'; write it like https://host/v1",
        "api_key_variable is 'NO_SUCH'",
        "model is empty; give the name of the model on the server",
        "concurrency is 0",
        "requests_per_minute is 0",
        "caption_field is 'start', which is a field of every window; choose another name",
        "fps is 0",
    ]
    reported = problems(EndpointCaptionEnhancer(url="https://host/v1", model="m", prompt="Better!"))
    assert list(reported) == [
        "prompt has no place for the caption; put {caption} into it",
    ]


def test_stage_contract(server: Server, harbour_clips: list[Clip]) -> None:
    check_stage(captioner(server), harbour_clips[0], harbour_clips[1])
    [clip] = run_stages([captioner(server)], harbour_clips[:1]).outputs
    check_stage(EndpointCaptionEnhancer(url=server.url, model="writer"), clip)
