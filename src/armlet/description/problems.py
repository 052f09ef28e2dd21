"""All that is wrong with a robot description, said at once."""

import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from armlet.errors import ModelError, ModelWarning, listing

MAX_PROBLEMS = 20
"""The most problems that a message lists; those of one plural count as one."""


class Problem(NamedTuple):
    """Something that is wrong: a message of its own, and how several such problems are listed."""

    message: str
    plural: str = ""
    """What several such problems have in common, after their number: 'links have no mass'."""
    name: str = ""
    """What it is called in a list of those."""


class Problems:
    """Collects the problems of a description: errors, and doubts, which may be used.

    `settle` raises the errors as one ModelError and gives the doubts as ModelWarnings, or as errors
    too if they are not tolerated.
    """

    def __init__(self, where: str, strict: bool = False) -> None:
        self.where = where
        self.strict = strict
        self.errors: list[Problem] = []
        self.doubts: list[Problem] = []

    def error(self, message: str, plural: str = "", name: str = "") -> None:
        """Add an error; those with the same plural become one message."""
        self.errors.append(Problem(message, plural, name))

    def doubt(self, message: str, plural: str = "", name: str = "") -> None:
        """Add a doubt: a warning unless `strict`."""
        (self.errors if self.strict else self.doubts).append(Problem(message, plural, name))

    def note(self, message: str) -> None:
        """Add what is worth knowing: always a warning."""
        self.doubts.append(Problem(message))

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Add a ModelError that is raised inside to the errors and go on after it."""
        try:
            yield
        except ModelError as error:
            self.error(str(error))

    def settle(self, stacklevel: int) -> None:
        """Raise the errors, if there are any, or give the doubts as warnings."""
        if self.errors:
            raise ModelError(self._text(self._lines(self.errors)))
        doubts, self.doubts = self.doubts, []
        for line in self._lines(doubts):
            warnings.warn(line, ModelWarning, stacklevel=stacklevel + 1)

    def _lines(self, problems: Iterable[Problem]) -> list[str]:
        """A message for each kind of problem, in the order in which they were found."""
        groups: defaultdict[str, list[Problem]] = defaultdict(list)
        for problem in problems:
            groups[problem.plural or problem.message].append(problem)
        return [self._line(group) for group in groups.values()]

    def _line(self, group: Sequence[Problem]) -> str:
        if len(group) == 1 or not group[0].plural:
            return group[0].message
        names = listing([problem.name for problem in group])
        return f"{self.where}: {len(group)} {group[0].plural}: {names}"

    def _text(self, lines: Sequence[str]) -> str:
        """One message of several lines, of which each leaves out the name of the file."""
        if len(lines) == 1:
            return lines[0]
        own = [line.removeprefix(self.where).lstrip(",: ") for line in lines[:MAX_PROBLEMS]]
        rest = len(lines) - MAX_PROBLEMS
        more = [f"and {rest} more"] if rest > 0 else []
        return "\n  ".join([f"{self.where}: {len(lines)} problems:", *own, *more])
