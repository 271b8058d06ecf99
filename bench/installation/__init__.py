"""Prepares the installation of a measurement: settings, processes, disk, and data to fill it."""
