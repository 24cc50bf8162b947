"""The entry point `actor_pool`. It offers nothing yet.

The executor is named here with the hook `curator_executors`, as `actor_pool`.
"""
