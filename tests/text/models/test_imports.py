from curator_core.testing import modules_loaded_by


def test_stages_are_listed_and_built_without_their_libraries() -> None:
    heavy = {"torch", "transformers", "safetensors", "huggingface_hub", "floret", "fasttext"}
    listed = modules_loaded_by("import curator_text; curator_text.QualityClassifier(device='cpu')")
    assert not listed & heavy
    planned = modules_loaded_by(
        "from curator_core.model.stages import flatten; import curator_text;"
        "flatten([curator_text.TextEmbedder(device='cpu'), curator_text.AegisClassifier()])"
    )
    assert not planned & heavy
