import gzip
import math
import sys
from pathlib import Path

import pytest
from curator_core.errors import InputError, PluginError
from curator_text import DocumentText, PerplexityFilter, UnigramLogProbFilter

ARPA = """\\data\\
ngram 1=4
ngram 2=1

\\1-grams:
-1.0\t<unk>
-99\t<s>\t0
-0.5\t</s>
-0.3\tboat\t-0.2

\\2-grams:
-0.1\t<s> boat

\\end\\
"""


def test_score_is_the_mean_logarithm_of_shares() -> None:
    rule = UnigramLogProbFilter({"The": 3, "boat": 1})
    assert rule.score(DocumentText("the BOAT")) == pytest.approx(
        (math.log(0.75) + math.log(0.25)) / 2
    )
    assert rule.score(DocumentText("the zebra")) == pytest.approx(
        (math.log(0.75) + math.log(1e-9)) / 2
    )
    assert rule.passes("the boat")
    assert not rule.passes("a zebra")
    assert rule.reason == "mean log-probability of words under -10"


@pytest.mark.parametrize("content", ["the\t3\nboat\t1\n", "word,count\nthe,3\n\nboat,1"])
@pytest.mark.parametrize("name", ["counts.tsv", "counts.csv.gz"])
def test_table_is_read_from_a_file(content: str, name: str, tmp_path: Path) -> None:
    data = content.encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    rule = UnigramLogProbFilter(str(path))
    assert not list(rule.check())
    assert rule.score(DocumentText("the")) == pytest.approx(math.log(0.75))


def test_line_without_a_count_is_named_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "counts.tsv"
    path.write_text("the\t3\nboat one\n")
    with pytest.raises(
        InputError, match=r"counts.tsv, line 2: 'boat one' is not a word and its count"
    ):
        UnigramLogProbFilter(str(path)).score(DocumentText("a"))
    path = tmp_path / "empty.tsv"
    path.write_text("")
    with pytest.raises(InputError, match=r"empty.tsv has no words with counts"):
        UnigramLogProbFilter(str(path)).score(DocumentText("a"))


def test_missing_option_is_a_problem_of_the_plan(tmp_path: Path) -> None:
    [problem] = UnigramLogProbFilter("none.tsv").check()
    assert problem == "counts: no file none.tsv"
    [problem] = UnigramLogProbFilter({}).check()
    assert problem.startswith("counts is empty")
    [problem] = PerplexityFilter("none.arpa").check()
    assert problem == "model: no file none.arpa"


def test_perplexity_is_that_of_the_model(tmp_path: Path) -> None:
    pytest.importorskip("kenlm")
    path = tmp_path / "tiny.arpa"
    path.write_text(ARPA)
    rule = PerplexityFilter(str(path), 3.0)
    one_line = 10 ** ((0.1 + 0.2 + 0.5) / 2)  # <s> boat, then </s> with what backing off costs
    assert rule.score(DocumentText("boat")) == pytest.approx(one_line, rel=1e-4)
    assert rule.score(DocumentText("boat\n\n boat ")) == pytest.approx(one_line, rel=1e-4)
    assert rule.score(DocumentText("BOAT")) > one_line
    assert PerplexityFilter(str(path), lower=True).score(DocumentText("BOAT")) == pytest.approx(
        one_line, rel=1e-4
    )
    assert rule.passes("boat")
    assert not rule.passes("zebra")
    for text in ("\x00", "\ud800", "e" + "\u0301" * 1000, "\u597d" * 1000):
        assert rule.score(DocumentText(text)) > 1


def test_file_that_is_not_a_model_is_named(tmp_path: Path) -> None:
    pytest.importorskip("kenlm")
    path = tmp_path / "broken.arpa"
    path.write_text("nothing of the kind\n" * 10)
    with pytest.raises(InputError, match=r"broken.arpa is not a model that KenLM can read"):
        PerplexityFilter(str(path)).score(DocumentText("a"))


def test_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kenlm", None)
    with pytest.raises(PluginError, match=r"kenlm, .*pip install 'curator-text\[perplexity\]'"):
        PerplexityFilter("absent.arpa").score(DocumentText("a"))
