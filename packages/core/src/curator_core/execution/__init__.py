"""What happens inside a worker: running stages, accounting, faults and telemetry."""
