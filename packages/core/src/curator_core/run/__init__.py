"""The driver's side of a run: sources, journal, outputs, quarantine, locks and events."""
