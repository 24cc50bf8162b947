"""Repeated passages agree with a dictionary of all windows, for any division into blocks."""

import json
import random
import tempfile
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from curator_core import LocalExecutor, PipelineError, ResumeError, Workflow
from curator_core.errors import CuratorError
from curator_core.plugins.registry import plugins
from curator_dedup import (
    LineDeduplicationWorkflow,
    SentenceDeduplicationWorkflow,
    SubstringDeduplicationWorkflow,
)
from curator_dedup.passages import repeats, windows
from hypothesis import given, settings
from hypothesis import strategies as st

HERE = LocalExecutor(workers=0)
Record = dict[str, Any]
Write = Callable[[Path, list[Record]], Path]
RecordsIn = Callable[[Path], list[Record]]
KilledAt = Callable[[Workflow, Sequence[str]], int]
Tokens = list[str]


def substring(source: Path, out: Path, **options: Any) -> SubstringDeduplicationWorkflow:
    return SubstringDeduplicationWorkflow(str(source), str(out), **options)


def texts_of(records: list[Record]) -> dict[Any, Any]:
    return {record["id"]: record["text"] for record in records}


def remove_from(documents: list[Tokens], size: int, least: int, keep: str) -> list[Tokens]:
    """Return what is left if later windows are cut, except where they overlap the first."""
    found: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for number, tokens in enumerate(documents):
        for start in range(len(tokens) - size + 1):
            found.setdefault(tuple(tokens[start : start + size]), []).append((number, start))
    removed: set[tuple[int, int]] = set()
    for places in (places for places in found.values() if len(places) >= least):
        first = places[0]
        for number, start in places:
            begin = start
            if keep == "first" and number == first[0]:
                begin = max(start, first[1] + size)
            removed |= {(number, place) for place in range(begin, start + size)}
    return [
        [token for place, token in enumerate(tokens) if (number, place) not in removed]
        for number, tokens in enumerate(documents)
    ]


DOCUMENTS = st.lists(
    st.lists(st.sampled_from("ab"), max_size=30)
    | st.lists(st.sampled_from("abcdefgh"), max_size=40),
    min_size=1,
    max_size=5,
)


@settings(max_examples=25)
@given(
    files=st.lists(
        st.tuples(st.sampled_from([".jsonl", ".parquet"]), DOCUMENTS), min_size=1, max_size=3
    ),
    size=st.sampled_from([1, 2, 3, 8, 9, 13]),
    keep=st.sampled_from(["first", "none"]),
    min_count=st.sampled_from([2, 2, 3]),
    input_blocksize=st.sampled_from([70, 100_000]),
    partitions=st.sampled_from([1, 3]),
    token=st.sampled_from(["words", "characters"]),
)
def test_agrees_with_a_dictionary_of_passages(
    write: Write,
    records_in: RecordsIn,
    files: list[tuple[str, list[Tokens]]],
    size: int,
    keep: Any,
    **options: Any,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_all(write, Path(folder, "raw"), files)
        documents = [tokens for _, texts in files for tokens in texts]
        left = remove_from(documents, size, options["min_count"], keep)
        wanted = {
            number: " ".join(tokens)
            for number, tokens in enumerate(left)
            if tokens or not documents[number]
        }
        workflow = substring(
            Path(folder, "raw"), Path(folder, "out"), min_tokens=size, keep=keep, **options
        )
        counts = workflow.run(HERE, allow_empty=True).metadata
        assert texts_of(records_in(Path(folder, "out"))) == wanted
        assert counts["documents"] == len(documents)


def write_all(write: Write, folder: Path, files: Sequence[tuple[str, list[Tokens]]]) -> None:
    number = 0
    for place, (ending, texts) in enumerate(files):
        records = []
        for tokens in texts:
            records.append({"id": number, "text": " ".join(tokens)})
            number += 1
        write(folder / f"{place}{ending}", records)


def corpus(write: Write, folder: Path, files: int = 4, rows: int = 40) -> Path:
    """Write random words with common passages inserted."""
    chance = random.Random(5)
    passages = [[f"w{chance.randrange(500)}" for _ in range(70)] for _ in range(12)]
    named = []
    for place in range(files):
        texts = []
        for _ in range(rows):
            words = [f"w{chance.randrange(500)}" for _ in range(chance.randrange(20, 120))]
            begin = chance.randrange(20)
            words[begin:begin] = chance.choice(passages)[chance.randrange(20) :]
            texts.append(words)
        named.append((".parquet" if place % 2 else ".jsonl", texts))
    write_all(write, folder, named)
    return folder


def test_blocks_and_partitions_do_not_change_the_result(
    tmp_path: Path, write: Write, records_in: RecordsIn
) -> None:
    source = corpus(write, tmp_path / "raw")
    results = []
    for name, options in (
        ("a", {}),
        ("b", {"input_blocksize": 15_000, "partitions": 4}),
        ("c", {"input_blocksize": 7000}),
    ):
        workflow = substring(source, tmp_path / name, **options)
        counts = workflow.run(HERE).metadata
        results.append((texts_of(records_in(tmp_path / name)), counts))
    assert results[0] == results[1] == results[2]
    before = _texts_in_raw(source)
    changed = [number for number, text in results[0][0].items() if before[number] != text]
    assert len(changed) > 50


def _texts_in_raw(folder: Path) -> dict[Any, Any]:
    tables = [pq.read_table(path).to_pylist() for path in folder.glob("*.parquet")]
    lines = [path.read_text().splitlines() for path in folder.glob("*.jsonl")]
    return texts_of([*chain(*tables), *map(json.loads, chain(*lines))])


def test_lines_without_repeats_are_copied_byte_by_byte(tmp_path: Path) -> None:
    same = '{ "text" :"one\\u00e9 two", "n": 1.50 }\r\n'
    raw = tmp_path / "raw.jsonl"
    changed = '{"text": "a b c x", "big": 123456789012345678901234567890, "u": "\\u00e9"}\n'
    raw.write_bytes(("\ufeff" + same + '{"text":"a b c"}\n' + changed).encode())
    substring(raw, tmp_path / "out", min_tokens=3).run(HERE)
    [out] = (tmp_path / "out").glob("part-*")
    assert out.read_text() == (
        "   " + same.replace("\r\n", "\n") + '{"text":"a b c"}\n'
        '{"text":"x","big":123456789012345678901234567890,"u":"é"}\n'
    )


def test_spaces_around_a_passage_are_cut_with_it(tmp_path: Path, records_in: RecordsIn) -> None:
    texts = ["a b c", "x  a b\nc  y", "  a b c z", "v a b c  ", "a b\u00a0c", "a b c"]
    lines = (json.dumps({"id": at, "text": text}) + "\n" for at, text in enumerate(texts))
    (tmp_path / "a.jsonl").write_text("".join(lines))
    substring(tmp_path / "a.jsonl", tmp_path / "out", min_tokens=3).run(HERE)
    assert texts_of(records_in(tmp_path / "out")) == {0: "a b c", 1: "x  y", 2: "  z", 3: "v"}


def test_repeats_can_be_marked(tmp_path: Path, write: Write, records_in: RecordsIn) -> None:
    records = [{"id": 0, "text": "a b c d"}, {"id": 1, "text": "x a b c d y a b c"}, {"id": 2}]
    for name in ("a.jsonl", "a.parquet"):
        source = write(tmp_path / name, records)
        for kind in ("same", "jsonl", "parquet"):
            out = tmp_path / f"{name}-{kind}"
            substring(source, out, min_tokens=3, keep="mark", output_format=kind).run(HERE)
            found = {r["id"]: (r["text"], r["repeated_spans"]) for r in _all_of(out)}
            spans = {at: json.loads(s) if type(s) is str else s for at, (_, s) in found.items()}
            assert spans == {0: [], 1: [[2, 9], [12, 17]], 2: []}
            assert found[1][0] == records[1]["text"]


def _all_of(folder: Path) -> list[Record]:
    found: list[Record] = []
    for path in folder.glob("part-*"):
        if path.suffix == ".parquet":
            found += pq.read_table(path).to_pylist()
        else:
            found += [json.loads(line) for line in path.read_text().splitlines()]
    return [{"text": None, **record} for record in found]


def test_documents_with_too_few_words_left_are_dropped(
    tmp_path: Path, write: Write, records_in: RecordsIn
) -> None:
    texts = ["a b c", "a b c x y", "a b c z", "short", ""]
    source = write(tmp_path / "a.jsonl", [{"id": n, "text": t} for n, t in enumerate(texts)])
    workflow = substring(source, tmp_path / "out", min_tokens=3, min_words=2)
    counts = workflow.run(HERE).metadata
    assert texts_of(records_in(tmp_path / "out")) == {0: "a b c", 1: "x y", 3: "short", 4: ""}
    assert counts == {"documents": 5, "empty": 1, "no_records": 0, "repeated": 1, "occurrences": 3,
                    "changed": 2, "repeated_characters": 10, "emptied": 1}  # fmt: skip


def test_runs_of_three_sentences_are_cut(
    tmp_path: Path, write: Write, records_in: RecordsIn
) -> None:
    same = 'We met. "Was it late?" Nobody knew…'
    texts = [
        f"One came. {same} Then he left.",
        "Another. WE  MET! was it -- LATE?  nobody knew. Good night.",
        "We met. Was it late? Perhaps.",
        "\u6211\u4eec\u3002\u4ed6\u4eec\uff1f\u5979\uff01\u4f60",
        "X. \u6211\u4eec\u3002\u4ed6\u4eec\uff1f\u5979\uff01",
    ]
    source = write(tmp_path / "a.jsonl", [{"id": n, "text": t} for n, t in enumerate(texts)])
    SentenceDeduplicationWorkflow(str(source), str(tmp_path / "out")).run(HERE)
    found = texts_of(records_in(tmp_path / "out"))
    assert found == {**dict(enumerate(texts)), 1: "Another. Good night.", 4: "X."}
    exactly = SentenceDeduplicationWorkflow(str(source), str(tmp_path / "exact"), normalize=False)
    exactly.run(HERE)
    assert texts_of(records_in(tmp_path / "exact"))[1] == texts[1]


def test_frequent_lines_are_cut(tmp_path: Path, write: Write, records_in: RecordsIn) -> None:
    texts = ["Menu\nfirst text\n* * *", "MENU:\n\nsecond text\n* * *\nfooter", "menu\nfooter\nend"]
    source = write(tmp_path / "a.jsonl", [{"id": n, "text": t} for n, t in enumerate(texts)])
    often = LineDeduplicationWorkflow(str(source), str(tmp_path / "out"), min_count=3, keep="none")
    often.run(HERE)
    assert texts_of(records_in(tmp_path / "out")) == {
        0: "first text\n* * *", 1: "second text\n* * *\nfooter", 2: "footer\nend",
    }  # fmt: skip
    LineDeduplicationWorkflow(str(source), str(tmp_path / "first")).run(HERE)
    assert texts_of(records_in(tmp_path / "first")) == {
        0: texts[0], 1: "second text\n* * *\nfooter", 2: "end",
    }  # fmt: skip


def test_invalid_records_are_quarantined_or_copied(tmp_path: Path, records_in: RecordsIn) -> None:
    lines = ['{"id": 0, "text": "a b c"}', "{broken", '{"id": 1, "text": ["a b c"]}', "[1]",
             '{"id": 2}', '{"id": 3, "text": null}', '{"id": 4, "text": 5}',
             '{"id": 5, "text": "a b c \\u0000 d"}']  # fmt: skip
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    result = substring(tmp_path / "a.jsonl", tmp_path / "out", min_tokens=3).run(HERE)
    found = {r["id"]: r.get("text") for r in records_in(tmp_path / "out")}
    assert found == {0: "a b c", 1: ["a b c"], 2: None, 3: None, 4: 5, 5: "\0 d"}
    assert result.metadata["no_records"] == 2
    assert len(result.runs["collect"].quarantined) == 2


def test_repeated_line_costs_one_row_per_block(tmp_path: Path, records_in: RecordsIn) -> None:
    lines = (json.dumps({"id": n, "text": f"all the same\n{n}"}) + "\n" for n in range(50_000))
    (tmp_path / "a.jsonl").write_text("".join(lines))
    result = LineDeduplicationWorkflow(str(tmp_path / "a.jsonl"), str(tmp_path / "out")).run(HERE)
    assert result.metadata["occurrences"] == 50_000
    found = texts_of(records_in(tmp_path / "out"))
    assert found[0] == "all the same\n0"
    assert [found[n] for n in range(1, 50_000)] == [str(n) for n in range(1, 50_000)]
    [repeats] = (tmp_path / "out/.curator/line_deduplication/repeats").glob("part-*")
    assert pq.read_metadata(repeats).num_rows == 1


def test_memory_limits_do_not_change_the_result(
    tmp_path: Path,
    write: Write,
    records_in: RecordsIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = corpus(write, tmp_path / "raw")
    counts = substring(source, tmp_path / "whole").run(HERE).metadata
    for name in ("_MAX_ANCHORS", "_MAX_WINDOWS"):
        monkeypatch.setattr(repeats, name, 100)
    monkeypatch.setattr(windows, "_CHARACTERS", 500)
    assert substring(source, tmp_path / "out").run(HERE).metadata == counts
    assert texts_of(records_in(tmp_path / "out")) == texts_of(records_in(tmp_path / "whole"))
    assert len(list((tmp_path / "out").glob(".curator/*/passages/part-*"))) > 4


def test_passages_within_one_large_document_are_cut(tmp_path: Path, records_in: RecordsIn) -> None:
    words = [f"w{n}" for n in range(100_000)]
    text = " ".join([*words, *words[1000:80_000]])
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": 0, "text": text}) + "\n")
    substring(tmp_path / "a.jsonl", tmp_path / "out").run(HERE)
    assert texts_of(records_in(tmp_path / "out")) == {0: " ".join(words)}


def test_unreadable_file_fails_the_run(tmp_path: Path, write: Write) -> None:
    write(tmp_path / "raw/a.jsonl", [{"text": "x"}])
    (tmp_path / "raw/b.parquet").write_bytes(b"nothing")
    for kind, size in ((SubstringDeduplicationWorkflow, 50), (LineDeduplicationWorkflow, 1)):
        out = tmp_path / f"out{size}"
        with pytest.raises(CuratorError, match=r"b\.parquet: damaged Parquet"):
            kind(str(tmp_path / "raw"), str(out)).run(HERE)
        assert not list(out.glob("part-*"))


def test_all_invalid_options_are_reported(tmp_path: Path, write: Write) -> None:
    source = write(tmp_path / "a.jsonl", [{"txt": "a", "repeated_spans": 1}])
    workflow = substring(source, tmp_path / "out", keep="one", min_tokens=0, min_count=1,
                         token="word", min_words=-1)  # fmt: skip
    with pytest.raises(PipelineError) as caught:
        workflow.run(HERE)
    message = str(caught.value)
    assert "substring_deduplication: keep is 'one' (did you mean none?)" in message
    assert "min_tokens is 0, but must be 1 or more" in message
    assert "min_count is 1, but must be 2 or more" in message
    assert "token is 'word' (did you mean words?)" in message
    assert "min_words is -1" in message
    assert "text_field is 'text', but a.jsonl has no such field" in message
    with pytest.raises(PipelineError, match="has a field 'repeated_spans' already"):
        substring(source, tmp_path / "out", keep="mark", text_field="txt").run(HERE)
    with pytest.raises(PipelineError, match="sentences is 0"):
        SentenceDeduplicationWorkflow(str(source), str(tmp_path), sentences=0).run(HERE)


def test_added_input_gives_the_result_of_a_fresh_run(
    tmp_path: Path, write: Write, records_in: RecordsIn
) -> None:
    source = corpus(write, tmp_path / "raw")
    held = (source / "0.jsonl").rename(tmp_path / "0.jsonl")
    workflow = substring(source, tmp_path / "out", partitions=2)
    workflow.run(HERE)
    assert workflow.run(HERE).did_nothing
    held.rename(source / "0.jsonl")
    counts = workflow.run(HERE).metadata
    fresh = substring(source, tmp_path / "fresh", partitions=2).run(HERE).metadata
    assert counts == fresh
    assert texts_of(records_in(tmp_path / "out")) == texts_of(records_in(tmp_path / "fresh"))
    with pytest.raises(ResumeError, match="rule"):
        substring(source, tmp_path / "out", partitions=2, min_tokens=20).run(HERE)


def test_workflows_are_registered() -> None:
    kinds = (SubstringDeduplicationWorkflow, SentenceDeduplicationWorkflow,
             LineDeduplicationWorkflow)  # fmt: skip
    names = ("dedup.substring", "dedup.sentences", "dedup.lines")
    assert [plugins().workflows.load(name) for name in names] == list(kinds)


def test_killed_run_resumes_with_the_same_result(
    tmp_path: Path, write: Write, records_in: RecordsIn, killed_at: KilledAt
) -> None:
    source = corpus(write, tmp_path / "raw", files=6, rows=60)
    substring(source, tmp_path / "whole", partitions=2).run(HERE)
    workflow = substring(source, tmp_path / "out", input_blocksize=20_000, partitions=2)
    assert killed_at(workflow, ("anchors/part-*", "passages/part-*", "repeats/part-*")) > 1
    result = workflow.run(HERE)
    assert texts_of(records_in(tmp_path / "out")) == texts_of(records_in(tmp_path / "whole"))
    assert not list(tmp_path.rglob("*.staged"))
    assert "Repeated passages were cut out" in Path(str(result.report)).read_text()
