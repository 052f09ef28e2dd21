"""Random expressions: trees of operations, their values, and the programs traced from them."""

import math

import mpmath
import numpy as np
from hypothesis import strategies as st

from armlet.graph import OPERATIONS, trace_function

INPUTS = {"x": (3,), "y": (2,)}
MODES = ["forward", "reverse"]

VARIABLES = [("input", name, k) for name, (size,) in INPUTS.items() for k in range(size)]
NUMBERS = [0, 1, -1, 2, -3, 0.5, -1.25, 0.1, -0.7]
CHOICES = ("abs", "min", "max", "less", "less_equal", "equal", "where", "floor")
"""Operations that have no derivative at some points."""
CONTINUED = [op for op in OPERATIONS if op not in CHOICES]
SMOOTH = [op for op in CONTINUED if op != "sign"]
LEAVES = [*VARIABLES, *(("neg", x) for x in VARIABLES), *NUMBERS]


def operands_of(any_, positive, nonzero):
    """Operation -> strategies of operands for which the operation is defined."""
    return {
        **dict.fromkeys(("add", "sub", "mul"), (any_, any_)),
        **dict.fromkeys(("neg", "sin", "cos"), (any_,)),
        "div": (any_, nonzero),
        "sqrt": (positive,),
        "sign": (nonzero,),
        **dict.fromkeys(("abs", "tanh"), (any_,)),
        **dict.fromkeys(("min", "max"), (any_, any_)),
        **dict.fromkeys(("less", "less_equal", "equal"), (nonzero, nonzero)),
        "floor": (nonzero,),
        "pow": (positive, nonzero),  # whose result has a bounded size
        "where": (nonzero, any_, any_),
        **dict.fromkeys(("exp", "log"), (positive,)),
        "atan2": (nonzero, nonzero),  # atan2(0, negative) jumps with the sign of the 0
    }


def expressions(depth, operations=tuple(OPERATIONS)):
    """A strategy of trees (op, operand, ...), which are defined if all inputs are positive."""
    tree = leaves = st.sampled_from(LEAVES)
    for level in range(depth):
        positive = st.sampled_from(VARIABLES) | tree.map(lambda b: ("add", 2, ("sin", b)))
        nonzero = positive | positive.map(lambda a: ("neg", a)) | st.sampled_from(NUMBERS[1:])
        operands = operands_of(tree, positive, nonzero)
        operation = st.one_of(st.tuples(st.just(op), *operands[op]) for op in operations)
        tree = operation if level == depth - 1 else leaves | operation
    return tree


def states(*batch):
    """A strategy of positive arrays for every input, with leading axes `batch`."""

    def array(shape):
        size = math.prod(shape)
        numbers = st.lists(st.floats(0.25, 2), min_size=size, max_size=size)
        return numbers.map(lambda x: np.reshape(x, shape))

    arrays = st.tuples(*(array((*batch, *shape)) for shape in INPUTS.values()))
    return arrays.map(lambda values: dict(zip(INPUTS, values, strict=True)))


def value(tree, state):
    """Evaluate an expression directly, operation by operation."""
    if not isinstance(tree, tuple):
        return tree
    op, *operands = tree
    if op == "input":
        return state[operands[0]][operands[1]]
    return OPERATIONS[op](*(value(operand, state) for operand in operands))


def near_a_jump(tree, state, within=1e-6):
    """Whether a comparison or a floor is so close to a jump that rounding errors decide it."""
    if not isinstance(tree, tuple) or tree[0] == "input":
        return False
    op, *operands = tree
    if any(near_a_jump(operand, state, within) for operand in operands):
        return True
    numbers = [value(operand, state) for operand in operands]
    if op in ("less", "less_equal", "equal"):
        return abs(numbers[0] - numbers[1]) < within
    return op == "floor" and abs(numbers[0] - round(numbers[0])) < within


def program_of(*trees):
    def run(graph, x, y):
        return np.array([value(tree, {"x": x, "y": y}) for tree in trees], dtype=object)

    return trace_function("expression", run, INPUTS)


def replayed(program, state):
    def meaning(op, *operands):
        return state[operands[0]][operands[1]] if op == "input" else OPERATIONS[op](*operands)

    return program.replay(meaning)


def fifty(state):
    """Convert a state to mpmath numbers, to compute with fifty digits."""
    return {name: [mpmath.mpf(x) for x in entries] for name, entries in state.items()}


def close(left, right, error):
    return all(
        abs(a - b) <= error * (1 + abs(b))
        for a, b in zip(np.ravel(left), np.ravel(right), strict=True)
    )
