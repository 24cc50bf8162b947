"""`RayDataExecutor` will live here: a plan as a Ray Data job. Not yet."""
