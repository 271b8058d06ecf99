"""The installation of a measurement: its settings, processes and disk, and data to fill it."""
