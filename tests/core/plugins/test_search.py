"""Searching the index by words."""

import pytest
from curator_core.plugins.index import Description, packaged_index
from curator_core.plugins.search import Query


def search(text: str) -> list[str]:
    return [match.description.name for match in Query(text).search(packaged_index().values())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("language", "text.language_identifier"),
        ("languages", "text.language_filter"),
        ("pii", "text.pii_redactor"),
        ("GDPR", "text.pii_filter"),
        ("remove duplicates", "dedup.exact"),
        ("dedup", "dedup.bloom_deduplication"),
        ("minhash", "dedup.fuzzy"),
        ("split", "text.hash_splitter"),
        ("train validation", "text.hash_splitter"),
        ("crawl", "text.warc_reader"),
        ("caption", "image.captioner"),
        ("embeddings", "text.text_embedder"),
        ("transcribe", "audio.speech_recognizer"),
        ("nsfw", "video.nsfw_filter"),
        ("toxicity", "text.c4_bad_words_filter"),
        ("subtitles", "audio.speech_recognizer"),
        ("fineweb", "text.fine_web_quality_filter"),
        ("short texts", "text.word_count_filter"),
        ("near duplicates", "dedup.fuzzy"),
        ("min_words", "text.word_count_filter"),
        ("write tar shards", "image.web_dataset_writer"),
    ],
)
def test_people_find_a_stage_by_their_words(text: str, expected: str) -> None:
    assert expected in search(text)[:12]


def description(name: str, summary: str = "", *options: str) -> Description:
    return Description(name, "stage", "m:C", summary, options)


def test_a_word_in_the_name_weighs_more_than_in_the_summary_or_an_option() -> None:
    known = [
        description("x.a", "", "language"),
        description("x.b", "Adds the language."),
        description("x.language"),
    ]
    found = Query("language").search(known)
    assert [match.description.name for match in found] == ["x.language", "x.b", "x.a"]


def test_what_fits_all_words_is_preferred_to_what_fits_one() -> None:
    known = [description("x.blue"), description("x.blue_green"), description("x.green")]
    assert [match.description.name for match in Query("green blue").search(known)] == [
        "x.blue_green"
    ]


def test_a_word_inside_another_is_not_found() -> None:
    assert Query("age").search([description("x.language")]) == []


def test_nothing_fits_a_query_without_words() -> None:
    assert Query("the").search([description("x.the")]) == []


def test_similar_words_are_suggested() -> None:
    assert Query("lagnuage").nearest_words([description("x.language")]) == ["language"]
