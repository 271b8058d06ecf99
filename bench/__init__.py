"""Measurements: `python -m bench` runs them, docs/benchmarks says what they measure and found."""
