"""HTML: the text of web pages."""
