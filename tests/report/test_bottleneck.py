"""Bottlenecks: the stage that holds up a run, and what to change."""

from curator_core.model.usage import Usage
from curator_report.bottleneck import bottleneck_of


def usage(seconds: float, cpu: float = 1.0, tasks: int = 10) -> Usage:
    made = Usage()
    made.seconds, made.cpu_s, made.tasks = seconds, cpu * seconds, tasks
    return made


def advice_for(stage: Usage, **options: object) -> tuple[str, str]:
    found = bottleneck_of({"slow": stage, "quick": usage(1.0)}, {"slow": options}, {})
    assert found
    return found.name, found.advice


def test_advice_depends_on_what_the_stage_spends_its_time_on() -> None:
    name, advice = advice_for(usage(9.0))
    assert (name, "more CPUs or machines" in advice) == ("slow", True)
    assert "use more workers for slow (num_workers)" in advice_for(usage(9.0, cpu=0.1))[1]
    crowded = usage(9.0, cpu=0.5)
    crowded.crowded_s = 4.0
    assert "give the run more CPUs" in advice_for(crowded)[1]
    assert "use larger batches for slow (batch_size)" in advice_for(usage(9.0), gpus=1.0)[1]
    assert (
        "use larger batches, with more records in each" in advice_for(usage(9.0, tasks=100_000))[1]
    )
    setting_up = usage(9.0)
    setting_up.setup_s = 60.0
    assert "use fewer workers for slow (num_workers)" in advice_for(setting_up)[1]


def test_the_bottleneck_can_be_the_supply_the_consumer_or_no_stage() -> None:
    waiting, held = usage(2.0), usage(2.0)
    waiting.waited_s, held.held_s = 9.0, 9.0
    supply = bottleneck_of({"a": waiting}, {}, {})
    taking = bottleneck_of({"a": held}, {}, {})
    even = bottleneck_of({name: usage(2.0) for name in "abcd"}, {}, {})
    assert supply
    assert taking
    assert even
    assert supply.name == "the supply of work"
    assert taking.name == "the consumer of the outputs"
    assert (even.name, even.evidence[:21]) == ("", "no stage stands out: ")
    assert bottleneck_of({"a": usage(0.5)}, {}, {}) is None


def test_the_diagnosis_of_the_scheduler_is_preferred() -> None:
    diagnosis = {"bottleneck": "embed", "evidence": "it was busy", "advice": "more GPUs"}
    found = bottleneck_of({"slow": usage(9.0)}, {}, diagnosis)
    assert found
    assert (found.name, found.advice) == ("embed", "more GPUs")
