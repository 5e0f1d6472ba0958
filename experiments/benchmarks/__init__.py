"""Measurements of speed and memory, each run with `python -m experiments.benchmarks.NAME`."""
