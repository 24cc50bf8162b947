"""The parts of `ExecutorContract`, and the stages, logs and jobs that they use."""
