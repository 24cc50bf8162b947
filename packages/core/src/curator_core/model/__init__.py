"""What users touch: tasks, stages, resources, policies and the records of a run."""
