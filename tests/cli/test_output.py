"""Output of commands: text for people, JSON for programs, log lines on stderr."""

import logging

from curator_cli.output import logged


def test_the_log_level_of_a_command_does_not_outlive_it() -> None:
    log = logging.getLogger("curator_core")
    with logged(logging.INFO):
        assert log.isEnabledFor(logging.INFO)
    assert not log.isEnabledFor(logging.INFO)
