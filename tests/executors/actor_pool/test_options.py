"""Options, and the errors for wrong ones."""

import re
from typing import Any

import pytest
from curator_actor_pool.executor import RayActorPoolExecutor
from curator_actor_pool.options import ActorPoolOptions
from curator_core import Pipeline, Task
from curator_core.errors import PipelineError
from curator_core.testing.contract.stages import Adds


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"reserved_cpu": 1}, "has no option 'reserved_cpu' (did you mean reserved_cpus?)"),
        ({"execution_mode": "bach"}, "at once) (did you mean batch?)"),
        ({"reserved_cpus": -1}, "reserved_cpus is -1, but must be 0 or more"),
        ({"reserved_gpus": "2"}, "reserved_gpus is '2', but must be a number"),
        ({"max_round_gb": 0}, "max_round_gb is 0, but must be more than 0"),
        ({"slots_per_actor": 1.5}, "slots_per_actor is 1.5, but must be a whole number"),
        ({"round_minutes": True}, "round_minutes is True, but must be a number"),
    ],
)
def test_wrong_values_are_named(config: dict[str, Any], message: str) -> None:
    with pytest.raises(PipelineError, match=re.escape(message)):
        RayActorPoolExecutor(config=config)


def test_options_and_config_have_the_same_names() -> None:
    options = ActorPoolOptions(execution_mode="batch", reserved_cpus=1)

    assert RayActorPoolExecutor(options).options == options
    same = RayActorPoolExecutor(config={"execution_mode": "batch", "reserved_cpus": 1})
    assert same.options == options
    with pytest.raises(PipelineError, match="options or a config, not both"):
        RayActorPoolExecutor(options, config={})


def test_a_round_takes_half_of_the_store_by_default() -> None:
    assert ActorPoolOptions().max_round_bytes(2e9) == 1e9
    assert ActorPoolOptions().max_round_bytes(1e6) == 64 << 20
    assert ActorPoolOptions(max_round_gb=0.25).max_round_bytes(2e9) == 0.25e9


def test_hints_are_refused() -> None:
    stage = Adds(1).with_(hints={"actor_pool": {"fuse": False}})

    with pytest.raises(PipelineError, match="stage 1 'adds': no actor_pool hint 'fuse'"):
        Pipeline("p", stages=[stage]).build(RayActorPoolExecutor(), tasks=[Task(1)])
