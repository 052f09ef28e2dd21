"""Expression graphs: record, simplify, evaluate and differentiate programs; count operations."""

from armlet.graph.count import Count
from armlet.graph.graph import OPERATIONS, Graph, Traced
from armlet.graph.loop import Loop
from armlet.graph.program import Program, compact, trace_function
from armlet.graph.rewrite.simplify import ORDER, simplify
from armlet.graph.signature import Input
