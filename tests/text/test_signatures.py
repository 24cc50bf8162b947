"""Positional options of stages with NeMo Curator's names have its order."""

import inspect

import curator_text
import pytest

_NEMO = {
    "AlphaFilter": "min_alpha_ratio",
    "BoilerPlateStringFilter": "remove_if_at_top_or_bottom max_boilerplate_string_ratio",
    "BoilerPlateStringModifier": "remove_if_at_top_or_bottom",
    "BulletsFilter": "max_bullet_lines_ratio",
    "CommonEnglishWordsFilter": "min_num_common_words stop_at_false",
    "DocumentJoiner": "separator text_field segment_id_field document_id_field "
    "drop_segment_id_field max_length length_field",
    "DocumentSplitter": "separator text_field segment_id_field",
    "EllipsisFilter": "max_num_lines_ending_with_ellipsis_ratio",
    "FastTextLabelModifier": "label",
    "FastTextQualityFilter": "model label alpha seed",
    "Filter": "filter_fn filter_field invert name verbose",
    "GeneralCommentToCodeFilter": "language min_comment_to_code_ratio max_comment_to_code_ratio",
    "HTMLBoilerplateFilter": "min_lang_content_ratio min_lang_content_num_chars",
    "LineRemover": "patterns",
    "LongWordFilter": "max_word_length lang",
    "MeanWordLengthFilter": "min_mean_word_length max_mean_word_length lang",
    "NonAlphaNumericFilter": "max_non_alpha_numeric_to_text_ratio",
    "NumberOfLinesOfCodeFilter": "min_lines max_lines",
    "NumbersFilter": "max_number_to_text_ratio",
    "ParenthesesFilter": "max_parentheses_ratio",
    "PerExtensionFilter": "lang extension metadata_file",
    "PornographicUrlsFilter": "url_regex",
    "PunctuationFilter": "max_num_sentences_without_endmark_ratio",
    "PythonCommentToCodeFilter": "min_comment_to_code_ratio max_comment_to_code_ratio",
    "RepeatedLinesByCharFilter": "max_repeated_lines_char_ratio",
    "RepeatedLinesFilter": "max_repeated_line_fraction",
    "RepeatedParagraphsByCharFilter": "max_repeated_paragraphs_char_ratio",
    "RepeatedParagraphsFilter": "max_repeated_paragraphs_ratio",
    "RepeatingDuplicateNGramsFilter": "n max_repeating_duplicate_ngram_ratio lang",
    "RepeatingTopNGramsFilter": "n max_repeating_ngram_ratio lang",
    "Score": "score_fn score_field text_field name",
    "ScoreFilter": "filter_obj text_field score_field invert name verbose",
    "Slicer": "left right include_left include_right strip",
    "SubstringFilter": "substring position",
    "SymbolsToWordsFilter": "max_symbol_to_word_ratio lang",
    "TokenCountFilter": "tokenizer hf_model_name hf_token min_tokens max_tokens "
    "transformers_init_kwargs",
    "TokenizerFertilityFilter": "path_to_tokenizer min_char_to_token_ratio",
    "UnicodeReformatter": "config unescape_html remove_terminal_escapes fix_encoding "
    "restore_byte_a0 replace_lossy_sequences decode_inconsistent_utf8 fix_c1_controls "
    "fix_latin_ligatures fix_character_width uncurl_quotes fix_line_breaks fix_surrogates "
    "remove_control_chars normalization max_decode_length explain",
    "UrlsFilter": "max_url_to_text_ratio url_regex",
    "WhiteSpaceFilter": "max_white_space_ratio",
    "WordCountFilter": "min_words max_words lang",
    "WordsWithoutAlphabetsFilter": "min_words_with_alphabets lang",
    "XMLHeaderFilter": "char_prefix_search_length",
}
"""What NeMo Curator 1.4 takes, in order. `HistogramFilter` is left out: its first is another."""


@pytest.mark.parametrize("name", _NEMO)
def test_positional_options_are_those_of_nemo_curator(name: str) -> None:
    given = inspect.signature(getattr(curator_text, name)).parameters.values()
    positional = [one.name for one in given if one.kind is one.POSITIONAL_OR_KEYWORD]
    assert positional == _NEMO[name].split()[: len(positional)]
