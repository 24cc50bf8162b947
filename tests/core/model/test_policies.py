"""Error policies, and the failure budget of a run."""

import pytest
from curator_core import ErrorPolicy, FailureBudget


class TestErrorPolicy:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"on_error": "ignore"}, "on_error is 'ignore', but must be one of fail, quarantine, "),
            ({"retries": -1}, "retries is -1, but must be 0 or more"),
            ({"timeout_s": 0}, "timeout_s is 0, but must be more than 0"),
        ],
    )
    def test_refuses_impossible_values(self, options: dict[str, object], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            ErrorPolicy(**options)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("error", "retries"),
        [
            (TimeoutError("slow"), 2),
            (ConnectionResetError("gone"), 2),
            (OSError(5, "input/output error"), 2),
            (FileNotFoundError("no file"), 0),
            (PermissionError("no"), 0),
            (IsADirectoryError("a folder"), 0),
            (ValueError("bad"), 0),
            (RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"), 1),
            (RuntimeError("bad"), 0),
        ],
    )
    def test_retries_only_temporary_errors_by_default(self, error: Exception, retries: int) -> None:
        assert ErrorPolicy().retries_for(error) == retries

    def test_repeats_any_error_as_often_as_configured(self) -> None:
        assert ErrorPolicy(retries=3).retries_for(ValueError("bad")) == 3
        assert ErrorPolicy(retries=0).retries_for(TimeoutError("slow")) == 0


class TestFailureBudget:
    @pytest.mark.parametrize("limit", [-1, -0.1, 1.1])
    def test_refuses_a_limit_that_is_neither_count_nor_share(self, limit: float) -> None:
        with pytest.raises(ValueError, match=r"must be a count .* or a share"):
            FailureBudget(limit)

    @pytest.mark.parametrize("limit", [0, 0.0, 0.5, 1.0, 7, None])
    def test_takes_counts_shares_and_no_limit(self, limit: float | None) -> None:
        assert FailureBudget(limit).max_failures == limit

    @pytest.mark.parametrize(
        ("limit", "failed", "seen", "exceeded"),
        [
            (0.1, 10, 100, False),
            (0.1, 11, 100, True),
            (0.1, 99, 99, False),
            (0.0, 1, 100, True),
            (0.0, 1, 2, True),
            (1.0, 100, 100, False),
            (5, 100, 100, False),
            (None, 100, 100, False),
        ],
    )
    def test_checks_a_share_only_after_enough_tasks(
        self, limit: float | None, failed: int, seen: int, exceeded: bool
    ) -> None:
        assert FailureBudget(limit).is_exceeded(failed, seen) is exceeded

    @pytest.mark.parametrize(
        ("limit", "failed", "seen", "exceeded"),
        [
            (0.1, 0, 0, False),
            (0.1, 5, 10, False),
            (0.1, 6, 10, True),
            (0.1, 11, 100, True),
            (0.7, 6, 10, False),
            (1.0, 10, 10, False),
            (0.0, 1, 10, True),
            (5, 4, 5, False),
            (5, 2, 2, True),
            (None, 10, 10, False),
        ],
    )
    def test_at_the_end_small_numbers_count_too(
        self, limit: float | None, failed: int, seen: int, exceeded: bool
    ) -> None:
        assert FailureBudget(limit).is_exceeded_at_the_end(failed, seen) is exceeded
