"""Samples in a report: changes are marked, and hostile content is harmless."""

import re
import time
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from curator_core.run.journal import to_line
from curator_report import samples
from curator_report.html import render_part
from curator_report.page import render
from curator_report.run_record import read_run
from reportkit import write_run

HOSTILE = {
    "script": "</pre></details><script>document.title = 'taken over'</script>",
    "picture": '<img src=x onerror="document.title = 1"><svg/onload=alert(1)>',
    "direction": "a\u202egnp.exe\u2066b\u200f",
    "nothing": "a\0b\x07c\x1b[2J",
    "half": "a\ud800b",
    "long": "x" * 1_000_000,
    "marks": "&<>\"'" * 400,
    "combining": "a" + "\u0301" * 900,
}


def changed_records(events: list[dict[str, Any]]) -> str:
    return render_part("samples", "samples", samples.changed_records(events))


def dropped_records(events: list[Any]) -> str:
    return render_part("samples", "samples", samples.dropped_records(events))


def change(before: str, after: str, **facts: Any) -> dict[str, Any]:
    return {"event": "sample", "stage": "tidies", "column": "text", "before": before,
            "after": after, **facts}  # fmt: skip


def test_deletions_and_insertions_are_marked() -> None:
    page = changed_records([change("a cat sat there", "a dog sat <there>")])
    assert "a <del>cat</del> sat there" in page
    assert "a <ins>dog</ins> sat <ins>&lt;</ins>there<ins>&gt;</ins>" in page


def test_the_position_and_label_of_a_sample_are_shown() -> None:
    page = changed_records([change("a", "b", start=1200, length=99_000, label="url u<1>")])
    assert "before from character 1,200" in page
    assert "text · url u&lt;1&gt; · 99,000 characters in all" in page


def test_dropped_records_are_sorted_by_stage_and_reason() -> None:
    events = [
        {"stage": stage, "reason": reason, "before": f"{stage} {reason}"}
        for stage, reason in (("later", "b"), ("later", "a"), ("unknown", "x"), ("first", "c"))
    ]
    page = dropped_records(samples.in_order(events, ["first", "later"]))
    assert re.findall(r"<pre.*?>(.*?)</pre>", page) == ["first c", "later a", "later b"]
    assert changed_records(events) == ""


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_content_is_only_text(name: str) -> None:
    text = HOSTILE[name]
    changed = [change(text, "b", label=text, column=text), change("b", text, reason=text)]
    dropped = {"stage": text, "reason": text, "before": text, "label": text}
    page = changed_records(changed) + dropped_records([dropped])
    elements = Elements()
    elements.feed(page)
    assert elements.found <= {"details", "summary", "small", "div", "p", "pre", "bdi", "del", "ins"}
    assert elements.attributes <= {"open", "class", "dir"}
    assert not elements.open
    shown = unescape(page)
    assert not re.search("[\0-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown)


def test_control_characters_are_visible() -> None:
    assert "a[U+0000]b" in dropped_records([{"stage": "s", "before": "a\0b"}])


def test_hostile_samples_keep_the_page_small_and_quick_to_render(tmp_path: Path) -> None:
    run = Path(write_run(tmp_path / "run", stages=300, events=0))
    with open(run / "events.jsonl", "ab") as file:
        for place in range(300):
            text = list(HOSTILE.values())[place % len(HOSTILE)].replace("\ud800", "")[:1000]
            marks = "( ) " * 300 if place % 2 else "\"'" * 600
            for event in (change(text, marks), {"event": "sample", "before": marks * 3}):
                file.write(to_line({"time": 1.0, **event, "stage": f"stage_{place}"}))
    began = time.process_time()
    page = render(read_run(str(run), in_short=True))
    assert time.process_time() - began < 20
    assert len(page.encode()) < 3_000_000
    assert "More: events.jsonl in the run directory." in page
