"""`RayActorPoolExecutor` will live here: a pool of actors per stage, in turn. Not yet."""
