"""Text of any origin sends no commands to terminals or logs."""

import io
import logging
from unittest.mock import patch

import pytest
from curator_core.logs import log, visible
from curator_core.run.progress_log import ProgressLog
from curator_report.tables import console, plain_table
from rich.text import Text

HOSTILE = "x\x1b]0;title\a\x1b[2J\r\x9b1m\u202etxt.\u2066\x00\x7f\udc80"
SHOWN = "x[U+001B]]0;title[U+0007][U+001B][2J[U+000D][U+009B]1m[U+202E]txt.[U+2066][U+0000][U+007F]"


def test_control_characters_are_visible() -> None:
    assert visible(HOSTILE) == f"{SHOWN}\ufffd"


@pytest.mark.parametrize("text", ["a b", "a\n\tb", "\u00e9 \u4e2d \U0001f469\u200d\U0001f680", ""])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_tables_and_texts_send_no_commands_to_a_terminal() -> None:
    made = console()
    made.file, made._force_terminal, made.width = io.StringIO(), True, 300
    table = plain_table(HOSTILE)
    table.add_row(HOSTILE)
    table.add_row(Text(HOSTILE, style="red"))
    made.print(table, HOSTILE, Text(HOSTILE), style="bold")
    message = made.file.getvalue()
    assert "\x1b]0;" not in message
    assert "\x1b[2J" not in message
    assert message.count("[U+001B]") >= 5


@pytest.mark.parametrize("name", ["curator_core", "curator_core.dedup"])
def test_log_lines_send_no_commands_to_a_terminal(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "curator_core"):
        log(name).info("cannot read %s", HOSTILE)
    assert caplog.messages == [f"cannot read {visible(HOSTILE)}"]


def test_a_line_with_wrong_arguments_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    with patch.object(logging, "raiseExceptions", False):
        log("curator_core.of_a_test").warning("%s and %s", "one")


def test_every_logger_of_core_is_one_of_these() -> None:
    logger = logging.getLogger("curator_core")
    assert ProgressLog
    assert any(getattr(one, "__module__", "") == "curator_core.logs" for one in logger.filters)
