"""Programs printed for a target: a table of operations, and a frame around it."""

from armlet.codegen.source import c, readable

__all__ = ["c", "readable"]
