"""Languages: identify the language and script of texts."""
