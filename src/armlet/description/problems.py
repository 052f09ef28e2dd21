"""The problems of a robot description, reported all at once."""

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
    """Collects the errors and warnings of a description, for one report.

    With `strict`, warnings are errors too, except notes.
    """

    def __init__(self, where: str, strict: bool = False) -> None:
        self.where = where
        self.strict = strict
        self.errors: list[Problem] = []
        self.warnings: list[Problem] = []

    def error(self, message: str, plural: str = "", name: str = "") -> None:
        """Add an error; those with the same plural become one message."""
        self.errors.append(Problem(message, plural, name))

    def warn(self, message: str, plural: str = "", name: str = "") -> None:
        """Add a warning, or an error if `strict`."""
        (self.errors if self.strict else self.warnings).append(Problem(message, plural, name))

    def note(self, message: str) -> None:
        """Add a warning that is none of the file's faults, also if `strict`."""
        self.warnings.append(Problem(message))

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Catch a ModelError that is raised inside, and add it to the errors."""
        try:
            yield
        except ModelError as error:
            self.error(str(error))

    def report(self, stacklevel: int) -> None:
        """Raise all errors as one ModelError; without any, issue the warnings."""
        if self.errors:
            raise ModelError(self._text(self._lines(self.errors)))
        pending, self.warnings = self.warnings, []
        for line in self._lines(pending):
            warnings.warn(line, ModelWarning, stacklevel=stacklevel + 1)

    def _lines(self, problems: Iterable[Problem]) -> list[str]:
        """The messages, one for all problems with the same plural, in the order of the file."""
        groups: defaultdict[str, list[Problem]] = defaultdict(list)
        for problem in problems:
            groups[problem.plural or problem.message].append(problem)
        return [
            f"{self.where}: {len(group)} {first.plural}: {listing([x.name for x in group])}"
            if first.plural and len(group) > 1
            else first.message
            for first, group in ((group[0], group) for group in groups.values())
        ]

    def _text(self, lines: Sequence[str]) -> str:
        """The lines as one message, which names the file only once."""
        if len(lines) == 1:
            return lines[0]
        own = [line.removeprefix(self.where).lstrip(",: ") for line in lines[:MAX_PROBLEMS]]
        rest = len(lines) - MAX_PROBLEMS
        more = [f"and {rest} more"] if rest > 0 else []
        return "\n  ".join([f"{self.where}: {len(lines)} problems:", *own, *more])
