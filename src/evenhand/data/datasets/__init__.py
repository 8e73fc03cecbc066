"""The data sets of the paper."""
