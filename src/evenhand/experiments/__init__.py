"""Experiments: a config becomes a run, a run a directory, directories a table, a table a figure."""
