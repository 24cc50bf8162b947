"""The entry point `audio`. It offers nothing yet.

Stages are named here with the hook `curator_stages`, each as `audio.<name>`.
"""
