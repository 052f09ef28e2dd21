"""Folding of trivial operations, and of signs.

Each rule reads as the identity it states. Signs are moved outwards, since a negation is free and
`a b` and `-a b` then share their product.
"""

from typing import Any

from armlet import scalar

COMMUTATIVE = frozenset({"add", "mul", "min", "max"})
NUMBERS = (int, float)


def negated(x: Any) -> Any:
    """What x is the negation of, or None."""
    if isinstance(x, NUMBERS):
        return -x if x < 0 else None
    op, args = x.graph.nodes[x.index]
    return args[0] if op == "neg" else None


def fold(op: str, args: tuple[Any, ...]) -> Any:
    """The value of an operation that need not be done as it stands, else None.

    At least one operand is a traced scalar.
    """
    # fmt: off
    match op:  # and then the operands, which takes half the time of both at once
        case "neg":                                 return negated(args[0])
        case "add":
            match args:
                case (x, 0) | (0, x):               return x
        case "sub":
            match args:
                case (x, 0):                        return x
                case (0, x):                        return -x
                case (x, y) if x is y:              return 0
        case "mul":
            match args:
                case (_, 0) | (0, _):               return 0
                case (x, 1) | (1, x):               return x
                case (x, -1) | (-1, x):             return -x
        case "div":
            match args:
                case (0, _):                        return 0
                case (x, 1):                        return x
                case (x, -1):                       return -x
        case "min" | "max":
            match args:
                case (x, y) if x is y:              return x
        case "less":
            match args:
                case (x, y) if x is y:              return 0
        case "where":
            match args:
                case (_, x, y) if _same(x, y):      return x
                case (int() | float() as c, x, y):  return x if c > 0 else y
                case (c, 1, 0) if c.op == "less":   return c
                case (c, x, y) if _is_negation(c):  return scalar.where(c.args[0], y, x)
    return _signed(op, args)
    # fmt: on


def _same(x: Any, y: Any) -> bool:
    """Whether two operands are one scalar or one number."""
    return x is y or (isinstance(x, NUMBERS) and isinstance(y, NUMBERS) and x == y)


def _is_negation(condition: Any) -> bool:
    """Whether a condition is 1 where another is 0, and 0 where that is 1."""
    return bool(condition.op == "where" and condition.args[1:] == (0, 1))


def _signed(op: str, args: tuple[Any, ...]) -> Any:
    x, y = args if len(args) == 2 else (args[0], None)
    minus_x = negated(x)
    minus_y = negated(y) if y is not None else None
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
