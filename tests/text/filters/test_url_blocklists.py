import gzip
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from curator_core import DocumentBatch, Dropped, StageError
from curator_core.testing import check_stage, run_stage
from curator_text import BlockedDomainsFilter, BlockedUrlsFilter, UrlWordsFilter
from curator_text.filters.url_blocklists import HashedSet

HOSTS = """
# a hosts file
127.0.0.1 localhost
0.0.0.0 ads.example tracker.example # two of them
::1 localhost
||popup.example^
*.wild.example
http://whole.example/
page.example/only/this
bücher.example
! a comment of a blocker
plain.example
"""


def kept_urls(
    stage: BlockedDomainsFilter | BlockedUrlsFilter | UrlWordsFilter, urls: list[str | None]
) -> list[str | None]:
    batch = DocumentBatch.from_pylist([{"url": url} for url in urls])
    return [row["url"] for row in stage.process(batch)[0].to_pylist()]  # type: ignore[union-attr]


def test_domain_includes_its_subdomains() -> None:
    urls = [
        "https://bad.example/x",
        "http://WWW.Bad.Example:8080/",
        "https://notbad.example/",
        "https://good.example/?from=bad.example",
        "https://bad.example.org/",
    ]
    assert kept_urls(BlockedDomainsFilter(["bad.example"]), urls) == urls[2:]


@pytest.mark.parametrize("url", [None, "", "no address", "http://[broken"])
def test_url_without_a_domain_is_kept(url: str | None) -> None:
    urls = [url, "http://a.example/"]
    assert kept_urls(BlockedDomainsFilter(["b.example"]), urls) == urls


def test_dropped_urls_have_one_reason() -> None:
    batch = DocumentBatch.from_pylist([{"at": "http://a.b"}, {"at": "http://c.d"}])
    _, dropped = BlockedDomainsFilter(["a.b"], url_field="at").process(batch)
    assert isinstance(dropped, Dropped)
    assert (dropped.reason, dropped.items) == ("its domain is blocked", 1)


def test_single_text_instead_of_a_list_is_a_problem_of_the_plan() -> None:
    [problem] = BlockedDomainsFilter("a.example").check()
    assert "domains is the text 'a.example'" in problem
    assert "[a.example]" in problem


@pytest.fixture
def hosts(tmp_path: Path) -> str:
    path = tmp_path / "hosts.txt.gz"
    path.write_bytes(gzip.compress(HOSTS.encode()))
    return str(path)


def test_published_list_formats_are_read(hosts: str) -> None:
    blocked = ["ads", "tracker", "popup", "wild", "x.wild", "whole", "xn--bcher-kva", "plain"]
    stays = ["page", "other", "localhost"]
    urls: list[str | None] = [f"http://{name}.example/only/this" for name in [*blocked, *stays]]
    assert kept_urls(BlockedDomainsFilter(files=[hosts]), urls) == urls[len(blocked) :]
    both = BlockedDomainsFilter(["other.example"], files=[hosts])
    assert kept_urls(both, urls) == [urls[-3], urls[-1]]


def test_filter_fulfills_the_stage_contract(hosts: str) -> None:
    batch = DocumentBatch.from_pylist([{"url": "http://ads.example/"}, {"url": None}, {"url": "x"}])
    check_stage(BlockedDomainsFilter(files=[hosts]), batch)
    check_stage(BlockedUrlsFilter(["a.example/b"]), batch)
    check_stage(UrlWordsFilter(["ads"]), batch)


def test_urls_are_compared_by_host_path_and_query() -> None:
    same = ["https://www.a.example:443/b/#top", "http://a.example/b", "A.example/b/"]
    others = ["https://a.example/", "https://a.example/b?x=1", "https://b.a.example/b"]
    assert kept_urls(BlockedUrlsFilter(["http://a.example/b"]), [*same, *others]) == others


def test_url_words_match_whole_words() -> None:
    urls: list[str | None] = [
        "http://a.example/free-CASINO/poker",
        "http://casinos.example/",
        "http://poker.example/x_casino",
        None,
    ]
    assert kept_urls(UrlWordsFilter(["casino", "Poker"]), urls) == [urls[1], None]
    assert kept_urls(UrlWordsFilter(["casino", "x"], min_words=2), urls) == [urls[0], urls[1], None]


def test_hash_set_has_few_false_positives() -> None:
    names = HashedSet(f"site-{number}.example" for number in range(50_000))
    assert len(names) == 50_000
    assert all(f"site-{number}.example" in names for number in range(0, 50_000, 7))
    assert not any(f"other-{number}.example" in names for number in range(10_000))
    assert "x" not in HashedSet([])


def test_hash_set_takes_eight_bytes_per_name() -> None:
    before = pa.total_allocated_bytes()
    names = HashedSet(map(str, range(100_000)))
    assert pa.total_allocated_bytes() - before <= 8 * len(names) + 4096
    assert sys.getsizeof(names) < 1000


@pytest.mark.timeout(20)
def test_time_is_bounded_for_hostile_urls() -> None:
    urls = ["http://" + "a." * 500_000, "http://" + "[" * 100_000, "/" * 10**6, "\x00\ud7ff"]
    started = time.process_time()
    for stage in (BlockedDomainsFilter(["b"]), BlockedUrlsFilter(["b"]), UrlWordsFilter(["b"])):
        assert kept_urls(stage, [*urls]) == urls
    assert time.process_time() - started < 5


def test_invalid_utf8_is_not_a_url() -> None:
    raw = pa.array([b"\xff\xfe", b"http://a.example"]).view(pa.string())
    kept, dropped = BlockedDomainsFilter(["a.example"]).process(
        DocumentBatch(pa.table({"url": raw}))
    )
    assert (kept.num_items, dropped.items) == (1, 1)  # type: ignore[union-attr]


def test_invalid_options_are_problems_of_the_plan(tmp_path: Path) -> None:
    [problem] = BlockedDomainsFilter().check()
    assert "neither domains nor files" in problem
    [problem] = BlockedUrlsFilter(files=["no/such/list.txt"]).check()
    assert "no/such/list.txt" in problem
    words, min_words = UrlWordsFilter("casino", min_words=0).check()
    assert "words is the text 'casino'" in words
    assert "min_words is 0" in min_words


def test_file_without_a_list_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pages.txt"
    path.write_text("# nothing\na.example/b\n")
    expected = f"{path} names no domains: is it the right file?"
    with pytest.raises(StageError, match=expected):
        run_stage(
            BlockedDomainsFilter(files=[str(path)]), DocumentBatch.from_pylist([{"url": "x"}])
        )
