"""Races: the same work on our streaming executor and on its peers."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from measuring.figures import Figure
from measuring.rates import settled_after, steady_rate
from streaming_engines import BARE_RAY, CORES, Contest, Run, contest, ours, ray_data, xenna
from streaming_sizes import Sizes

SLOTS = CORES * 4
"""Workers of 0.25 CPU."""

XENNA, XENNA_5 = "Xenna", "Xenna every 5 s"
DATA, DATA_1 = "Ray Data", "Ray Data, a task per block"


def beside(held: Contest, measure: str, names: Iterable[str], form: str) -> str:
    """What the peers did, or why they did not."""
    told = []
    for name in names:
        value = held.median_of(name, measure)
        if value is None:
            told.append(f"{name} failed: {held.failures[name]}")
        else:
            told.append(f"{name} {value:{form}}")
    return ", ".join(told)


class Race:
    """Turns one measure of a contest into figures: how many times better ours is."""

    def __init__(self, held: Contest, measure: str, *, form: str, less: bool = False) -> None:
        self.held = held
        self._measure = measure
        self._form = form
        self._less = less

    def value_of(self, name: str) -> float | None:
        return self.held.median_of(name, self._measure)

    def lead(self, what: str, wanted: float, names: Sequence[str], unit: str = "") -> Figure:
        """Against the best of several settings of one peer."""
        mine = self.value_of("ours")
        known = [value for name in names if (value := self.value_of(name)) is not None]
        others = beside(self.held, self._measure, names, self._form)
        target = f">= {wanted:g}x"
        if mine is None:
            failed = f"ours failed: {self.held.failures['ours']}"
            return Figure(what, target, failed, False, self._details())
        ratio = (min(known) / mine if self._less else mine / max(known)) if known else None
        lead = "" if ratio is None else f"{ratio:.2f}x "
        value = f"{lead}({mine:{self._form}}{unit}; {others})"
        met = None if ratio is None else ratio >= wanted and self.held.is_whole("ours")
        return Figure(what, target, value, met, self._details())

    def _details(self) -> dict[str, Any]:
        return self.held.all_of(self._measure)


def unmeasured(what: str, target: str, held: Contest) -> Figure:
    return Figure(what, target, f"ours failed: {held.failures['ours']}", False)


def mixed(sizes: Sizes) -> list[Figure]:
    tasks = sizes.mixed
    held = contest(
        sizes.rounds,
        {
            "ours": lambda: ours().run("mixed", tasks),
            XENNA: lambda: xenna().run("mixed", tasks),
            DATA: lambda: ray_data().run("mixed", tasks),
            XENNA_5: lambda: xenna(autoscale_interval_s=5.0).run("mixed", tasks),
            DATA_1: lambda: ray_data(blocks=tasks).run("mixed", tasks),
        },
    )
    steady = Race(held, "steady", form=".1f")
    whole = Race(held, "seconds", form=".1f", less=True)
    line = f"{tasks} tasks of 5/40/10 ms, {SLOTS} slots"
    ends = f"{line}: end to end, process start to exit, s"
    return [
        _against_ceiling(line, held),
        _once_all_are_up(line, held),
        steady.lead(f"{line}: steady tasks/s against Xenna", 1.5, [XENNA, XENNA_5]),
        steady.lead(f"{line}: steady tasks/s against Ray Data", 3, [DATA_1]),
        _against_default_blocks(line, steady),
        whole.lead(f"{ends}, against Xenna", 2, [XENNA, XENNA_5]),
        whole.lead(f"{ends}, against Ray Data", 3, [DATA, DATA_1]),
        _first_output(held),
        _cpu_spent(line, held),
    ]


def _ceiling() -> float:
    return SLOTS / 0.055


def _against_ceiling(line: str, held: Contest) -> Figure:
    what, target = f"{line}: steady rate against the ceiling", ">= .96"
    rate = held.median_of("ours", "steady")
    if rate is None:
        return unmeasured(what, target, held)
    share = rate / _ceiling()
    value = f"{share:.3f} ({rate:.1f}/s of {_ceiling():.1f}/s)"
    return Figure(what, target, value, share >= 0.96 and held.is_whole("ours"))


def _once_all_are_up(line: str, held: Contest) -> Figure:
    """Workers come up while the first tasks are done: Ray takes a quarter of a second for each."""
    what = f"{line}: the same, of the second half alone"
    runs = held.runs.get("ours", [])
    shares = [steady_rate(run.facts["ends"], since=0.5) / _ceiling() for run in runs]
    value = f"{median(shares):.3f}" if shares else "failed"
    return Figure(what, "none", value, None, {"ours": shares})


def _against_default_blocks(line: str, steady: Race) -> Figure:
    """Three times its own way of cutting blocks may be more than the slots can do at all."""
    figure = steady.lead(f"{line}: the same, in blocks as Ray Data cuts them", 3, [DATA])
    theirs = steady.value_of(DATA)
    if theirs is None or 3 * theirs <= _ceiling():
        return figure
    value = f"{figure.value}: no more than {_ceiling() / theirs:.2f}x is possible"
    return Figure(figure.what, "none: 3x is above the ceiling", value, None, figure.details)


def _first_output(held: Contest) -> Figure:
    what, target = "time to first output after the cluster has started", "<= 0.5 s"
    seconds = held.median_of("ours", "first_in_hand")
    if seconds is None:
        return unmeasured(what, target, held)
    others = beside(held, "first", [XENNA, DATA, DATA_1], ".1f")
    value = f"{seconds:.2f} s, in the hands of the driver ({others}, done by its last stage)"
    return Figure(what, target, value, seconds <= 0.5, held.all_of("first"))


def _cpu_spent(line: str, held: Contest) -> Figure:
    names = [name for name in held.runs if name != "ours"]
    mine = beside(held, "cpu_s", ["ours"], ".0f")
    value = f"{mine}, {beside(held, 'cpu_s', names, '.0f')}"
    what = f"{line}: CPU seconds of the whole process tree"
    return Figure(what, "none", value, None, held.all_of("cpu_s"))


def cold(sizes: Sizes) -> list[Figure]:
    tasks = sizes.cold
    held = contest(
        sizes.rounds,
        {
            "bare Ray": lambda: BARE_RAY.run("cold", tasks),
            "ours": lambda: ours().run("cold", tasks),
            XENNA: lambda: xenna().run("cold", tasks),
            DATA: lambda: ray_data().run("cold", tasks),
        },
    )
    what = f"cold start: {tasks} tasks through 2 stages that do nothing, from process start"
    target = "<= 1.15x of ray.init + one actor call"
    mine, bare = held.median_of("ours", "in_hand"), held.median_of("bare Ray", "in_hand")
    if mine is None or bare is None:
        return [Figure(what, target, f"failed: {held.failures}", False)]
    others = beside(held, "in_hand", [XENNA, DATA], ".1f")
    value = f"{mine / bare:.2f}x ({mine:.2f} s, bare {bare:.2f}; {others})"
    return [Figure(what, target, value, mine <= 1.15 * bare, held.all_of("in_hand"))]


def tiny(sizes: Sizes) -> list[Figure]:
    """Everybody counts from the started cluster to the last output. A peer that gets fewer tasks
    because it is slow has its steady rate, where that is better."""
    many, few = sizes.tiny, sizes.tiny_one_by_one
    batches = ray_data(batch=100, blocks=many // 100)
    held = contest(
        sizes.rounds,
        {
            "ours": lambda: ours().run("tiny", many),
            "Xenna one by one": lambda: xenna().run("tiny", few),
            DATA_1: lambda: ray_data(blocks=few).run("tiny", few),
            "Xenna in batches": lambda: xenna(batch=100).run("tiny", many),
            "Ray Data in batches": lambda: batches.run("tiny", many),
        },
    )
    line = f"{many} tiny tasks through 3 no-op stages, tasks/s"
    what, target = f"{line}: against peers as they come ({few} tasks)", ">= 50x both"
    mine = held.median_of("ours", "overall")
    if mine is None:
        return [unmeasured(what, target, held)]
    one_by_one = {name: _better_rate(held, name) for name in ("Xenna one by one", DATA_1)}
    batched = ("Xenna in batches", "Ray Data in batches")
    tuned = {name: held.median_of(name, "overall") for name in batched}
    return [
        _times(what, target, 50, mine, one_by_one),
        _times(f"{line}: against peers in batches of 100", ">= 8x both", 8, mine, tuned),
    ]


def _better_rate(held: Contest, name: str) -> float | None:
    overall, steady = held.median_of(name, "overall"), held.median_of(name, "steady")
    return None if overall is None or steady is None else max(overall, steady)


def _times(
    what: str, target: str, wanted: float, mine: float, rates: Mapping[str, float | None]
) -> Figure:
    told = [f"{name} failed" if rate is None else f"{name} {rate:,.0f}"
            for name, rate in rates.items()]  # fmt: skip
    known = [rate for rate in rates.values() if rate]
    ratio = mine / max(known) if known else None
    lead = "" if ratio is None else f"{ratio:.1f}x "
    value = f"{lead}({mine:,.0f}; {', '.join(told)})"
    met = None if ratio is None else ratio >= wanted
    return Figure(what, target, value, met, {"ours": mine, **rates})


def jump(sizes: Sizes) -> list[Figure]:
    """Xenna has one run only: it takes a minute even where it looks every 10 s."""
    tasks = sizes.jump
    held = contest(sizes.rounds, {"ours": lambda: ours().run("jump", tasks)})
    held.take("Xenna every 10 s", lambda: xenna(autoscale_interval_s=10.0).run("jump", tasks))
    optimum = SLOTS / (0.010 + 0.050 + 0.010)
    what = f"a stage's cost jumps 5x in mid-run ({tasks} tasks of 10/10/10 ms): until within 10%"
    what += f" of the new optimum, {optimum:.0f}/s, for 5 s"
    target = "<= 3 s"
    if "ours" in held.failures:
        return [unmeasured(what, target, held)]
    took = [_settled(run, optimum) for run in held.runs.get("ours", [])]
    never = [run for run in took if run is None]
    mine = None if never else median(seconds for seconds in took if seconds is not None)
    value = "never" if mine is None else f"{mine:.1f} s"
    value += f" (in all {held.median_of('ours', 'in_hand'):.1f} s; {_jump_of_peer(held, optimum)})"
    return [Figure(what, target, value, mine is not None and mine <= 3, {"ours": took})]


def _settled(run: Run, optimum: float) -> float | None:
    return settled_after(run.facts["ends"], run.facts["slow_since"], 0.9 * optimum)


def _jump_of_peer(held: Contest, optimum: float) -> str:
    name = "Xenna every 10 s"
    if name in held.failures:
        return f"{name} failed: {held.failures[name]}"
    (run,) = held.runs[name]
    seconds = _settled(run, optimum)
    settled = "never" if seconds is None else f"{seconds:.1f} s"
    return f"{name}: {settled}, in all {run.in_hand:.1f} s; by itself it looks every 180 s"


def faults(sizes: Sizes) -> list[Figure]:
    """One run each: whether an engine gives up is no matter of chance."""
    return [
        _fault("one task raises", "raising", sizes),
        _fault("one task kills its worker", "killing", sizes),
    ]


def _fault(what: str, case: str, sizes: Sizes) -> Figure:
    tasks = sizes.faults
    held = contest(
        1,
        {
            "ours": lambda: ours().run(case, tasks),
            XENNA: lambda: xenna().run(case, tasks),
            DATA: lambda: ray_data(give_up_s=sizes.give_up_s).run(case, tasks),
        },
    )
    told = {name: _fate(held, name) for name in ("ours", XENNA, DATA)}
    value = "; ".join(f"{name} {fate}" for name, fate in told.items())
    met = told["ours"] == f"finished {tasks - 1} of {tasks}"
    return Figure(f"{what}, of {tasks}", f"{tasks - 1} of {tasks} finished", value, met)


def _fate(held: Contest, name: str) -> str:
    if name in held.failures:
        return f"aborted ({held.failures[name]:.80})"
    (run,) = held.runs[name]
    came = f"{run.facts['distinct']} of {run.facts['tasks']}"
    given_up = run.facts.get("gave_up_s")
    return f"still at it after {given_up:g} s, {came} out" if given_up else f"finished {came}"
