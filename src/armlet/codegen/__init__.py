"""Programs printed for a target: a table of operations, and a frame around it."""

from armlet.codegen.c import source

__all__ = ["source"]
