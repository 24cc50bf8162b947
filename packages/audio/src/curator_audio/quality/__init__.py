"""Quality: what listeners would think of recordings, as networks estimate it."""
