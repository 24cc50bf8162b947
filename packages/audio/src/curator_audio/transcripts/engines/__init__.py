"""Engines: libraries that run speech recognition models, behind one interface."""
