"""Expressions of xacro files, evaluated without running Python.

The package xacro evaluates Python's expressions by `eval`. Here their syntax tree is walked: names
that the file defines, numbers, texts, lists and a table of functions. Whatever else is in an
expression is refused by name, and so are results so large that they can only do harm.
"""

import ast
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from armlet.errors import ModelError, quoted, shown

MAX_EXPRESSION = 10_000
"""The most characters of an expression."""
MAX_WEIGHT = 100_000
"""The most characters and entries of a value, those of all it holds among them."""
MAX_WORK = 20 * MAX_WEIGHT
"""The most characters and entries of all values that an expression goes through."""
MAX_BITS = 1024
"""The most bits of an integer."""

OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Pow: operator.pow, ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Not: operator.not_,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda x, y: x in y, ast.NotIn: lambda x, y: x not in y,
}  # fmt: skip
TEXT_METHODS = (
    "capitalize", "count", "endswith", "find", "isdigit", "join", "lower", "lstrip", "replace",
    "rsplit", "rstrip", "split", "startswith", "strip", "title", "upper",
)  # fmt: skip
METHODS: dict[type, frozenset[str]] = {
    str: frozenset(TEXT_METHODS),
    dict: frozenset(("get", "items", "keys", "values")),
    list: frozenset(("count", "index")),
}
"""The methods of values that may be called."""


class Functions(dict[str, Any]):
    """Functions by their names, as `math.sin`."""


def _list(x: Iterable[Any] = ()) -> list[Any]:
    return list(x)


MATH = Functions(
    acos=math.acos, asin=math.asin, atan=math.atan, atan2=math.atan2, ceil=math.ceil,
    copysign=math.copysign, cos=math.cos, cosh=math.cosh, degrees=math.degrees, e=math.e,
    exp=math.exp, fabs=math.fabs, floor=math.floor, fmod=math.fmod, hypot=math.hypot, inf=math.inf,
    isclose=math.isclose, isfinite=math.isfinite, isinf=math.isinf, isnan=math.isnan, log=math.log,
    log10=math.log10, log2=math.log2, pi=math.pi, pow=math.pow, radians=math.radians, sin=math.sin,
    sinh=math.sinh, sqrt=math.sqrt, tan=math.tan, tanh=math.tanh, tau=math.tau, trunc=math.trunc,
)  # fmt: skip
PYTHON = Functions(
    abs=abs, all=all, any=any, bool=bool, dict=dict, float=float, int=int, len=len, list=_list,
    max=max, min=min, reversed=lambda x: list(reversed(x)), round=round, sorted=sorted, str=str,
    sum=sum, tuple=lambda x=(): tuple(x), zip=lambda *x: [*zip(*x)],  # noqa: B905 (as in Python)
    range=lambda *x: _range(*x),
)  # fmt: skip
SYMBOLS: dict[str, Any] = {**MATH, **PYTHON, "math": MATH, "python": PYTHON}
SYMBOLS |= {"True": True, "False": False, "None": None}


def evaluated(text: str, names: Mapping[str, Any], where: str) -> Any:
    """The value of an expression; `where` is the file that has it."""
    text = text.strip()
    subject = f"{where}: ${{{shown(text)}}}"
    if len(text) > MAX_EXPRESSION:
        raise ModelError(f"{subject}: an expression of {len(text)} characters: expected fewer")
    try:
        tree = ast.parse(text, mode="eval")
        return _Evaluator(names, subject).value(tree.body)
    except ModelError:
        raise
    except SyntaxError as error:
        raise ModelError(f"{subject}: not an expression: {shown(str(error.msg))}") from None
    except (RecursionError, MemoryError):
        raise ModelError(f"{subject}: expected an expression that is not so large") from None
    except Exception as error:  # of any kind, as functions of Python raise them
        raise ModelError(f"{subject}: {type(error).__name__}: {shown(str(error))}") from None


class _Evaluator:
    """Walks the syntax tree of an expression."""

    def __init__(self, names: Mapping[str, Any], subject: str) -> None:
        self.names = names
        self.subject = subject
        self.work = 0

    def value(self, node: ast.expr) -> Any:
        """The value of a part of the expression, of bounded size."""
        value = self._value(node)
        size = weight(value)
        self.work += size
        is_long = isinstance(value, int) and _bits(value) > MAX_BITS
        if size > MAX_WEIGHT or self.work > MAX_WORK or is_long:
            raise ModelError(f"{self.subject}: a value that is too large: expected a small one")
        return value

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=int() | float() | str() | None as value):
                return value
            case ast.Name(id=name):
                return self._named(name)
            case ast.BinOp(left=left, op=op, right=right):
                return self._operated(op, self.value(left), self.value(right))
            case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATORS:
                return OPERATORS[type(op)](self.value(operand))
            case ast.BoolOp(op=op, values=values):
                return self._chosen(isinstance(op, ast.Or), values)
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self._compared(self.value(left), ops, others)
            case ast.IfExp(test=test, body=body, orelse=other):
                return self.value(body if self.value(test) else other)
            case ast.List(elts=parts):
                return [self.value(part) for part in parts]
            case ast.Tuple(elts=parts):
                return tuple(self.value(part) for part in parts)
            case ast.Dict(keys=keys, values=values) if all(keys):
                return {
                    self.value(k): self.value(v) for k, v in zip(keys, values, strict=True) if k
                }
            case ast.Subscript(value=whole, slice=place):
                return self.value(whole)[self._place(place)]
            case ast.Attribute(value=whole, attr=name):
                return self._part(self.value(whole), name)
            case ast.Call(func=function, args=args, keywords=named):
                return self._called(function, args, named)
        raise self._refused(type(node).__name__)

    def _refused(self, what: str) -> ModelError:
        return ModelError(
            f"{self.subject}: {shown(what)} in an expression, which armlet does not evaluate: "
            "expected names, numbers, texts, operators and functions of the table in its "
            "documentation"
        )

    def _named(self, name: str) -> Any:
        if name.startswith("_"):
            raise self._refused(f"the name {name}")
        try:
            return self.names[name]
        except KeyError:
            raise ModelError(
                f"{self.subject}: the name {quoted(name)} is not known: expected a property, an "
                "argument of the macro or a function"
            ) from None

    def _operated(self, op: ast.operator, x: Any, y: Any) -> Any:
        if type(op) not in OPERATORS or (isinstance(op, ast.Mod) and isinstance(x, str)):
            raise self._refused(type(op).__name__)
        if isinstance(op, ast.Mult):
            _check_repetition(x, y)
            _check_repetition(y, x)
        if isinstance(op, ast.Pow) and isinstance(x, int) and _bits(x) * abs(y) > MAX_BITS:
            raise OverflowError("a power that is too large")
        return OPERATORS[type(op)](x, y)

    def _chosen(self, either: bool, parts: list[ast.expr]) -> Any:
        """The value of `or`, or of `and`."""
        value = None
        for part in parts:
            value = self.value(part)
            if bool(value) == either:
                break
        return value

    def _compared(self, x: Any, ops: list[ast.cmpop], others: list[ast.expr]) -> bool:
        for op, other in zip(ops, others, strict=True):
            y = self.value(other)
            if not OPERATORS[type(op)](x, y):
                return False
            x = y
        return True

    def _place(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Slice):
            ends = (node.lower, node.upper, node.step)
            return slice(*(None if end is None else self.value(end) for end in ends))
        return self.value(node)

    def _part(self, whole: Any, name: str) -> Any:
        """What is after a dot: a function of a table, an entry, or a method of a value."""
        if name.startswith("_"):
            raise self._refused(f"the name {name}")
        if isinstance(whole, Mapping):
            try:
                return whole[name]
            except KeyError:
                if isinstance(whole, Functions):
                    raise
        for kind, methods in METHODS.items():
            if isinstance(whole, kind) and name in methods:
                if name in ("replace", "join"):
                    return lambda *args: _text_of(str(whole), name, args)
                return getattr(whole, name)
        raise self._refused(f"{type(whole).__name__}.{name}")

    def _called(self, node: ast.expr, args: list[ast.expr], named: list[ast.keyword]) -> Any:
        if not isinstance(node, ast.Name | ast.Attribute):
            raise self._refused("a call of a value")
        function = self.value(node)
        if not callable(function):
            raise self._refused(f"a call of {quoted(function)}")
        values = [self.value(arg) for arg in args]
        if not all(keyword.arg for keyword in named):
            raise self._refused("**")
        return function(*values, **{str(k.arg): self.value(k.value) for k in named})


def _bits(x: int) -> int:
    return abs(x).bit_length()


def _check_repetition(x: Any, count: Any) -> None:
    repeats = isinstance(x, str | list | tuple) and isinstance(count, int)
    if repeats and len(x) * count > MAX_WEIGHT:
        raise OverflowError("a repetition that is too long")


def _range(*ends: Any) -> list[int]:
    whole = range(*ends)
    if len(whole) > MAX_WEIGHT:
        raise OverflowError("a range that is too long")
    return list(whole)


def _text_of(text: str, method: str, args: tuple[Any, ...]) -> str:
    """The result of a method that may make a text much longer."""
    parts = args[0] if method == "join" else [args[1]] * (text.count(args[0]) + 1)
    if sum(len(part) + len(text) for part in parts) > 100 * MAX_WEIGHT:
        raise OverflowError("a text that is too long")
    return str(getattr(text, method)(*args))


def weight(value: Any) -> int:
    """How many characters and entries a value has, counted until there are too many."""
    total, waiting = 0, [value]
    while waiting and total <= MAX_WEIGHT:
        x = waiting.pop()
        if isinstance(x, str):
            total += len(x)
        elif isinstance(x, Functions):
            total += 1
        elif isinstance(x, Mapping) and isinstance(x, dict):
            total += len(x)
            waiting += [*dict.keys(x), *dict.values(x)]
        elif isinstance(x, list | tuple):
            total += len(x)
            waiting += x
        else:
            total += 1
    return total
