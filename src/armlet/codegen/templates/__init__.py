"""Templates, with words to fill in: @word in generated files, $word in LLVM IR."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib.resources import files
from string import Template


class _AtTemplate(Template):
    delimiter = "@"


def fill(text: str, words: Mapping[str, str]) -> str:
    """Return `text` with each @word replaced by its value in `words`."""
    return _AtTemplate(text).substitute(words)


def fill_file(name: str, words: Mapping[str, str]) -> str:
    """Return the text of a file in this folder, with each @word replaced as in `fill`."""
    return fill(read_file(name), words)


def read_file(name: str) -> str:
    return (files(__name__) / name).read_text(encoding="utf-8")


def read_blocks(name: str) -> dict[str, Callable[..., str]]:
    """Read a file of LLVM IR; return block name -> function that fills in the block's $words.

    A line ";; name" begins a block; comments are left out. A $word may stand for several lines.
    """
    text = re.sub(r"^; .*\n", "", read_file(name), flags=re.MULTILINE)
    text = text.replace("{", "{{").replace("}", "}}")
    _, *texts = re.split(r"^;; (\w+)\n", re.sub(r"\$(\w+)", r"{\1}", text), flags=re.MULTILINE)
    blocks = (partial(_fill_block, text.strip()) for text in texts[1::2])
    return dict(zip(texts[::2], blocks, strict=True))


def _fill_block(block: str, **words: str | int | Iterable[str]) -> str:
    for word, x in words.items():
        if not isinstance(x, str | int):
            words[word] = "\n".join(x)
    return block.format_map(words)
