from curator_text import ScriptFilter


def test_texts_in_other_scripts_are_dropped() -> None:
    assert ScriptFilter().passes("Ordinary prose, 12 of it.")
    assert not ScriptFilter().passes("Обычная проза")
    assert not ScriptFilter().passes("12 + 34")
    assert ScriptFilter(["Cyrillic"]).passes("Обычная проза")


def test_language_may_have_several_scripts() -> None:
    text = "電車は時間通りにホームへ来ない"
    assert not ScriptFilter(["Han"]).passes(text)
    assert ScriptFilter(["Han", "Hiragana", "Katakana"]).passes(text)


def test_limit_is_a_share_of_letters() -> None:
    assert ScriptFilter(min_share=0.5).passes("ab яя")
    assert not ScriptFilter(min_share=0.6).passes("ab яя")


def test_invalid_options_are_problems_of_the_plan() -> None:
    assert list(ScriptFilter(["Latn"]).check()) == ["no script 'Latn' (did you mean Latin?)"]
    assert list(ScriptFilter("Latin").check()) == [
        "scripts is the text 'Latin', but must be a list: [Latin]"
    ]
    assert ScriptFilter(["Han", "Hangul"]).reason == "script is not Han or Hangul"
