"""The expression graph: record, fold, replay, count and differentiate programs."""

from armlet.graph.count import Count
from armlet.graph.graph import OPERATIONS, Graph, Traced
from armlet.graph.program import PRINTERS, Program, traced
from armlet.graph.simplify import ORDER, simplified

__all__ = [
    "OPERATIONS",
    "ORDER",
    "PRINTERS",
    "Count",
    "Graph",
    "Program",
    "Traced",
    "simplified",
    "traced",
]
