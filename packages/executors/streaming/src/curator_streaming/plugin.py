"""The entry point `streaming`. It offers nothing yet.

The executor is named here with the hook `curator_executors`, as `streaming`.
"""
