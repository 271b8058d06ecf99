"""Benchmarks. `python -m bench` runs them, and docs/benchmarks describes them and their results."""
