"""Modules that a worker cannot import are pickled by value."""

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


class TestPlanPacker:
    def test_an_attribute_that_cannot_be_pickled_is_named(self) -> None:
        plan = Pipeline("p", stages=[Holds(threading.Lock()).with_(name="locked")]).build()
        packer = PlanPacker(send_modules=False)
        with pytest.raises(PipelineError) as error:
            packer.pack(plan)
        packer.close()
        assert "stage 'locked' cannot be sent to a worker process: its attribute 'thing'" in str(
            error.value
        )
        assert "make it in setup()" in str(error.value)

    def test_cloudpickle_is_restored(self) -> None:
        before = cloudpickle.list_registry_pickle_by_value()
        packer = PlanPacker(send_modules=True)
        packer.pack(Pipeline("p", stages=[Holds()]).build())
        assert __name__ in cloudpickle.list_registry_pickle_by_value()
        packer.close()
        assert cloudpickle.list_registry_pickle_by_value() == before

    def test_modules_beside_the_script_are_sent_to_other_machines(
        self, script: Any, tmp_path: Any
    ) -> None:
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
            for send_modules in (False, True):
                packer = PlanPacker(send_modules=send_modules)
                print(b"process" in packer.pack(plan))
                packer.close()
            """
        )
        output, errors = driver.communicate(timeout=180)
        assert (output.split(), errors) == (["False", "True"], "")
