"""Benchmark text is found, reported and removed."""

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_core import (
    DocumentBatch,
    InputError,
    JsonlReader,
    JsonlWriter,
    LocalExecutor,
    Pipeline,
    PipelineError,
)
from curator_core.errors import CuratorError
from curator_core.testing import check_stage, run_stages
from curator_text import Decontaminator
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

QUESTION = "Which of these planets is the third from the sun and has exactly one moon?"
SHORT = "Name the capital of the largest country in Africa"


@pytest.fixture
def quiz(tmp_path: Path) -> str:
    path = tmp_path / "quiz.jsonl"
    rows = [
        {"id": 1, "question": QUESTION, "choices": ["Earth", "Mars"]},
        {"id": 2, "question": SHORT, "choices": ["Algiers"]},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def decontaminated(texts: list[Any], benchmarks: Any, tmp_path: Path, **options: Any) -> Any:
    stage = Decontaminator(benchmarks, index_path=str(tmp_path / "index"), **options)
    run = run_stages([stage], [DocumentBatch(pa.table({"text": pa.array(texts, pa.string())}))])
    rows = [row for task in run.outputs for row in task.to_pylist()]  # type: ignore[attr-defined]
    return rows, run.counts.reasons


def kept(texts: list[Any], benchmarks: Any, tmp_path: Path, **options: Any) -> list[Any]:
    return [row["text"] for row in decontaminated(texts, benchmarks, tmp_path, **options)[0]]


def test_case_punctuation_and_line_breaks_are_ignored(quiz: str, tmp_path: Path) -> None:
    hidden = QUESTION.upper().replace(" ", "\n- ").replace("SUN", "*SUN*,")
    texts = [f"before {hidden} after", "a clean text", None, ""]
    rows, reasons = decontaminated(texts, {"planets": quiz}, tmp_path)
    assert [row["text"] for row in rows] == ["a clean text", None, ""]
    assert reasons == {"holds text of planets": 1}


def test_match_needs_ngram_size_words(quiz: str, tmp_path: Path) -> None:
    words = QUESTION.split()
    texts = [" ".join(words[:13]), " ".join(words[:12]), " ".join([*words[:6], "x", *words[6:]])]
    assert kept(texts, [quiz], tmp_path) == texts[1:]
    assert kept(texts, [quiz], tmp_path, ngram_size=6) == []


def test_short_example_must_match_as_a_whole(quiz: str, tmp_path: Path) -> None:
    texts = [f"quiz: {SHORT}? Easy", SHORT.replace("Africa", "Asia"), SHORT.rpartition(" ")[0]]
    assert kept(texts, [quiz], tmp_path) == texts[1:]
    assert kept(texts, [quiz], tmp_path, shortest=10) == texts


def test_max_share_allows_some_benchmark_text(quiz: str, tmp_path: Path) -> None:
    texts = [QUESTION, f"{QUESTION} " + "word " * 100]
    assert kept(texts, [quiz], tmp_path, max_share=0.5) == texts[1:]
    assert kept(texts, [quiz], tmp_path, max_share=0.14) == texts[1:]
    assert kept(texts, [quiz], tmp_path, max_share=0.12) == []


def test_cut_removes_benchmark_text_and_margin(quiz: str, tmp_path: Path) -> None:
    before, after = "alpha beta " * 10, "gamma delta " * 10
    text = f"{before}{QUESTION} {after}"
    options: dict[str, Any] = {"action": "cut", "min_piece": 0}
    [whole] = kept([text], [quiz], tmp_path, margin=0, **options)
    assert whole == f"{before.strip()}\n\n{after.strip()}"
    [less] = kept([text], [quiz], tmp_path, margin=8, **options)
    assert less == f"{before.strip().removesuffix(' alpha beta')}\n\n{after.strip()[12:]}"
    rows, reasons = decontaminated([text], [quiz], tmp_path, action="cut")
    assert rows == []
    assert reasons == {"holds little but text of quiz": 1}


def test_text_with_too_many_cuts_is_dropped(quiz: str, tmp_path: Path) -> None:
    text = " and here is another thing altogether: ".join([QUESTION] * 3)
    options: dict[str, Any] = {"action": "cut", "margin": 0, "min_piece": 0}
    assert len(kept([text], [quiz], tmp_path, max_cuts=3, **options)) == 1
    _, reasons = decontaminated([text], [quiz], tmp_path, max_cuts=2, **options)
    assert reasons == {"holds text of quiz in too many places": 1}


def test_common_and_ignored_ngrams_do_not_match(tmp_path: Path) -> None:
    intro = "Read the text below and then answer the question that follows it with one word"
    path = tmp_path / "exam.txt"
    questions = [
        "how many legs have seven spiders in a room of nine flies and a bee that sits",
        "who was it that first walked over the bridge in the winter of that year alone",
    ]
    path.write_text("\n\n".join(f"{intro}\n{question}" for question in questions))
    texts = [intro, questions[0]]
    assert kept(texts, [str(path)], tmp_path) == []
    assert kept(texts, [str(path)], tmp_path, max_examples=1) == [intro]
    assert kept(texts, [str(path)], tmp_path, ignore=[intro]) == [intro]


def test_hits_field_lists_the_matches(quiz: str, tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    pq.write_table(
        pa.table({"passage": ["one two three four five six seven eight nine ten"]}), other
    )
    texts = [f"x {QUESTION}", "y", "One two three four five six seven eight nine, ten!"]
    stage = Decontaminator(
        [quiz, str(other)], hits_field="hits", index_path=str(tmp_path / "index")
    )
    run = run_stages([stage], [DocumentBatch.from_pylist([{"text": text} for text in texts])])
    assert run.counts.reasons == {"holds text of quiz": 1, "holds text of other": 1}
    assert run.outputs[0].to_pylist() == [{"text": "y", "hits": []}]  # type: ignore[attr-defined]
    [_, quizzed, _] = stage.process(DocumentBatch.from_pylist([{"text": t} for t in texts]))
    [row] = quizzed.records().to_pylist()  # type: ignore[union-attr, operator]
    assert row["hits"][0] == {
        "benchmark": "quiz",
        "example": "quiz.jsonl:1",
        "ngram": "which of these planets is the third from the sun and has exactly",
    }


def test_benchmark_files_of_every_format(tmp_path: Path) -> None:
    folder = tmp_path / "bench"
    folder.mkdir()
    texts = {kind: f"{kind} " + " ".join(f"{kind}{n}" for n in range(12)) for kind in "abcd"}
    (folder / "a.txt").write_text(f"other\r\n\r\n{texts['a']}")
    with gzip.open(folder / "b.jsonl.gz", "wt") as file:
        file.write(json.dumps({"nested": {"deep": [{"text": texts["b"]}]}}))
    pq.write_table(pa.table({"x": pa.array([[texts["c"]]])}), folder / "c.parquet")
    with gzip.open(folder / "d.txt.gz", "wt") as file:
        file.write(texts["d"])
    assert kept([*texts.values(), "e"], {"all": str(folder)}, tmp_path) == ["e"]


def test_only_named_fields_are_indexed(quiz: str, tmp_path: Path) -> None:
    assert kept([QUESTION], [quiz], tmp_path, fields=["question"]) == []
    with pytest.raises(InputError, match=r"has no field 'qestion' .did you mean question?"):
        Decontaminator([quiz], fields=["qestion"], index_path=str(tmp_path)).index  # noqa: B018


def test_characters_are_words_in_scripts_without_spaces(tmp_path: Path) -> None:
    path = tmp_path / "zh.txt"
    path.write_text("下面哪一个行星是离太阳第三近的并且只有一个月亮")
    texts = ["请问下面哪一个行星是离太阳第三近的并且只有两个", "离太阳第三近的行星"]
    assert kept(texts, [str(path)], tmp_path) == texts[1:]


def test_composed_and_decomposed_letters_match(tmp_path: Path) -> None:
    path = tmp_path / "fr.txt"
    path.write_text("été " * 13)
    assert kept(["e\u0301te\u0301 " * 13], [str(path)], tmp_path) == []


def test_damaged_rows_are_quarantined_alone(quiz: str, tmp_path: Path) -> None:
    bad = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"\xffa")]
    )
    stage = Decontaminator([quiz], index_path=str(tmp_path / "index"))
    [good, rejected] = stage.process(DocumentBatch(pa.table({"text": bad})))
    assert good.to_pylist() == [{"text": "a"}]  # type: ignore[union-attr]
    assert "UnicodeDecodeError" in rejected.reason  # type: ignore[union-attr]


WORDS = st.lists(st.sampled_from("abc"), max_size=30)


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(st.lists(WORDS, min_size=1, max_size=4), st.lists(WORDS, max_size=6), st.integers(2, 5))
def test_agrees_with_a_naive_search(
    tmp_path: Path, examples: list[list[str]], documents: list[list[str]], size: int
) -> None:
    path = tmp_path / "examples.txt"
    path.write_text("\n\n".join(" ".join(words) for words in [*examples, ["z"] * size]))
    grams = {
        tuple(words[at : at + min(size, len(words))])
        for words in examples
        if len(words) >= 2
        for at in range(max(1, len(words) - size + 1))
    }
    clean = [
        " ".join(words)
        for words in documents
        if not any(
            tuple(words[at : at + len(gram)]) == gram for gram in grams for at in range(len(words))
        )
    ]
    texts = [" ".join(words) for words in documents]
    found = kept(texts, [str(path)], tmp_path, ngram_size=size, shortest=2) if texts else []
    assert found == clean


def test_workers_share_one_index(quiz: str, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    for place in range(4):
        rows = [{"text": QUESTION}, {"text": f"clean {place}"}]
        (raw / f"{place}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    stage = Decontaminator({"quiz": quiz}, index_path=str(tmp_path / "index"))
    stages = [JsonlReader(str(raw)), stage, JsonlWriter(str(tmp_path / "out"))]
    result = Pipeline("clean", stages=stages).run(LocalExecutor(workers=2))
    assert result.stages["decontaminator"].reasons == {"holds text of quiz": 4}
    assert len(list((tmp_path / "index").iterdir())) == 1


def test_changed_files_get_a_new_index(quiz: str, tmp_path: Path) -> None:
    assert kept([QUESTION], [quiz], tmp_path) == []
    Path(quiz).write_text(json.dumps({"question": "w " * 20}) + "\n")
    assert kept([QUESTION], [quiz], tmp_path) == [QUESTION]


def test_pickled_stage_has_no_index(quiz: str, tmp_path: Path) -> None:
    stage = Decontaminator([quiz], index_path=str(tmp_path / "index"))
    assert stage.index.info.too_short == {"quiz": 2}
    again = pickle.loads(pickle.dumps(stage))
    assert again.process(DocumentBatch.from_pylist([{"text": QUESTION}]))[0].num_items == 0


def test_folder_writable_by_others_is_refused(quiz: str, tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(CuratorError, match=r"open is writable by other users.*index_path"):
        Decontaminator([quiz], index_path=str(folder)).index  # noqa: B018


def test_benchmarks_without_long_examples_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text('{"answer": "B"}\n')
    with pytest.raises(InputError, match="no benchmark example has 8 words"):
        Decontaminator([str(path)], index_path=str(tmp_path / "index")).index  # noqa: B018
    path.write_text('{"answer": \n')
    with pytest.raises(InputError, match=r"labels.jsonl"):
        Decontaminator([str(path)], index_path=str(tmp_path / "index")).index  # noqa: B018


def test_all_invalid_options_are_reported_together(quiz: str, tmp_path: Path) -> None:
    stage = Decontaminator(
        [quiz], ngram_size=0, shortest=0, max_share=1, action="dorp", margin=-1, max_examples=0,  # type: ignore[arg-type]
        hits_field="text",
    )  # fmt: skip
    assert list(stage.check()) == [
        "ngram_size is 0, but must be 1 or more",
        "shortest is 0, but must be 1 or more",
        "margin is -1, but must be 0 or more",
        "max_examples is 0, but must be 1 or more",
        "max_share is 1, but must be at least 0 and below 1",
        "action is 'dorp' (did you mean drop?)",
        "hits_field is 'text', the column that holds the text",
    ]
    assert list(Decontaminator([]).check()) == ["benchmarks is empty; name the files to look for"]
    pipeline = Pipeline("p", stages=[Decontaminator([str(tmp_path / "nowhere.jsonl")])])
    with pytest.raises(PipelineError, match=r"benchmarks: no files match .*nowhere.jsonl"):
        pipeline.build()


def test_stage_fulfills_the_stage_contract(quiz: str, tmp_path: Path) -> None:
    stage = Decontaminator([quiz], hits_field="hits", index_path=str(tmp_path / "index"))
    check_stage(stage, DocumentBatch.from_pylist([{"text": QUESTION}, {"text": "clean"}]))


def test_single_path_is_accepted(quiz: str, tmp_path: Path) -> None:
    rows, reasons = decontaminated([QUESTION, "a clean text"], quiz, tmp_path)
    assert [row["text"] for row in rows] == ["a clean text"]
    assert reasons == {"holds text of quiz": 1}
