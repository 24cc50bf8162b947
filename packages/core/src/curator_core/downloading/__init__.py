"""Downloading: what every modality needs to ask servers for files, public ones only."""
