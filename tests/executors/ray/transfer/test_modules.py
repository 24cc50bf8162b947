"""What a worker cannot import travels by value, and a stage that cannot travel is named."""

import threading
from typing import Any

import cloudpickle
import pytest
from curator_core import Pipeline, PipelineError, ProcessingStage, Task
from curator_ray.transfer.modules import PlanPacker


class Holds(ProcessingStage[Task[Any], Task[Any]]):
    def __init__(self, thing: Any = None) -> None:
        self.thing = thing

    def process(self, task: Task[Any]) -> Task[Any]:
        return task


class TestBaggage:
    def test_names_the_stage_and_the_attribute_that_cannot_travel(self) -> None:
        plan = Pipeline("p", stages=[Holds(threading.Lock()).with_(name="locked")]).build()
        packer = PlanPacker(send_modules=False)
        with pytest.raises(PipelineError) as error:
            packer.pack(plan)
        packer.close()
        assert "stage 'locked' cannot be sent to a worker process: its attribute 'thing'" in str(
            error.value
        )
        assert "make it in setup()" in str(error.value)

    def test_leaves_pickle_as_it_was(self) -> None:
        before = cloudpickle.list_registry_pickle_by_value()
        packer = PlanPacker(send_modules=True)
        packer.pack(Pipeline("p", stages=[Holds()]).build())
        assert __name__ in cloudpickle.list_registry_pickle_by_value()
        packer.close()
        assert cloudpickle.list_registry_pickle_by_value() == before

    def test_far_workers_get_what_lies_beside_the_script(self, script: Any, tmp_path: Any) -> None:
        (tmp_path / "beside.py").write_text(
            "from curator_core import ProcessingStage, Task\n"
            "class Beside(ProcessingStage[Task, Task]):\n"
            "    def process(self, task):\n"
            "        return task\n"
        )
        driver = script(
            """
            from beside import Beside
            from curator_core import Pipeline
            from curator_ray.transfer.modules import PlanPacker
            plan = Pipeline("p", stages=[Beside()]).build()
            for far in (False, True):
                packer = PlanPacker(send_modules=far)
                print(b"process" in packer.pack(plan))
                packer.close()
            """
        )
        said, complaints = driver.communicate(timeout=30)
        assert (said.split(), complaints) == (["False", "True"], "")
