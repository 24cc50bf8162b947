"""Plugins: the hooks, and the registry of what is installed."""
