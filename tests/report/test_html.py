"""HTML from templates: values are escaped, secrets are masked, and missing values are errors."""

from html import unescape
from pathlib import Path

import pytest
from curator_core.model import secrets
from curator_core.testing import modules_loaded_by
from curator_report.html import facts_table, figures_table, page, render_part, section
from curator_report.page import render
from curator_report.run_record import read_run
from reportkit import write_run

PACKAGE = Path(__file__).parents[2] / "packages" / "report"
HOSTILE = "<script>alert(\"1\") & '2'</script>"


class TestHelpersOfOtherPackages:
    def test_facts_are_plain_text(self) -> None:
        table = facts_table([(HOSTILE, HOSTILE)])
        assert "<script" not in table
        assert unescape(table).count(HOSTILE) == 2

    def test_cells_of_figures_are_html(self) -> None:
        table = figures_table(("a <name>", "n"), ([f"<b>{n}</b>", "1"] for n in range(2)))
        assert table == (
            '<table class="figures"><tr><th>a &lt;name&gt;</th><th>n</th></tr>'
            "<tr><td><b>0</b></td><td>1</td></tr><tr><td><b>1</b></td><td>1</td></tr></table>"
        )

    def test_empty_parts_are_nothing(self) -> None:
        assert [facts_table([]), figures_table(("a",), []), section("Title", "")] == ["", "", ""]

    def test_parts_are_plain_strings_which_can_be_joined(self) -> None:
        assert facts_table([("a", "b")]) + "<p>" == (
            "<table><tr><th>a</th><td>b</td></tr></table><p>"
        )

    def test_a_page_has_the_title_as_text_and_the_body_as_html(self) -> None:
        text = page(HOSTILE, section("A &amp; B", "<p>body</p>"), ".mine > p { color: red }")
        assert "<script" not in text
        assert "<h2>A &amp; B</h2><p>body</p>" in text
        assert ".mine > p { color: red }" in text


class TestSecrets:
    @pytest.mark.parametrize("value", ["hunter2hunter2", "a&b<c>'d'\"e\""])
    def test_are_masked_wherever_they_are(
        self, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(secrets, "_known", {})
        secrets.remember(value, "${secret:KEY}")
        run = write_run(tmp_path / "run", stages=1, events=1, command=["curate", value])
        text = render(read_run(run, in_short=True))
        secrets._pattern.cache_clear()
        assert value not in unescape(text)
        assert "${secret:KEY}" in text

    def test_credentials_in_signed_urls_are_masked(self) -> None:
        url = "https://user:pass@host/file?a=1&sig=abcdef"
        text = unescape(facts_table([("url", url)]))
        assert "pass" not in text
        assert "abcdef" not in text

    def test_are_masked_in_the_html_of_other_packages(self) -> None:
        assert "pass" not in page("title", "<p>https://user:pass@host/</p>")


def test_a_missing_value_is_an_error() -> None:
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError, match="has no attribute"):
        render_part("plots", "histogram", object())


def test_importing_the_package_loads_no_template_engine() -> None:
    code = "import curator_report, curator_report.page, curator_report.notebook"
    assert "jinja2" not in modules_loaded_by(code)
