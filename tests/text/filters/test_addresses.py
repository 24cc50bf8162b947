import pytest
from curator_core import DocumentBatch, Dropped
from curator_text import BlockedDomainsFilter


def kept_urls(stage: BlockedDomainsFilter, urls: list[str | None]) -> list[str | None]:
    batch = DocumentBatch.from_pylist([{"url": url} for url in urls])
    return [row["url"] for row in stage.process(batch)[0].to_pylist()]  # type: ignore[union-attr]


def test_a_domain_stands_for_everything_under_it() -> None:
    urls = [
        "https://bad.example/x",
        "http://WWW.Bad.Example:8080/",
        "https://notbad.example/",
        "https://good.example/?from=bad.example",
        "https://bad.example.org/",
    ]
    assert kept_urls(BlockedDomainsFilter(["bad.example"]), urls) == urls[2:]


@pytest.mark.parametrize("url", [None, "", "no address", "http://[broken"])
def test_what_has_no_domain_stays(url: str | None) -> None:
    urls = [url, "http://a.example/"]
    assert kept_urls(BlockedDomainsFilter(["b.example"]), urls) == urls


def test_the_dropped_are_counted_under_one_reason() -> None:
    batch = DocumentBatch.from_pylist([{"at": "http://a.b"}, {"at": "http://c.d"}])
    _, dropped = BlockedDomainsFilter(["a.b"], url_field="at").process(batch)
    assert isinstance(dropped, Dropped)
    assert (dropped.reason, dropped.items) == ("its domain is blocked", 1)


def test_a_text_in_place_of_a_list_is_a_problem_of_the_plan() -> None:
    [problem] = BlockedDomainsFilter("a.example").check()
    assert problem == "domains is the text 'a.example', but must be a list: [a.example]"
