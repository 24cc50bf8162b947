"""Model stages: run a model over pictures.

Stages load torch or onnxruntime only if they need it.
"""
