"""The entry point `video`. It offers nothing yet.

Stages are named here with the hook `curator_stages`, each as `video.<name>`.
"""
