"""A package, so that one browser can be shared by all of its modules and by nothing else."""
