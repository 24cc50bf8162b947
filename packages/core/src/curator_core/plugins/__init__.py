"""Plugins: the hooks, and the registry of installed plugins."""
