"""Rules over the script of a text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from curator_core.errors import hint

from curator_text.filtering import TextFilter
from curator_text.languages.scripts import OTHER, SCRIPTS, script_shares
from curator_text.texts import Text


@dataclass
class ScriptFilter(TextFilter):
    """Drops texts in other scripts.

    Only letters count; a text without letters has no script.
    """

    scripts: Sequence[str] = ("Latin",)
    """The scripts to keep: `[Latin]`, or `[Han, Hiragana, Katakana]` for Japanese."""

    min_share: float = 0.8
    """Minimum share of letters in these scripts."""

    @property
    def reason(self) -> str:
        return f"script is not {' or '.join(self.scripts)}"

    def check(self) -> Iterable[str]:
        yield from super().check()
        if isinstance(self.scripts, str):
            yield f"scripts is the text {self.scripts!r}, but must be a list: [{self.scripts}]"
            return
        known = (*SCRIPTS, OTHER)
        for script in self.scripts:
            if script not in known:
                yield f"no script {script!r}{hint(script, known)}"

    def score(self, text: Text) -> float:
        shares = script_shares(text)
        return min(1.0, sum(shares.get(script, 0.0) for script in self.scripts))

    def keeps(self, score: float) -> bool:
        return score >= self.min_share
