"""Multiply-adds fused before printing, so that every vector width gives the same bits."""

from collections import Counter
from itertools import chain
from typing import Any

from armlet.graph import Program, Traced

Node = tuple[int, str, tuple[Any, ...]]


def fused(program: Program) -> list[Node]:
    """The live operations, with a product that only one sum uses made part of that sum.

    `fma` is a b + c, `fms` is a b - c and `fnma` is c - a b, each rounded once.
    """
    nodes: list[Node] = list(program.nodes)
    operands = (a for _, _, args in nodes for a in args)
    results = (y for output in program.outputs for y in output.flat)
    uses = Counter([x.index for x in chain(operands, results) if type(x) is Traced])
    product = {i: args for i, op, args in nodes if op == "mul" and uses[i] == 1}
    taken: set[int] = set()
    for k, (i, op, args) in enumerate(nodes):
        fusion = _fusion(op, args, product) if op in ("add", "sub") else None
        if fusion is not None:
            used_up, op, args = fusion
            taken.add(used_up)
            nodes[k] = i, op, args
    return [node for node in nodes if node[0] not in taken]


def _fusion(
    op: str, args: tuple[Any, ...], product: dict[int, tuple[Any, ...]]
) -> tuple[int, str, tuple[Any, ...]] | None:
    """The product used up, the fused operation and its operands, if a sum can take one in."""
    x, y = args
    if isinstance(y, Traced) and y.index in product:
        return y.index, "fma" if op == "add" else "fnma", (*product[y.index], x)
    if isinstance(x, Traced) and x.index in product:
        return x.index, "fma" if op == "add" else "fms", (*product[x.index], y)
    return None
