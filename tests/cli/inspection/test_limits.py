"""Limits: round numbers that drop about the wanted share, and say what they drop."""

import pytest
from curator_cli.inspection.duplicates import find_duplicates
from curator_cli.inspection.limits import Bound, LimitRule, limit_step
from curator_cli.inspection.proposal import Option, Proposal, Step, yaml_value
from curator_cli.inspection.quantiles import finite, lower_limit, percent, upper_limit
from curator_core.plugins.registry import plugins
from hypothesis import given
from hypothesis import strategies as st

Values = st.lists(st.decimals(-1000, 1000, places=6).map(float), min_size=1, max_size=300)


@given(Values, st.floats(0.01, 0.3))
def test_a_limit_drops_no_more_than_its_share(values: list[float], share: float) -> None:
    ordered = finite(values)
    low, high = lower_limit(ordered, share), upper_limit(ordered, share)
    if low is not None:
        assert 0 < sum(value < low for value in ordered) <= share * len(ordered)
    if high is not None:
        assert 0 < sum(value > high for value in ordered) <= share * len(ordered) + 1


def test_limits_are_round() -> None:
    values = [float(value) for value in range(1, 1001)]
    assert lower_limit(values, 0.0537, whole=True) == 54
    assert upper_limit(values, 0.0123, whole=True) == 990
    assert upper_limit([0.1234] * 50 + [0.1876] * 50 + [0.987], 0.02) == 0.19


def test_equal_values_have_no_limits() -> None:
    assert lower_limit([3.0] * 50, 0.05) is None
    assert upper_limit([3.0] * 50, 0.05) is None
    assert lower_limit([], 0.05) is None


def test_unknown_values_are_ignored() -> None:
    assert finite([None, float("nan"), float("inf"), 2, 1]) == [1.0, 2.0]


RULE = LimitRule(
    "text.symbols_to_words_filter",
    (Bound("max_symbol_to_word_ratio", "high", 0.02, "have more"),),
)


def test_the_usual_limit_is_used_where_the_sample_has_none() -> None:
    step = limit_step(plugins(), RULE, [0.0] * 95 + [0.5] * 5, "documents")
    assert step
    [option] = step.options
    assert (option.value, option.comment) == (0.1, "the usual limit: 5 % have more")


def test_a_usual_limit_that_would_drop_much_is_not_used() -> None:
    assert limit_step(plugins(), RULE, [0.0] * 50 + [0.5] * 50, "documents") is None


def test_no_default_stays_unsaid() -> None:
    rule = LimitRule(
        "text.word_count_filter",
        (
            Bound("min_words", "low", 0.05, "are shorter"),
            Bound("max_words", "high", 0.01, "are longer"),
        ),
    )
    step = limit_step(plugins(), rule, [3.0] * 199 + [700.0], "documents")
    assert step
    assert {option.name: option.value for option in step.options} == {
        "min_words": 3,
        "max_words": 3,
    }


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0, "0 %"), (0.0004, "< 0.1 %"), (0.034, "3.4 %"), (0.05, "5 %"), (0.456, "46 %")],
)
def test_shares(share: float, shown: str) -> None:
    assert percent(share) == shown


def test_copies_and_near_copies_are_counted() -> None:
    long = " ".join(f"word{n}" for n in range(200))
    found = find_duplicates([long, long.upper(), f"{long} and more", "something else", "", "  "])
    assert (found.texts, found.exact, found.near) == (4, 1, 1)


@pytest.mark.parametrize(
    "value", ["plain", "a/b*.jsonl", "no", "a: b", "# c", "", "1.5", "-x", None, 3, 0.5, True,
              ["a", "b c"], "\u00fc\u2028"]
)  # fmt: skip
def test_values_survive_yaml(value: object) -> None:
    import yaml

    assert yaml.safe_load(f"x: {yaml_value(value)}") == {"x": value}


def test_names_of_files_cannot_add_lines() -> None:
    import yaml

    text = "a\nsteps: [evil]\r\u2028x"
    proposal = Proposal("a", text, Step("r"), [Step("s", [Option("o", text, text)], text)],
                        Step("w"), [(text, text)], command=text)  # fmt: skip
    data = yaml.safe_load(proposal.to_yaml("a.yaml"))
    assert data["steps"] == [{"stage": "s", "o": text}]


def test_comments_never_become_values() -> None:
    import yaml

    step = Step(
        "text.word_count_filter",
        [Option("min_words", 5, "few"), Option("text_field", "x" * 60, "y")],
    )
    proposal = Proposal("a", "About.", Step("r", [Option("file_paths", "d")]), [step], Step("w"))
    data = yaml.safe_load(proposal.to_yaml("a.yaml"))
    assert data["steps"] == [
        {"stage": "text.word_count_filter", "min_words": 5, "text_field": "x" * 60}
    ]
