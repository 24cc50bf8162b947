"""Options are checked, and have the same names in a config."""

from typing import Any

import pytest
from curator_core import PipelineError
from curator_ray_data.executor import RayDataExecutor
from curator_ray_data.options import RayDataOptions


class TestOptions:
    def test_a_config_has_the_same_names(self) -> None:
        executor = RayDataExecutor(config={"override_num_blocks": 8, "preserve_order": True})

        assert executor.options == RayDataOptions(override_num_blocks=8, preserve_order=True)

    def test_a_wrong_name_gets_a_suggestion(self) -> None:
        with pytest.raises(PipelineError, match=r"no option 'overide_num_blocks' \(did you mean"):
            RayDataExecutor(config={"overide_num_blocks": 8})

    def test_options_and_config_together_are_refused(self) -> None:
        with pytest.raises(PipelineError, match="options or a config, not both"):
            RayDataExecutor(RayDataOptions(), config={})

    @pytest.mark.parametrize(
        ("config", "message"),
        [
            ({"override_num_blocks": 0}, "override_num_blocks is 0, but must be more than 0"),
            ({"override_num_blocks": "8"}, "override_num_blocks is '8', but must be a whole"),
            ({"preserve_order": 1}, "preserve_order is 1, but must be True or False"),
            ({"object_store_gb": -1}, "object_store_gb is -1, but must be more than 0"),
            ({"stall_timeout": "1h"}, "stall_timeout is '1h', but must be a number"),
            ({"resource_limits": 4}, 'must be a mapping such as {"cpu": 4}'),
            ({"resource_limits": {"cpus": 4}}, "has no 'cpus' (did you mean cpu?)"),
            ({"resource_limits": {"cpu": "4"}}, "cpu is '4', but must be a number above 0"),
            ({"context": 3}, "context is 3, but must be a mapping such as"),
            (
                {"context": {"execution_options": None}, "resource_limits": {"cpu": 1}},
                "resource_limits is given, and context has execution_options, too; leave one of",
            ),
            (
                {"context": {"target_max_block_size": 1}, "target_max_block_size": 2},
                "target_max_block_size is given, and context has target_max_block_size, too",
            ),
            ({"max_sources_per_job": None}, "max_sources_per_job is None, but must be a number"),
        ],
    )
    def test_wrong_values_are_named(self, config: dict[str, Any], message: str) -> None:
        with pytest.raises(PipelineError) as error:
            RayDataExecutor(config=config)

        assert message in str(error.value)
