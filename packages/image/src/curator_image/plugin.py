"""The entry point `image`. It offers nothing yet.

Stages are named here with the hook `curator_stages`, each as `image.<name>`.
"""
