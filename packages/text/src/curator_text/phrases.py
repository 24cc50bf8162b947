"""Phrases that mark a paragraph as boilerplate, in lower case."""

FILLER = "lorem ipsum"

POLICY = (
    "cookie policy",
    "cookies policy",
    "privacy overview",
    "privacy policy",
    "terms of use",
    "use cookies",
    "use of cookies",
    "uses cookies",
)
