"""The entry point `dedup`. It offers nothing yet.

Stages and workflows are named here with the hooks `curator_stages` and `curator_workflows`,
each as `dedup.<name>`.
"""
