"""Measures the product by benchmarks, which `python -m bench` runs.

docs/benchmarks describes them and their results.
"""
