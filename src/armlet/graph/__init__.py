"""The expression graph: record, fold, replay, count and differentiate programs."""

from armlet.graph.count import Count
from armlet.graph.graph import OPERATIONS, Graph, Traced
from armlet.graph.inputs import Input
from armlet.graph.loop import Loop
from armlet.graph.program import PRINTERS, Program, compact, traced
from armlet.graph.rewrite.simplify import ORDER, simplified

__all__ = [
    "OPERATIONS",
    "ORDER",
    "PRINTERS",
    "Count",
    "Graph",
    "Input",
    "Loop",
    "Program",
    "Traced",
    "compact",
    "simplified",
    "traced",
]
