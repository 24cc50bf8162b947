"""Tiny vision-language models caption pictures, in batches as alone."""

from collections.abc import Callable
from typing import Any

import pytest
from curator_core import StageError
from curator_core.model.stages import flatten
from curator_core.testing import run_stage
from curator_image.models.captioner import Captioner
from drawings import batch, drawn, encoded
from tiny_image_models import WORDS

Tiny = Callable[[str], str]


def captions(folder: str, **options: Any) -> list[str]:
    task = batch(*[encoded(drawn(number, (70, 50 + 8 * number))) for number in range(5)])
    stage = Captioner(model=folder, device="cpu", max_new_tokens=6, **options)
    [found] = run_stage(stage, task)
    assert found.data["caption_model"][0].as_py().startswith(f"{folder} sha256:")
    return list(found.data["caption"].to_pylist())


@pytest.mark.parametrize("kind", ["llava", "git"])
def test_each_picture_gets_its_own_words(tiny: Tiny, kind: str) -> None:
    prompt = "a drawing of the dog" if kind == "llava" else ""
    together = captions(tiny(kind), prompt=prompt)
    alone = captions(tiny(kind), prompt=prompt, model_inference_batch_size=1)
    assert together == alone
    assert len(set(together)) > 1
    assert set(" ".join(together).split()) <= {*WORDS, "[UNK]"}
    assert not any(message.startswith("a drawing of the dog") for message in together)


def test_a_model_of_another_kind_is_refused(tiny: Tiny) -> None:
    with pytest.raises(StageError, match=r"cannot load a model|for another purpose"):
        captions(tiny("clip"))


def test_the_stage_has_the_name_of_the_user(tiny: Tiny) -> None:
    [part] = flatten([Captioner(model=tiny("git"), device="cpu").with_(name="words")])
    assert part.name == "words"
    assert list(part.check()) == []
