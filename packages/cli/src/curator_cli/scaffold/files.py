"""Writing new files: refuses to overwrite, and checks all names before it writes."""

from collections.abc import Mapping
from pathlib import Path
from string import Template

from curator_core.errors import OutputError

TEMPLATES = Path(__file__).parent / "templates"


def template(source: str, /, **values: str) -> str:
    """Return a template with its values filled in."""
    return Template((TEMPLATES / source).read_text(encoding="utf-8")).substitute(values)


def write_new(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Write the files below `folder` and return their paths."""
    taken = [folder / name for name in files if (folder / name).exists()]
    if taken:
        more = f" and {len(taken) - 3} more" if len(taken) > 3 else ""
        names = ", ".join(map(str, taken[:3])) + more
        verb = "exists" if len(taken) == 1 else "exist"
        raise OutputError(f"{names} {verb} already; nothing was written: choose another folder")
    written = []
    for name, text in files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            reason = f"{folder} is a file" if folder.is_file() else error.strerror
            raise OutputError(f"cannot write {path}: {reason}; choose another folder") from error
        written.append(path)
    return written
