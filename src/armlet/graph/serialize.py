"""Programs as text and back, node by node."""

from typing import Any

from armlet._support.gc_pause import without_collections
from armlet.graph.evaluate.namespaces import objects
from armlet.graph.graph import Graph, Traced
from armlet.graph.inputs import Input, named_inputs
from armlet.graph.program import Program, program


@without_collections
def stored(p: Program) -> dict[str, Any]:
    """A program as plain data: an operand is a node's number, or a constant in a list of one."""
    number: dict[int, int] = {}

    def plain(x: Any) -> Any:
        return number[x.index] if isinstance(x, Traced) else [x]

    nodes = []
    for i, op, args in p.nodes:
        named = op in ("input", "symbol")
        nodes.append([op, *(args if named else map(plain, args))])
        number[i] = len(number)
    return {
        "name": p.name,
        "inputs": [[name, list(shape), rate] for name, shape, rate in p.inputs.values()],
        "outputs": [[list(y.shape), [plain(x) for x in y.flat]] for y in p.outputs],
        "single": p.single,
        "names": p.names,
        "nodes": nodes,
    }


@without_collections
def restored(data: dict[str, Any]) -> Program:
    """The program that was stored."""
    graph = Graph()

    def scalar(x: Any) -> Any:
        return x[0] if isinstance(x, list) else graph.scalars[x]

    for op, *args in data["nodes"]:
        named = op in ("input", "symbol")
        graph.node(op, tuple(args if named else map(scalar, args)))
    outputs = [
        objects([scalar(x) for x in entries], tuple(shape)) for shape, entries in data["outputs"]
    ]
    inputs = named_inputs(Input(name, tuple(shape), rate) for name, shape, rate in data["inputs"])
    names = data["names"] and tuple(data["names"])
    return program(data["name"], inputs, outputs, data["single"], names)
