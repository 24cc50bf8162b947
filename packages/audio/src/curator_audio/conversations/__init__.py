"""Conversations: windows of recordings in which several people speak."""
