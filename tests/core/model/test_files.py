"""Files as tasks: runs resume by their identity."""

import pytest
from curator_core import FileGroup, FilePart
from curator_core.model.tasks import Origin
from hypothesis import given
from hypothesis import strategies as st

parts = st.builds(
    FilePart,
    path=st.text(min_size=1),
    size=st.integers(0, 2**50),
    version=st.text(max_size=5),
    start=st.integers(0, 100),
    end=st.none() | st.integers(100, 2**40),
)


class TestIdentity:
    @given(st.lists(parts, max_size=3), st.lists(parts, max_size=3))
    def test_is_the_same_for_the_same_parts_only(
        self, one: list[FilePart], other: list[FilePart]
    ) -> None:
        assert (FileGroup(one).identity() == FileGroup(other).identity()) == (one == other)

    @pytest.mark.parametrize(
        "changed",
        [
            FilePart("a", 10, "v2"),
            FilePart("a", 11, "v1"),
            FilePart("a", 10, "v1", start=5),
            FilePart("a", 10, "v1", end=5),
        ],
    )
    def test_notices_a_changed_file_or_range(self, changed: FilePart) -> None:
        before = FileGroup([FilePart("a", 10, "v1")])

        assert FileGroup([changed]).identity() != before.identity()

    def test_omits_facts_that_do_not_affect_the_content(self) -> None:
        named = FileGroup([FilePart("a")], "web", {"note": 1})

        assert named.identity() == FileGroup([FilePart("a")]).identity()

    def test_names_its_origin(self) -> None:
        group = FileGroup([FilePart("a", 10, "v1", 0, 5), FilePart("b", 7, "v2")])

        assert group.origins() == [Origin("a", "10:v1", 0, 5), Origin("b", "7:v2", 0, None)]


class TestPayload:
    @given(st.lists(parts, max_size=3), st.text(), st.dictionaries(st.text(), st.text()))
    def test_survives_a_round_trip(
        self, data: list[FilePart], name: str, metadata: dict[str, str]
    ) -> None:
        group = FileGroup(data, name, metadata)

        assert FileGroup.from_payload(group.to_payload()) == group


class TestParts:
    @pytest.mark.parametrize(
        ("part", "shown", "whole"),
        [
            (FilePart("a.jsonl"), "a.jsonl", True),
            (FilePart("a.jsonl", 100, "v", 0, 50), "a.jsonl[0:50]", False),
            (FilePart("a.jsonl", 100, "v", 50), "a.jsonl[50:]", False),
        ],
    )
    def test_name_their_range(self, part: FilePart, shown: str, whole: bool) -> None:
        assert str(part) == shown
        assert part.is_whole is whole

    def test_add_up_in_a_group(self) -> None:
        group = FileGroup([FilePart("a", 3), FilePart("b", 4)])

        assert (group.paths, group.num_items, group.num_bytes) == (["a", "b"], 2, 7)
