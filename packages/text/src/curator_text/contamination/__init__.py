"""Contamination: texts of benchmarks that stand in a corpus."""
