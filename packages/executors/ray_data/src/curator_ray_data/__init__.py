"""Curator executor: a plan as a Ray Data job. Start with `curator_ray_data.executor`."""
