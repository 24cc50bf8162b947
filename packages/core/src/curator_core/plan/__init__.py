"""Plans: validated pipelines, and the interface of the executors that run them."""
