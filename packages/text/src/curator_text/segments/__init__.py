"""Documents in parts: a row each, and put together again."""
