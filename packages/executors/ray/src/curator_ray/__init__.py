"""What the executors on Ray share: connecting, facts about the cluster, workers, hygiene."""
