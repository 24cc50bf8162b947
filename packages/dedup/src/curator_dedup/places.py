"""Workflow folders: where a workflow reads, writes, and keeps intermediate files."""

from typing import Any, ClassVar

from curator_core import PipelineError, Workflow
from curator_core.io.filesystems import StorageOptions, as_text, join

from curator_dedup.kinds import wrong_kinds


class WorkflowInFolders(Workflow):
    """Base of workflows from files to a folder.

    Subclasses are dataclasses that document these options.
    """

    input_path: str | list[str]
    output_path: str
    work_path: str | None
    storage: StorageOptions

    work_option: ClassVar[str] = "work_path"

    def __post_init__(self) -> None:
        self.input_path = as_text(self.input_path)
        self.output_path = str(self.output_path)

    @property
    def work_dir(self) -> str:
        return str(self.work_path or join(self.output_path, ".curator", self.name))

    @property
    def storage_options(self) -> dict[str, Any]:
        return dict(self.storage)

    def folder(self, name: str) -> str:
        return join(self.work_dir, name)

    def refuse_problems(self, *, allow_empty: bool = False) -> None:
        """Check types first: values of the wrong type cannot be compared with a range."""
        wrong = list(wrong_kinds(self))
        if wrong:
            raise PipelineError([f"{self.name}: {problem}" for problem in wrong])
        super().refuse_problems(allow_empty=allow_empty)
