"""HTML: extract text from web pages."""
