"""Stages that run a model over pictures. Only what runs one imports torch or onnxruntime."""
