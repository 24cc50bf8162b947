"""What the executors on Ray will share: connecting, cluster facts, hygiene. Nothing yet."""
