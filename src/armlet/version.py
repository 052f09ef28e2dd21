"""The version of armlet: the package, its cache and what it writes have it from here."""

__version__ = "0.1.0"
