"""The expression graph: record, fold, replay, count and differentiate programs."""

from armlet.graph.count import Count
from armlet.graph.graph import OPERATIONS, Graph, Traced
from armlet.graph.program import Program, traced

__all__ = ["OPERATIONS", "Count", "Graph", "Program", "Traced", "traced"]
