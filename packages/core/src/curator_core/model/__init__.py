"""The model that users work with: tasks, stages, resources, policies and the records of a run."""
