"""Stages that run models on texts. Only the modules that run a model import torch."""
