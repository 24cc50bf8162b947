"""Tasks carry a payload, metadata of their author, and fields of the framework."""

import pickle

import pytest
from curator_core import Empty, Task
from curator_core.model.tasks import Origin, StagedFile
from hypothesis import given
from hypothesis import strategies as st

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


class TestPayload:
    @given(plain, st.text(), st.dictionaries(st.text(), plain, max_size=3))
    def test_survives_a_round_trip(
        self, data: object, name: str, metadata: dict[str, object]
    ) -> None:
        task = Task(data, name, metadata)

        assert Task.from_payload(task.to_payload()) == task

    def test_of_what_cannot_be_stored_is_refused(self) -> None:
        with pytest.raises(TypeError, match="set is not JSON serializable"):
            Task({1, 2}).to_payload()

    def test_leaves_out_what_belongs_to_one_run(self) -> None:
        task = Task(1)
        task.task_id = "a.0"
        task.staged = (StagedFile("a", "b"),)

        again = Task.from_payload(task.to_payload())

        assert (again.task_id, again.staged, again.lineage) == ("", (), {})

    def test_of_an_empty_task_survives_a_round_trip(self) -> None:
        assert Empty.from_payload(Empty().to_payload()) == Empty()


class TestFrameworkFields:
    @pytest.mark.parametrize("field", ["task_id", "lineage", "timings", "staged"])
    def test_cannot_be_given(self, field: str) -> None:
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{field}'"):
            Task(1, **{field: "x"})  # type: ignore[arg-type]

    def test_do_not_count_in_comparisons(self) -> None:
        one, other = Task(1), Task(1)
        one.task_id, one.timings = "a", {"lower": 1.0}

        assert one == other


class TestWithData:
    def test_keeps_all_but_the_data(self) -> None:
        task = Task(1, "web", {"page": 3})

        assert task.with_data(2) == Task(2, "web", {"page": 3})

    def test_shares_no_metadata_with_the_original(self) -> None:
        task = Task(1, metadata={"page": 3})
        task.with_data(2).metadata["page"] = 4

        assert task.metadata == {"page": 3}


class TestDefaults:
    def test_a_task_is_one_item_without_columns_or_identity(self) -> None:
        task = Task("abc")

        assert (task.num_items, task.columns(), task.identity(), task.origins()) == (
            1, None, None, [])  # fmt: skip
        assert task.num_bytes > 3


class TestOrigins:
    @pytest.mark.parametrize(
        ("one", "other", "clashes"),
        [
            (Origin("a", "1"), Origin("b", "1"), False),
            (Origin("a", "1"), Origin("a", "1"), True),
            (Origin("a", "1", 0, 10), Origin("a", "1", 10, 20), False),
            (Origin("a", "1", 0, 11), Origin("a", "1", 10, 20), True),
            (Origin("a", "1", 10, None), Origin("a", "1", 0, 10), False),
            (Origin("a", "1", 0, 10), Origin("a", "2", 10, 20), True),
        ],
    )
    def test_clash_where_they_overlap_or_differ_in_age(
        self, one: Origin, other: Origin, clashes: bool
    ) -> None:
        assert one.clashes(other) is clashes
        assert other.clashes(one) is clashes


class TestDerived:
    """Values that stages in one process share."""

    def task(self) -> Task[list[int]]:
        task = Task([3, 1, 2])
        task.derived["sorted"] = [1, 2, 3]
        return task

    def test_it_stays_in_its_process(self) -> None:
        assert pickle.loads(pickle.dumps(self.task())).derived == {}

    def test_they_are_not_copied_to_other_data(self) -> None:
        assert self.task().with_data([5]).derived == {}

    def test_a_twin_has_it(self) -> None:
        task = self.task()
        assert task.twin().derived is task.derived
        assert task.twin() is not task
