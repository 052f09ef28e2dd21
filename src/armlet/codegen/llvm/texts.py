"""Texts of modules, printed when they are asked for."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import overload

from armlet.codegen.llvm.function import Target, module


class Texts(Sequence[str]):
    """Texts that are printed when they are asked for, several at once if threads ask for them."""

    def __init__(self, printers: Iterable[Callable[[], str]]) -> None:
        self.printers = list(printers)

    def __len__(self) -> int:
        return len(self.printers)

    @overload
    def __getitem__(self, k: int) -> str: ...
    @overload
    def __getitem__(self, k: slice) -> "Texts": ...
    def __getitem__(self, k: int | slice) -> "str | Texts":
        return Texts(self.printers[k]) if isinstance(k, slice) else self.printers[k]()


def modules(target: Target, texts: Sequence[str]) -> Texts:
    """Each text as a module by itself, with what it calls beside the functions of other texts."""
    return Texts(partial(_module, target, texts, k) for k in range(len(texts)))


def _module(target: Target, texts: Sequence[str], k: int) -> str:
    return module(target, texts[k])
