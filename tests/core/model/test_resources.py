"""Resources: wrong amounts are refused when they are created."""

import math
import pickle

import pytest
from curator_core import Resources


class TestAmounts:
    @pytest.mark.parametrize("name", ["cpus", "gpus", "gpu_memory_gb", "memory_gb"])
    @pytest.mark.parametrize("amount", [-1.0, -0.01, math.nan, math.inf])
    def test_below_nothing_or_beyond_number_are_refused(self, name: str, amount: float) -> None:
        with pytest.raises(ValueError, match=rf"resources: {name} is {amount}, but must be 0 or"):
            Resources(**{name: amount})  # type: ignore[arg-type]

    def test_of_custom_kinds_are_checked_too(self) -> None:
        with pytest.raises(ValueError, match=r"custom\['tpu'\] is -2, but must be 0 or more"):
            Resources(custom={"tpu": -2})

    def test_ask_for_a_gpu_in_one_way_only(self) -> None:
        with pytest.raises(ValueError, match=r"gpus=1.* and gpu_memory_gb=8.* not both"):
            Resources(gpus=1, gpu_memory_gb=8)

    @pytest.mark.parametrize(
        ("resources", "needs"),
        [(Resources(), False), (Resources(gpus=0.25), True), (Resources(gpu_memory_gb=4), True)],
    )
    def test_know_whether_a_gpu_is_needed(self, resources: Resources, needs: bool) -> None:
        assert resources.needs_gpu is needs

    def test_name_a_type_of_gpu_only_together_with_a_gpu(self) -> None:
        with pytest.raises(ValueError, match=r"accelerator='H100'.* set gpus or gpu_memory_gb"):
            Resources(accelerator="H100")
        assert Resources(gpus=1, accelerator="H100").asked == {
            "cpus": 1.0,
            "gpus": 1,
            "accelerator": "H100",
        }

    def test_are_one_cpu_by_default(self) -> None:
        assert Resources() == Resources(cpus=1.0, gpus=0.0, memory_gb=0.0)


class TestValues:
    def test_can_be_pickled_and_used_as_keys(self) -> None:
        resources = Resources(
            cpus=2, gpus=1, custom={"tpu": 1}, accelerator="H100", labels={"zone": "a"}
        )
        again = pickle.loads(pickle.dumps(resources))

        assert again == resources
        assert hash(again) == hash(resources)

    def test_do_not_change_with_what_they_were_made_of(self) -> None:
        custom, labels = {"tpu": 1.0}, {"zone": "a"}
        resources = Resources(custom=custom, labels=labels)
        custom["tpu"], labels["zone"] = 5.0, "b"

        assert resources.custom["tpu"] == 1.0
        assert resources.labels["zone"] == "a"
        with pytest.raises(TypeError, match="does not support item assignment"):
            resources.custom["tpu"] = 2.0  # type: ignore[index]
