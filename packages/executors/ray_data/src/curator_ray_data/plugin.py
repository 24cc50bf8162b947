"""The entry point `ray_data`. It offers nothing yet.

The executor is named here with the hook `curator_executors`, as `ray_data`.
"""
