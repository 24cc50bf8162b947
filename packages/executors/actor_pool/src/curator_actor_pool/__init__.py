"""The actor pool executor: one stage after the other on all of a Ray cluster."""
