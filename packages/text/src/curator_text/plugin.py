"""What this package adds to Curator."""

from curator_core.hookspecs import hookimpl

_FILTERS = "curator_text.filters"
_NGRAMS = f"{_FILTERS}.ngrams"
_REPETITION = f"{_FILTERS}.repetition"
_MODIFIERS = "curator_text.modifiers"
_SETS = "curator_text.sets"
_MODELS = "curator_text.models"
_LABELS = f"{_MODELS}.classifiers"
_SOURCES = "curator_text.sources"


@hookimpl
def curator_stages() -> dict[str, str]:
    return {
        "text.jsonl_reader": "curator_text.reading:JsonlReader",
        "text.jsonl_writer": "curator_text.writing:JsonlWriter",
        "text.parquet_reader": "curator_text.reading:ParquetReader",
        "text.parquet_writer": "curator_text.writing:ParquetWriter",
        "text.html_extractor": "curator_text.html.extracting:HtmlExtractor",
        "text.arxiv_reader": f"{_SOURCES}.arxiv:ArxivReader",
        "text.csv_reader": f"{_SOURCES}.separated:CsvReader",
        "text.tsv_reader": f"{_SOURCES}.separated:TsvReader",
        "text.text_reader": f"{_SOURCES}.plain:TextReader",
        "text.wikipedia_reader": f"{_SOURCES}.wikipedia:WikipediaReader",
        "text.warc_reader": f"{_SOURCES}.warc:WarcReader",
        "text.wet_reader": f"{_SOURCES}.warc:WetReader",
        "text.boiler_plate_string_modifier": f"{_MODIFIERS}.lines:BoilerPlateStringModifier",
        "text.control_character_remover": f"{_MODIFIERS}.characters:ControlCharacterRemover",
        "text.document_joiner": "curator_text.segments.joining:DocumentJoiner",
        "text.document_splitter": "curator_text.segments.splitting:DocumentSplitter",
        "text.fast_text_label_modifier": f"{_MODIFIERS}.labels:FastTextLabelModifier",
        "text.html_entity_decoder": f"{_MODIFIERS}.characters:HtmlEntityDecoder",
        "text.line_remover": f"{_MODIFIERS}.lines:LineRemover",
        "text.markdown_remover": f"{_MODIFIERS}.markup:MarkdownRemover",
        "text.newline_normalizer": f"{_MODIFIERS}.spaces:NewlineNormalizer",
        "text.quotation_remover": f"{_MODIFIERS}.markup:QuotationRemover",
        "text.repeated_lines_remover": f"{_MODIFIERS}.lines:RepeatedLinesRemover",
        "text.repeated_paragraphs_remover": f"{_MODIFIERS}.lines:RepeatedParagraphsRemover",
        "text.slicer": f"{_MODIFIERS}.slices:Slicer",
        "text.unicode_normalizer": f"{_MODIFIERS}.characters:UnicodeNormalizer",
        "text.unicode_reformatter": f"{_MODIFIERS}.characters:UnicodeReformatter",
        "text.url_remover": f"{_MODIFIERS}.markup:UrlRemover",
        "text.whitespace_normalizer": f"{_MODIFIERS}.spaces:WhitespaceNormalizer",
        "text.blocked_domains_filter": f"{_FILTERS}.addresses:BlockedDomainsFilter",
        "text.boiler_plate_string_filter": f"{_FILTERS}.lines:BoilerPlateStringFilter",
        "text.bullets_filter": f"{_FILTERS}.lines:BulletsFilter",
        "text.common_english_words_filter": f"{_FILTERS}.words:CommonEnglishWordsFilter",
        "text.ellipsis_filter": f"{_FILTERS}.lines:EllipsisFilter",
        "text.long_word_filter": f"{_FILTERS}.words:LongWordFilter",
        "text.mean_word_length_filter": f"{_FILTERS}.words:MeanWordLengthFilter",
        "text.non_alpha_numeric_filter": f"{_FILTERS}.characters:NonAlphaNumericFilter",
        "text.numbers_filter": f"{_FILTERS}.characters:NumbersFilter",
        "text.parentheses_filter": f"{_FILTERS}.characters:ParenthesesFilter",
        "text.pornographic_urls_filter": f"{_FILTERS}.urls:PornographicUrlsFilter",
        "text.punctuation_filter": f"{_FILTERS}.lines:PunctuationFilter",
        "text.repeated_lines_by_char_filter": f"{_REPETITION}:RepeatedLinesByCharFilter",
        "text.repeated_lines_filter": f"{_REPETITION}:RepeatedLinesFilter",
        "text.repeated_paragraphs_by_char_filter": f"{_REPETITION}:RepeatedParagraphsByCharFilter",
        "text.repeated_paragraphs_filter": f"{_REPETITION}:RepeatedParagraphsFilter",
        "text.repeating_duplicate_n_grams_filter": f"{_NGRAMS}:RepeatingDuplicateNGramsFilter",
        "text.repeating_top_n_grams_filter": f"{_NGRAMS}:RepeatingTopNGramsFilter",
        "text.substring_filter": f"{_FILTERS}.substrings:SubstringFilter",
        "text.symbols_to_words_filter": f"{_FILTERS}.words:SymbolsToWordsFilter",
        "text.urls_filter": f"{_FILTERS}.urls:UrlsFilter",
        "text.white_space_filter": f"{_FILTERS}.characters:WhiteSpaceFilter",
        "text.histogram_filter": f"{_FILTERS}.histograms:HistogramFilter",
        "text.perplexity_filter": f"{_FILTERS}.likelihoods:PerplexityFilter",
        "text.token_count_filter": f"{_FILTERS}.tokens:TokenCountFilter",
        "text.unigram_log_prob_filter": f"{_FILTERS}.likelihoods:UnigramLogProbFilter",
        "text.word_count_filter": f"{_FILTERS}.words:WordCountFilter",
        "text.words_without_alphabets_filter": f"{_FILTERS}.words:WordsWithoutAlphabetsFilter",
        "text.stop_word_language_filter": f"{_FILTERS}.languages:StopWordLanguageFilter",
        "text.language_identifier": "curator_text.languages.identifying:LanguageIdentifier",
        "text.script_identifier": "curator_text.languages.identifying:ScriptIdentifier",
        "text.script_filter": f"{_FILTERS}.scripts:ScriptFilter",
        "text.language_filter": f"{_FILTERS}.languages:LanguageFilter",
        "text.c4_bad_words_filter": f"{_SETS}.c4_bad_words:C4BadWordsFilter",
        "text.c4_paragraph_filter": f"{_SETS}.c4_paragraphs:C4ParagraphFilter",
        "text.c4_quality_filter": f"{_SETS}.c4_quality:C4QualityFilter",
        "text.fine_web_quality_filter": f"{_SETS}.fineweb:FineWebQualityFilter",
        "text.gopher_quality_filter": f"{_SETS}.gopher_quality:GopherQualityFilter",
        "text.gopher_repetition_filter": f"{_SETS}.gopher_repetition:GopherRepetitionFilter",
        "text.pii_finder": "curator_text.pii.stages:PiiFinder",
        "text.pii_redactor": "curator_text.pii.stages:PiiRedactor",
        "text.pii_filter": "curator_text.pii.stages:PiiFilter",
        "text.document_statistics": "curator_text.statistics.collecting:DocumentStatistics",
        "text.decontaminator": "curator_text.contamination.removing:Decontaminator",
        "text.hash_splitter": "curator_text.mixing.splitting:HashSplitter",
        "text.blocked_urls_filter": f"{_FILTERS}.addresses:BlockedUrlsFilter",
        "text.url_words_filter": f"{_FILTERS}.addresses:UrlWordsFilter",
        "text.python_comment_to_code_filter": f"{_FILTERS}.code:PythonCommentToCodeFilter",
        "text.general_comment_to_code_filter": f"{_FILTERS}.code:GeneralCommentToCodeFilter",
        "text.number_of_lines_of_code_filter": f"{_FILTERS}.code:NumberOfLinesOfCodeFilter",
        "text.xml_header_filter": f"{_FILTERS}.code:XMLHeaderFilter",
        "text.alpha_filter": f"{_FILTERS}.code:AlphaFilter",
        "text.html_boilerplate_filter": f"{_FILTERS}.code:HTMLBoilerplateFilter",
        "text.per_extension_filter": f"{_FILTERS}.code_extensions:PerExtensionFilter",
        "text.tokenizer_fertility_filter": f"{_FILTERS}.code_tokens:TokenizerFertilityFilter",
        "text.content_type_classifier": f"{_LABELS}:ContentTypeClassifier",
        "text.domain_classifier": f"{_LABELS}:DomainClassifier",
        "text.multilingual_domain_classifier": f"{_LABELS}:MultilingualDomainClassifier",
        "text.quality_classifier": f"{_LABELS}:QualityClassifier",
        "text.sequence_classifier": f"{_LABELS}:SequenceClassifier",
        "text.prompt_task_complexity": f"{_MODELS}.complexity:PromptTaskComplexity",
        "text.fine_web_edu_classifier": f"{_MODELS}.education:FineWebEduClassifier",
        "text.text_embedder": f"{_MODELS}.embedding:TextEmbedder",
        "text.instruction_data_guard": f"{_MODELS}.guarding:InstructionDataGuard",
        "text.score_buckets": f"{_MODELS}.buckets:ScoreBuckets",
        "text.route_by_column": f"{_MODELS}.routing:RouteByColumn",
        "text.fast_text_quality_filter": f"{_MODELS}.fasttext_filters:FastTextQualityFilter",
        "text.aegis_classifier": f"{_MODELS}.safety:AegisClassifier",
    }


@hookimpl
def curator_workflows() -> dict[str, str]:
    return {
        "text.blend_workflow": "curator_text.mixing.blending:BlendWorkflow",
        "text.shuffle_workflow": "curator_text.mixing.shuffling:ShuffleWorkflow",
    }
