"""Engines: the libraries that run models of speech, each behind the same two methods."""
