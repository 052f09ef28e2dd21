"""The version of armlet, used by the package, the cache and generated files."""

__version__ = "0.1.0"
