"""Prompt complexity: classify prompts by task, and score how hard they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from curator_models.hub import ModelError, read_config
from curator_models.loading import build_untrained, fill_network, load_weights

from curator_text.models.base import ModelStage, TextModel, TextModelSource

TASK = "task_type"
WEIGHTS = {
    "creativity_scope": 0.35,
    "reasoning": 0.25,
    "constraint_ct": 0.15,
    "domain_knowledge": 0.15,
    "contextual_knowledge": 0.05,
    "number_of_few_shots": 0.05,
}
"""Weight of each dimension in the overall complexity."""

DIMENSIONS = (
    "creativity_scope",
    "reasoning",
    "contextual_knowledge",
    "number_of_few_shots",
    "domain_knowledge",
    "no_label_reason",
    "constraint_ct",
)
SCORE = "prompt_complexity_score"
NO_SECOND_TASK = "NA"
_MIN_SECOND_PROBABILITY = 0.1
_MIN_FEW_SHOTS = 0.05
_KEYS = ("target_sizes", "task_type_map", "weights_map", "divisor_map")


@dataclass(kw_only=True)
class PromptTaskComplexity(TextModel):
    """Classifies the task of a prompt and scores its complexity, by NVIDIA's model.

    Adds task_type_1, task_type_2 (NA below 10 %) and task_type_prob, seven dimensions under their
    own names, and prompt_complexity_score, their weighted sum.
    """

    model: str = "nvidia/prompt-task-and-complexity-classifier"
    """Folder of a model, or its Hugging Face name."""

    max_chars: int | None = 2000
    """Number of characters of a text to tokenize; the rest is ignored."""

    base_model: str = "microsoft/deberta-v3-base"
    """Folder or Hugging Face name of the transformer's configuration, if the model has none."""

    def model_stage(self) -> ModelStage:
        return ComplexityModel(
            self.source_of(self.model), self.source_of(self.base_model), inference=self.inference()
        )


@dataclass(frozen=True)
class HeadSettings:
    """Layout and meaning of the model's output numbers."""

    sizes: Mapping[str, int]
    tasks: Sequence[str]
    weights: Mapping[str, Sequence[float]]
    divisors: Mapping[str, float]

    @classmethod
    def from_folder(cls, folder: Path) -> "HeadSettings":
        settings = read_config(folder)
        if missing := [key for key in _KEYS if key not in settings]:
            raise ModelError(
                f"{folder} is not a model of prompt task and complexity: its config.json has no "
                f"{', '.join(missing)}"
            )
        tasks = settings["task_type_map"]
        return cls(
            settings["target_sizes"],
            [str(tasks[key]) for key in sorted(tasks, key=int)],
            settings["weights_map"],
            settings["divisor_map"],
        )

    def split_by_head(self, answer: Any) -> dict[str, Any]:
        """Split an answer into the probabilities of each head."""
        parts, start = {}, 0
        for name, size in self.sizes.items():
            parts[name] = answer[start : start + size]
            start += size
        return parts

    def to_record(self, answer: Any) -> dict[str, Any]:
        parts = self.split_by_head(answer)
        first, second = parts[TASK].argsort()[::-1][:2]
        likely = parts[TASK][second] >= _MIN_SECOND_PROBABILITY
        record: dict[str, Any] = {
            "task_type_1": self.tasks[first],
            "task_type_2": self.tasks[second] if likely else NO_SECOND_TASK,
            "task_type_prob": round(float(parts[TASK][first]), 3),
        }
        for name in DIMENSIONS:
            score = float(parts[name] @ self.weights[name]) / self.divisors[name]
            record[name] = round(score, 4)
        if record["number_of_few_shots"] < _MIN_FEW_SHOTS:
            record["number_of_few_shots"] = 0.0
        record[SCORE] = round(sum(WEIGHTS[name] * record[name] for name in WEIGHTS), 5)
        return record


_TEXTS = ("task_type_1", "task_type_2")
_COLUMNS = (*_TEXTS, "task_type_prob", *DIMENSIONS, SCORE)


@dataclass
class ComplexityModel(ModelStage):
    """Adds the answers of a model with several heads."""

    base_model: TextModelSource

    def outputs(self) -> Sequence[str]:
        return _COLUMNS

    def setup_on_node(self, node: Any) -> None:
        super().setup_on_node(node)
        if "model_type" not in read_config(self.source.folder()):
            self.base_model.fetch(weights=False)

    def load(self, folder: Path) -> Any:
        from curator_text.models.networks import PromptHeads

        self._heads = HeadSettings.from_folder(folder)
        has_config = "model_type" in read_config(folder)
        backbone = build_untrained(folder if has_config else self.base_model.folder())
        sizes = [int(size) for size in self._heads.sizes.values()]
        network = PromptHeads(backbone, backbone.config.hidden_size, sizes)
        return fill_network(network, load_weights(folder), folder)

    def to_columns(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        records = [{} if answer is None else self._heads.to_record(answer) for answer in answers]
        return {
            name: pa.array(
                [record.get(name) for record in records],
                pa.string() if name in _TEXTS else pa.float64(),
            )
            for name in _COLUMNS
        }
