"""Ray Data's log on the console, and its settings for a job."""

import io
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from curator_core import PipelineError
from curator_ray_data.context import check_context, context_for, log_to_file_only
from curator_ray_data.options import RayDataOptions


class TestLog:
    @pytest.fixture
    def console(self) -> Iterator[io.StringIO]:
        logger, console = logging.getLogger("ray.data"), io.StringIO()
        level, handler = logger.level, logging.StreamHandler(console)
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        yield console
        logger.setLevel(level)
        logger.removeHandler(handler)

    @pytest.mark.parametrize(("verbose", "shown"), [(False, ""), (True, "a plan\n")])
    def test_is_shown_only_on_request(
        self, verbose: bool, shown: str, console: io.StringIO
    ) -> None:
        with log_to_file_only(verbose=verbose):
            logging.getLogger("ray.data.dataset").info("a plan")
        assert console.getvalue() == shown

        logging.getLogger("ray.data.dataset").info("later")
        assert console.getvalue() == f"{shown}later\n"

    def test_files_stay_complete(self, tmp_path: Path) -> None:
        logger = logging.getLogger("ray.data")
        handler = logging.FileHandler(tmp_path / "log")
        logger.addHandler(handler)
        try:
            with log_to_file_only(verbose=False):
                logger.error("an error")
        finally:
            logger.removeHandler(handler)
            handler.close()
        assert (tmp_path / "log").read_text() == "an error\n"

    def test_stays_hidden_while_one_of_two_runs_remains(self, console: io.StringIO) -> None:
        first, second = log_to_file_only(verbose=False), log_to_file_only(verbose=False)
        first.__enter__()
        with second:
            first.__exit__(None, None, None)
            logging.getLogger("ray.data").error("an error")
        assert console.getvalue() == ""

        logging.getLogger("ray.data").error("later")
        assert console.getvalue() == "later\n"

    def test_errors_of_lost_blocks_are_collected_without_their_frames(self) -> None:
        with log_to_file_only(verbose=False) as errors:
            try:
                raise ValueError("lost")
            except ValueError:
                logging.getLogger("ray.data").exception("a block was lost")

        [error] = errors.errors
        assert str(error) == "lost"
        assert error.__traceback__ is None


class TestSettings:
    @pytest.fixture(autouse=True)
    def ray_data(self) -> None:
        pytest.importorskip("ray.data")

    def test_wrong_and_reserved_fields_are_refused(self) -> None:
        check_context({"read_op_min_num_blocks": 5})
        with pytest.raises(PipelineError) as error:
            check_context({"read_op_min_num_block": 5, "max_errored_blocks": 0})

        message = str(error.value)
        assert "no field 'read_op_min_num_block' (did you mean read_op_min_num_blocks?)" in message
        assert "'max_errored_blocks'" in message

    def test_are_restored(self) -> None:
        from ray.data import DataContext

        options = RayDataOptions(
            preserve_order=True,
            target_max_block_size=1 << 20,
            resource_limits={"cpu": 1},
            context={"read_op_min_num_blocks": 7},
        )
        with warnings.catch_warnings():  # it warns of its own defaults, the first time
            warnings.simplefilter("ignore")
            current = DataContext.get_current()
        before = dict(vars(current))
        with context_for(options):
            assert current.execution_options.preserve_order
            assert current.execution_options.resource_limits.cpu == 1
            assert current.target_max_block_size == 1 << 20
            assert current.read_op_min_num_blocks == 7
            assert current.max_errored_blocks == -1

        assert dict(vars(current)) == before
