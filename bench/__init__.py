"""Measurements that are run by hand: what they measure and found is in docs/benchmarks.md."""
