"""Folding: simplify trivial operations, and move minus signs outwards.

Moving signs outwards turns `(-a) b` into `-(a b)`, which shares its product with `a b`. Negations
are not counted as operations.
"""

from typing import Any

from armlet import scalar

COMMUTATIVE = frozenset({"add", "mul", "min", "max", "equal"})
COMPARISONS = frozenset({"less", "less_equal", "equal"})
NUMBERS = (int, float)
LIMIT = {"min": float("inf"), "max": -float("inf")}
"""Operation -> its neutral operand: min(x, inf) and max(x, -inf) are x."""


def opposite(x: Any) -> Any:
    """Return -x if x is a negation or a negative number, else None."""
    if isinstance(x, NUMBERS):
        return -x if x < 0 else None
    op, args = x.graph.nodes[x.index]
    return args[0] if op == "neg" else None


def fold(op: str, args: tuple[Any, ...]) -> Any:
    """Return a simpler equivalent of an operation on traced scalars, or None if there is none."""
    x, y = args[0], args[-1]
    # fmt: off
    match op:  # operands are matched later: twice as fast as matching op and operands at once
        case "neg":                                    return opposite(x)
        case "add":
            match numbers(args):
                case (_, 0):                           return x
                case (0, _):                           return y
        case "sub":
            match numbers(args):
                case (_, 0):                           return x
                case (0, _):                           return -y
                case _ if x is y:                      return 0
        case "mul":
            match numbers(args):
                case (_, 0) | (0, _):                  return 0
                case (_, 1):                           return x
                case (1, _):                           return y
                case (_, -1):                          return -x
                case (-1, _):                          return -y
        case "div":
            match numbers(args):
                case (0, _):                           return 0
                case (_, 1):                           return x
                case (_, -1):                          return -x
        case "min" | "max" if x is y:                  return x
        case "min" | "max" if LIMIT[op] in numbers(args):  # no limit, as numpy.clip takes it
            return y if isinstance(x, NUMBERS) else x
        case "less" if x is y:                         return 0
        case "where":
            c, x, y = args
            match numbers(args):
                case _ if scalar.identical(x, y):      return x
                case (int() | float() as k, _, _):     return x if k != 0 else y
                case (_, 1, 0) if is_condition(c):     return c
                case _ if is_negation(c):              return scalar.where(c.args[0], y, x)
    return _fold_signs(op, args)
    # fmt: on


def numbers(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return `args` with None for each traced scalar: comparing the scalar would record a node."""
    return tuple([a if isinstance(a, NUMBERS) else None for a in args])


def is_condition(x: Any) -> bool:
    """Whether `x` is 1, 0, a comparison, or a `where` that selects one of these: always 1 or 0."""
    if isinstance(x, NUMBERS):
        return x in (0, 1)
    return x.op in COMPARISONS or (x.op == "where" and all(map(is_condition, x.args[1:])))


def is_negation(condition: Any) -> bool:
    """Whether a condition has the form "not c", that is `where(c, 0, 1)`."""
    return bool(condition.op == "where" and numbers(condition.args)[1:] == (0, 1))


def _fold_signs(op: str, args: tuple[Any, ...]) -> Any:
    x, y = args if len(args) == 2 else (args[0], None)
    minus_x = opposite(x)
    minus_y = opposite(y) if y is not None else None
    if minus_x is None and minus_y is None:
        return None
    # fmt: off
    match op:
        case "sin" if minus_x is not None:   return -minus_x.sin()
        case "cos" if minus_x is not None:   return minus_x.cos()
        case "sign" if minus_x is not None:  return -minus_x.sign()
        case "tanh" if minus_x is not None:  return -minus_x.tanh()
        case "abs" if minus_x is not None:   return abs(minus_x)
        case "add" if minus_y is not None:   return x - minus_y
        case "add" if minus_x is not None:   return y - minus_x
        case "sub" if minus_y is not None:   return x + minus_y
        case "sub" if minus_x is not None:   return -(minus_x + y)
        case "mul" if minus_x is not None:   return -(minus_x * y)
        case "mul" if minus_y is not None:   return -(x * minus_y)
        case "div" if minus_x is not None:   return -(minus_x / y)
        case "div" if minus_y is not None:   return -(x / minus_y)
        case _:                              return None
    # fmt: on
