"""A starter recipe, with a few pages to run it on."""

from pathlib import Path

from curator_core.plugins.registry import Plugins
from curator_core.plugins.registry import plugins as installed_plugins

from curator_cli.scaffold.files import TEMPLATES, write_new


def start_recipe(folder: str | Path, plugins: Plugins | None = None) -> list[Path]:
    """Write `recipe.yaml` and `data/pages.jsonl`; the recipe fits the installed packages."""
    found = installed_plugins() if plugins is None else plugins
    kind = "text" if "text.word_count_filter" in found.stages else "core"
    files = {"recipe.yaml": f"{kind}.yaml", "data/pages.jsonl": "pages.jsonl"}
    texts = {
        name: (TEMPLATES / "recipe" / source).read_text(encoding="utf-8")
        for name, source in files.items()
    }
    return write_new(Path(folder), texts)
