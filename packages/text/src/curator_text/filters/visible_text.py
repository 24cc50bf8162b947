"""What a reader would see of HTML."""

import html
import re

# Whatever is not closed reaches to the end, so that each character is read once.
_UNSEEN = re.compile(
    r"<(?P<raw>script|style)(?=[\s/>])(?:.*?</(?P=raw)\s*>|.*)"
    r"|<!--(?:.*?-->|.*)"
    r"|</?[a-z](?:[^>\"']++|\"[^\"]*+\"|'[^']*+'|[\"'])*+>?"
    r"|<[!?][^>]*+>?",
    re.DOTALL | re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});", re.IGNORECASE)


def visible_length(source: str) -> int:
    """How many characters there are outside of tags, comments, scripts and styles.

    An entity is the character that it stands for. White space counts as it stands there.
    """
    text = _UNSEEN.sub("", source)
    return (
        len(_ENTITY.sub(lambda found: html.unescape(found[0]), text)) if "&" in text else len(text)
    )
