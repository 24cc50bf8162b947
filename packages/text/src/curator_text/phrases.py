"""Phrases that mark a paragraph as boilerplate, in lower case."""

import re

FILLER = "lorem ipsum"

# For a whole notice, its beginning is enough.
NOTICES = (
    "terms of use",
    "privacy policy",
    "cookie policy",
    "uses cookies",
    "privacy overview",
    "use of cookies",
    "use cookies",
    "privacy & cookies policy",
    "privacy and cookies policy",
    "necessary cookies are absolutely essential",
    "any cookies that may not be particularly necessary",
    "if you continue to browse this site without changing your cookie",
)
POLICY = re.compile("|".join(NOTICES))
