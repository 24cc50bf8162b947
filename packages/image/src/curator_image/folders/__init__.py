"""Folders: pictures as files, and what lies beside each under the same name."""
