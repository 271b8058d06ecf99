"""Results of benchmarks: rows with their ratios, the report, its charts, and the machine."""
