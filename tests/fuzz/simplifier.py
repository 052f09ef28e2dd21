"""Random programs keep their values, at fifty digits, in every simplification pass."""

import json

import mpmath
from support.expressions import (
    LEAVES,
    NUMBERS,
    VARIABLES,
    fifty,
    operands_of,
    program_of,
    replayed,
    value,
)
from support.kernels import ROUNDING
from support.rounding import error_bounds

from armlet.codegen.lower import expand_sines
from armlet.graph import ORDER, Program, simplify
from armlet.graph.count import M_PLUS_A
from armlet.graph.rewrite.rewriting import rewrite
from armlet.graph.rewrite.rules import PASSES
from armlet.graph.rewrite.simplify import order_eagerly, share_terms
from fuzz import pick

OPERANDS = operands_of("any", "positive", "nonzero")
OPERATIONS = [op for op in OPERANDS for _ in range(1 + 9 * (op in ("add", "sub", "mul")))]
"""The operations to draw from; sums and products are more frequent, since most rules use them."""
SLACK = 64
"""The factor of the error bounds, for the rounding of constants that a pass combines."""


def trial(rng, folder):
    trees: list = []
    for _ in range(rng.integers(1, 8)):
        trees.append(tree(rng, int(rng.integers(1, 6)), trees))
    state = {"x": rng.uniform(0.25, 2, 3), "y": rng.uniform(0.25, 2, 2)}
    program = program_of(*trees)
    weight = {op: cost * rng.choice([0.5, 1, 3]) for op, cost in M_PLUS_A.items()}
    order = [ORDER[k] for k in rng.permutation(len(ORDER))]
    changed = {
        "traced": program,
        "simplified": simplify(program)[0],
        "weighed": simplify(program, weight, order)[0],
        "shared": share_terms(program),
        "eager": order_eagerly(program),
        "expanded": expand_sines(program),
        "stored": Program.from_dict(json.loads(json.dumps(program.to_dict()))),
        **{name: rewrite(program, identities) for name, identities in PASSES.items()},
    }
    errors = [SLACK * ROUNDING * bound for bound in error_bounds(program, state)]
    with mpmath.workdps(50):
        expected = [value(x, fifty(state)) for x in trees]
        for name, other in changed.items():
            for x, y, error in zip(replayed(other, fifty(state)), expected, errors, strict=True):
                assert abs(x - y) <= error, f"{name} is off by {float(abs(x - y)):.1e}"
    assert changed["simplified"].count().total <= program.count().total
    assert changed["eager"].count() == program.count()


def tree(rng, depth, others):
    """A random expression, defined for positive inputs; it may contain expressions of `others`."""
    if depth == 0 or rng.random() < 0.1:
        return pick(rng, others) if others and rng.random() < 0.3 else pick(rng, LEAVES)
    op = pick(rng, OPERATIONS)
    if op == "sign":  # of a constant, the sign is a NumPy integer, which no program file can hold
        return op, pick(rng, VARIABLES)
    return (op, *(operand(rng, kind, depth - 1, others) for kind in OPERANDS[op]))


def operand(rng, kind, depth, others):
    if kind == "any":
        return tree(rng, depth, others)
    if kind == "positive" or rng.random() < 0.5:
        inside = ("add", 2, ("sin", tree(rng, depth, others)))
        return pick(rng, VARIABLES) if rng.random() < 0.5 else inside
    return pick(rng, NUMBERS[1:]) if rng.random() < 0.5 else ("neg", pick(rng, VARIABLES))
