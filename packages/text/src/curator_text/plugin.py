"""The entry point `text`. It offers nothing yet.

Stages are named here with the hook `curator_stages`, each as `text.<name>`.
"""
