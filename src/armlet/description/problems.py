"""Collect the problems of a robot description, and report all of them at once."""

import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from armlet.errors import ModelError, ModelWarning, listing

MAX_PROBLEMS = 20
"""Maximum number of problems in a message; problems with the same plural count as one."""


Problem = tuple[str, str, str]
"""(message, plural message such as "links have no mass", name of the link or joint)."""


class Problems:
    """Collect errors, warnings and notes; `strict` turns warnings, but not notes, into errors."""

    def __init__(self, where: str, strict: bool = False) -> None:
        self.where = where
        self.strict = strict
        self.errors: list[Problem] = []
        self.warnings: list[Problem] = []

    def error(self, message: str, plural: str = "", name: str = "") -> None:
        """Add an error; errors with the same nonempty `plural` are reported in one message."""
        self.errors.append((message, plural, name))

    def warn(self, message: str, plural: str = "", name: str = "") -> None:
        """Add a warning, or an error if `strict`."""
        (self.errors if self.strict else self.warnings).append((message, plural, name))

    def note(self, message: str) -> None:
        """Add a warning that stays a warning even if `strict`, since the file is not at fault."""
        self.warnings.append((message, "", ""))

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Catch a ModelError that the `with` block raises, and add its message to the errors."""
        try:
            yield
        except ModelError as error:
            self.error(str(error))

    def report(self, stacklevel: int) -> None:
        """Raise all errors as one ModelError; if there are no errors, issue the warnings."""
        if self.errors:
            raise ModelError(self._text(self._lines(self.errors)))
        pending, self.warnings = self.warnings, []
        for line in self._lines(pending):
            warnings.warn(line, ModelWarning, stacklevel=stacklevel + 1)

    def _lines(self, problems: Iterable[Problem]) -> list[str]:
        """Return the messages in order; problems with the same plural share one message."""
        groups: defaultdict[str, list[Problem]] = defaultdict(list)
        for problem in problems:
            message, plural, _ = problem
            groups[plural or message].append(problem)
        lines = []
        for group in groups.values():
            message, plural, _ = group[0]
            names = listing([name for _, _, name in group])
            several = f"{self.where}: {len(group)} {plural}: {names}"
            lines.append(several if plural and len(group) > 1 else message)
        return lines

    def _text(self, lines: Sequence[str]) -> str:
        """Join the lines into one message that names the file only once."""
        if len(lines) == 1:
            return lines[0]
        own = [line.removeprefix(self.where).lstrip(",: ") for line in lines[:MAX_PROBLEMS]]
        rest = len(lines) - MAX_PROBLEMS
        more = [f"and {rest} more"] if rest > 0 else []
        return "\n  ".join([f"{self.where}: {len(lines)} problems:", *own, *more])
