"""Code that runs inside a worker: stages, accounting, timeouts and telemetry."""
