import pytest
from curator_core import DocumentBatch
from curator_core.testing import check_stage, run_stage
from curator_text import PiiFilter, PiiFinder, PiiRedactor

TEXT = "Ask 好 bob@example.org or 4111 1111 1111 1111 at 10.0.0.1"
ROWS = [{"text": TEXT}, {"text": "nothing here"}, {"text": None}, {"text": ""}]


@pytest.mark.parametrize("stage", [PiiFinder(), PiiRedactor(), PiiFilter(score_field="n")])
def test_stage_fulfills_the_stage_contract(stage: PiiFinder | PiiRedactor | PiiFilter) -> None:
    check_stage(stage, DocumentBatch.from_pylist(ROWS))


def test_finder_adds_matches_as_a_column() -> None:
    [output] = run_stage(PiiFinder(), DocumentBatch.from_pylist(ROWS))
    found = output.data.column("pii").to_pylist()
    assert found[1:] == [[], None, []]
    assert [(one["kind"], TEXT[one["start"] : one["end"]]) for one in found[0]] == [
        ("email", "bob@example.org"),
        ("credit_card", "4111 1111 1111 1111"),
        ("ip", "10.0.0.1"),
    ]


def test_redactor_replaces_matches() -> None:
    assert PiiRedactor().rewrite(TEXT) == "Ask 好 <EMAIL> or <CREDIT_CARD> at <IP>"
    assert PiiRedactor(["email"], replacement="").rewrite(TEXT) == TEXT.replace(
        "bob@example.org", ""
    )
    assert PiiRedactor(public_ips_only=True).rewrite(TEXT).endswith(" at 10.0.0.1")
    assert PiiRedactor(replacement="\\1{kind}").rewrite("a@b.org") == "\\1EMAIL"


def test_filter_drops_texts_with_matches() -> None:
    assert not PiiFilter().passes(TEXT)
    assert PiiFilter().passes("nothing here")
    assert PiiFilter(max_found=3).passes(TEXT)
    assert PiiFilter(["phone"]).passes(TEXT)
    assert PiiFilter(["email", "ip"]).reason == "over 0 of email, ip"


def test_invalid_options_are_problems_of_the_plan() -> None:
    assert list(PiiFinder("email").check()) == [  # type: ignore[arg-type]
        "kinds is the text 'email', but must be a list: [email]"
    ]
    [problem] = PiiRedactor([]).check()
    assert "kinds is empty" in problem
    assert "iban, credit_card, email, ip, phone" in problem
    [problem] = PiiFinder(pii_field="text").check()
    assert "pii_field is 'text'" in problem
    [problem] = PiiFinder(["name"]).check()  # type: ignore[list-item]
    assert "'name'" in problem
    assert "credit_card, email, iban, ip, phone" in problem
