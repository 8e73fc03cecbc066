"""The version, in the one place where it is written: the package's metadata are made from this line."""

__version__ = "0.2.0"
