"""The arms included in armlet, by name."""

import tomllib
from functools import cache
from pathlib import Path


@cache
def catalogue() -> dict[str, Path]:
    """The file of each named arm."""
    folder = Path(__file__).with_name("catalog")
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def about(name: str) -> dict[str, str]:
    """Title and source of a named arm."""
    data = tomllib.loads(catalogue()[name].read_text(encoding="utf-8"))
    return {"title": data["title"], "source": data["source"]}
