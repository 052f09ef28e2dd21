"""Expanding xacro files by the package `xacro`, in a copy of it that is confined.

The package evaluates Python's expressions, reads files and environment variables. The copy that is
used here, made anew for each file, can do none of that itself: it has no `eval`, no `open` and no
`import`. Expressions, includes and YAML files go through armlet's own readers, and the work is
bounded.
"""

import builtins
import importlib.util
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from keyword import iskeyword
from math import pi
from pathlib import Path
from time import thread_time
from types import ModuleType
from typing import Any
from xml.dom import minidom

from armlet.errors import ModelError, listed, quoted, shown
from armlet.formats.expressions import MAX_WEIGHT, SYMBOLS, Functions, evaluated, weight
from armlet.formats.file import contents
from armlet.formats.folders import Folders
from armlet.formats.xml import NUMBER, parsed_and_plain

MAX_ELEMENTS = 30_000
"""How many elements may be expanded, those of macros each time."""
MAX_TEXTS = 500_000
"""How many texts and attributes may be."""
MAX_CHARACTERS = 2**25
"""How many characters the texts may have together."""
MOST = (MAX_ELEMENTS, MAX_TEXTS, MAX_CHARACTERS)
MAX_YAML = 2**20
"""The most bytes of a YAML file."""
MAX_ALIASES = MAX_MERGED = 1000
"""The most aliases in a YAML file, and entries of a mapping that is merged of others."""
MAX_FILES = 1000
MAX_SECONDS = 5.0
"""How much processor time expanding may take; a humanoid of twenty files takes half a second."""
UNITS = {
    "!radians": 1.0, "!degrees": pi / 180, "!meters": 1.0, "!millimeters": 0.001,
    "!foot": 0.3048, "!inches": 0.0254,
}  # fmt: skip
NEEDED = (
    "safe_eval", "eval_extension", "parse", "get_include_files", "process_include", "is_valid_name",
    "re_macro_arg", "eval_text", "eval_all", "_global_symbols", "substitution_args_context",
    "process_doc", "init_stacks", "filestack",
)  # fmt: skip
"""What is replaced in the package, or called."""
MACRO_ARGUMENT = re.compile(
    r"""^\s*+([^\s:=]++)\s*+:?=\s*+(\^\|?)?"""
    r"""(\$\{[^}]*+\}|\$\([^)]*+\)|(?:'[^']*+'|"[^"]*+"|[^\s'"]++)++|)(?:\s++|$)(.*+)""",
    re.DOTALL,
)
"""An argument of a macro with its default, as in the package, but in linear time."""
ARGUMENT = re.compile(rb"\$\(arg ([A-Za-z0-9_]++)\)")
"""An argument where a file uses it."""
MAX_NAMED = 10
"""The most arguments that a message names."""
FORBIDDEN = ("eval", "exec", "compile", "open", "input", "breakpoint", "__import__")
ONE_AT_A_TIME = threading.Lock()


def expanded_xacro(
    path: Path, arguments: Mapping[str, Any] | None, folders: Folders
) -> tuple[bytes, str]:
    """The text that a xacro file expands to, with its name for messages."""
    run = _Run(path, _checked(arguments), folders)
    return run.expanded(), f"{shown(path.name)} (expanded)"


def _checked(arguments: Mapping[str, Any] | None) -> dict[str, str]:
    """The arguments as texts; true and false as in xacro."""
    if arguments is not None and not isinstance(arguments, Mapping):
        raise ModelError(f"xacro is {quoted(arguments)}: expected a value for each argument")
    given = dict(arguments or {})
    return {str(k): str(v).lower() if isinstance(v, bool) else str(v) for k, v in given.items()}


class _Run:
    """One file being expanded."""

    def __init__(self, path: Path, arguments: dict[str, str], folders: Folders) -> None:
        self.path = path
        self.arguments = arguments
        self.folders = folders
        self.refusal: ModelError | None = None
        self.elements = self.texts = self.characters = self.files = 0
        self.start = thread_time()
        self.optional = False
        self.known: set[str] = set()
        """The arguments that the files declare, or used so far."""
        self.used: dict[str, None] = {}
        """The arguments that the files name where they use them, in their order."""
        self.macros: dict[str, None] = {}
        """The macros that the files define, in their order."""
        self.module = _confined_copy()
        self._replace()

    def expanded(self) -> bytes:
        module = self.module
        try:
            module.init_stacks(str(self.path))
            document = self._parse(None, str(self.path))
            module.process_doc(document, mappings=dict(self.arguments), verbosity=0)
            data = document.toxml().encode("utf-8", "replace")
        except Exception as error:  # of any kind: the package does not check what it is given
            if self.refusal is not None:
                raise self.refusal from None
            if isinstance(error, ModelError):
                raise
            kind = "" if str(error).strip() else type(error).__name__
            raise ModelError(
                f"{self._where()}: xacro cannot expand it: {shown(f'{kind}{error}'.strip(), 300)}"
            ) from None
        has = document.getElementsByTagName
        if self.macros and not (has("link") or has("include")):
            raise ModelError(
                f"{shown(self.path.name)}: it has no links, only macros "
                f"({listed([*self.macros])}): expected a file that includes this one and calls them"
            )
        unknown = sorted(set(self.arguments) - self.known)
        if unknown:
            raise ModelError(
                f"{shown(self.path.name)}: no xacro argument is called {quoted(unknown[0])}: "
                f"expected one of {listed(sorted(self.known)) or 'none'}"
            )
        return data

    def _where(self) -> str:
        stack = self.module.filestack or [str(self.path)]
        return shown(Path(stack[-1] or self.path).name)

    def _refuse(self, message: str) -> ModelError:
        """The error, remembered, since the package wraps it into others."""
        return self._remember(ModelError(f"{self._where()}: {message}"))

    def _remember(self, error: ModelError) -> ModelError:
        self.refusal = self.refusal or error
        return error

    def _replace(self) -> None:
        """Put armlet's own functions in the place of those that evaluate, read and recurse."""
        module = self.module
        expand, text_of, include = module.eval_all, module.eval_text, module.process_include

        def eval_all(*args: Any) -> None:
            self.elements += 1
            self._check_size()
            expand(*args)

        def eval_text(text: Any, symbols: Any) -> Any:
            if not isinstance(text, str):
                return text
            self.texts += 1
            self.characters += len(text)
            self._check_size()
            if text.count("$") > 1000:
                raise self._refuse("a text with more than 1000 expressions: expected fewer")
            value = text_of(text, symbols)
            self.characters += weight(value)
            return value

        def process_include(element: Any, *args: Any) -> None:
            self.optional = element.getAttribute("optional") in ("true", "1")
            include(element, *args)

        xacro = Functions(
            load_yaml=self._yaml, abs_filename=str, dotify=lambda x: x, arg=self._argument,
            message=_nothing, warning=_nothing, error=_nothing, print_location=_nothing,
            fatal=self._fatal, tokenize=_tokens,
        )  # fmt: skip
        symbols = SYMBOLS | {"xacro": xacro, "load_yaml": self._yaml, "dotify": lambda x: x}
        vars(module).update(
            eval_all=eval_all,
            eval_text=eval_text,
            process_include=process_include,
            safe_eval=self._evaluate,
            eval_extension=self._substituted,
            parse=self._parse,
            get_include_files=self._included,
            is_valid_name=lambda name: str(name).isidentifier() and not iskeyword(str(name)),
            re_macro_arg=MACRO_ARGUMENT,
            _global_symbols=symbols,
            warning=_nothing,
            message=_nothing,
            error=_nothing,
            print_location=_nothing,
        )

    def _check_size(self) -> None:
        counts = (self.elements, self.texts, self.characters)
        if any(x > most for x, most in zip(counts, MOST, strict=True)):
            raise self._refuse("it expands to more than a robot needs: expected less")
        if thread_time() - self.start > MAX_SECONDS:
            raise self._refuse(
                f"expanding it takes more than {MAX_SECONDS:g} s: expected what a robot needs"
            )

    def _evaluate(self, text: Any, names: Mapping[str, Any], _: Any = None) -> Any:
        try:
            return evaluated(str(text), names, self._where())
        except ModelError as error:
            raise self._remember(error) from None

    def _substituted(self, text: str) -> Any:
        """The value of `$(name …)`, of which a few are known."""
        name, _, rest = text[2:-1].strip().partition(" ")
        match name, rest.split():
            case "find", [package]:
                return f"package://{package}"
            case "arg", [argument]:
                return self._argument(argument)
            case "dirname", []:
                return str(Path(self.module.filestack[-1]).parent)
            case "eval", _:
                return self._evaluate(rest, self.module._global_symbols | self._typed_arguments())
            case "optenv", [_, *default]:
                return " ".join(default)
        raise self._refuse(
            f"$({shown(text[2:-1])}) is not read: expected $(arg …), $(find …), $(dirname) or "
            "$(eval …); environment variables and the like are not"
        )

    def _argument(self, name: str) -> str:
        self.known.add(str(name))
        given = self.module.substitution_args_context["arg"]
        if name not in given:
            others = (x for x in self.used if x not in (name, *given, *self.known))
            missing = [str(name), *others][:MAX_NAMED]
            values = ", ".join(f"{quoted(x)}: …" for x in missing)
            options = " ".join(f"--xacro {shown(x)}=…" for x in missing)
            raise self._refuse(
                f"the argument {quoted(name)} has no value: give it by xacro={{{values}}} (on the "
                f"command line {options})"
            )
        return str(given[name])

    def _typed_arguments(self) -> dict[str, Any]:
        """The arguments as `$(eval …)` has them: numbers and truth values by their looks."""
        given = self.module.substitution_args_context["arg"]
        return {str(name): _typed(str(value)) for name, value in given.items()}

    def _fatal(self, *words: Any) -> None:
        raise self._refuse(f"the file says: {shown(' '.join(map(str, words)))}")

    # ------------------------------------------------------------------ files

    def _found(self, name: str) -> Path:
        """A file that the one being expanded names, in the folders that are allowed."""
        self.files += 1
        if self.files > MAX_FILES:
            raise self._refuse(f"more than {MAX_FILES} files are read: expected fewer")
        stack = [Path(file) for file in self.module.filestack]
        found = self.folders.file(name, self._where(), stack[-1].parent)
        if found in stack or found.samefile(self.path):
            raise self._refuse(f"{shown(found.name)} is included by itself")
        return found

    def _included(self, name: str, symbols: Any) -> Iterator[str]:
        optional = self.optional
        found = str(self.module.eval_text(name, symbols))
        if re.search("[*?[]", found):
            raise self._refuse(
                f"<xacro:include filename={quoted(found)}> has a pattern: expected one file"
            )
        try:
            yield str(self._found(found))
        except ModelError as error:
            if not optional or self.refusal is not None:
                raise self._remember(error) from None

    def _parse(self, _: Any, file: str) -> minidom.Document:
        """The document in a file, which is checked first: no entities, bounded."""
        path = Path(file)
        try:
            _, data = parsed_and_plain(contents(path), shown(path.name))
        except ModelError as error:
            raise self._remember(error) from None
        self.characters += len(data)
        document = minidom.parseString(data)
        for element in document.getElementsByTagName("xacro:arg"):
            self.known.add(element.getAttribute("name"))
        self.used |= dict.fromkeys(x.decode() for x in ARGUMENT.findall(data))
        for element in document.getElementsByTagName("xacro:macro"):
            self.macros[element.getAttribute("name")] = None
        return document

    def _yaml(self, name: str) -> Any:
        try:
            path = self._found(str(name))
            data = contents(path)
        except ModelError as error:
            raise self._remember(error) from None
        if len(data) > MAX_YAML:
            raise self._refuse(f"{shown(path.name)} has more than {MAX_YAML} bytes")
        value = _yaml_value(data, lambda text: self._evaluate(text, SYMBOLS))
        if weight(value) > MAX_WEIGHT:
            raise self._refuse(f"{shown(path.name)} has more than a robot needs: expected less")
        return value


def _nothing(*_: Any, **__: Any) -> str:
    return ""


def _typed(text: str) -> int | float | bool | str:
    """A number or a truth value if the text looks like one."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if not NUMBER.fullmatch(text):
        return text
    return int(text) if text.lstrip("+-").isdecimal() else float(text)


def _tokens(text: str, separators: str = ",; ", skip_empty: bool = True) -> list[str]:
    words = re.split(f"[{re.escape(separators)}]", text)
    return [word for word in words if word] if skip_empty else words


def _yaml_value(data: bytes, evaluate: Callable[[str], Any]) -> Any:
    """The value in a YAML file of plain data, with units; what aliases multiply is bounded."""
    import yaml

    safe: Any = yaml.SafeLoader

    def compose_node(self: Any, parent: Any, index: Any) -> Any:
        self.aliases += self.check_event(yaml.AliasEvent)
        if self.aliases > MAX_ALIASES:
            raise ValueError(f"more than {MAX_ALIASES} aliases (*name): expected fewer")
        return safe.compose_node(self, parent, index)

    def flatten_mapping(self: Any, node: Any) -> None:
        safe.flatten_mapping(self, node)
        if len(node.value) > MAX_MERGED:
            raise ValueError(f"a mapping merged of more than {MAX_MERGED} entries")

    bounds = {"aliases": 0, "compose_node": compose_node, "flatten_mapping": flatten_mapping}
    Loader: Any = type("Loader", (safe,), bounds)
    for tag, factor in UNITS.items():
        Loader.add_constructor(
            tag,
            lambda loader, node, k=factor: k * float(evaluate(str(loader.construct_scalar(node)))),
        )
    return yaml.load(data, Loader)


# ---------------------------------------------------------------------------------- the package


def _confined_copy() -> ModuleType:
    """A copy of the package of its own, without the functions that run or read something.

    The one that others may have imported stays as it is, and so does minidom, which it changes.
    """
    found = importlib.util.find_spec("xacro")
    if found is None or found.origin is None:
        raise ModelError(
            "xacro files are expanded by the package xacro, which is not installed: pip install "
            "'armlet[xacro]'"
        )
    name = "_armlet_xacro"
    places = [str(Path(found.origin).parent)]
    spec = importlib.util.spec_from_file_location(
        name, found.origin, submodule_search_locations=places
    )
    assert spec is not None
    assert spec.loader is not None
    with ONE_AT_A_TIME:
        module, written = importlib.util.module_from_spec(spec), minidom.Element.writexml
        known = vars(builtins) | {"print": _nothing}
        vars(module)["__builtins__"] = known
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        finally:
            for copied in [x for x in sys.modules if x == name or x.startswith(f"{name}.")]:
                del sys.modules[copied]
            type.__setattr__(minidom.Element, "writexml", written)
        known.update(dict.fromkeys(FORBIDDEN, _forbidden))
    missing = [needed for needed in NEEDED if not hasattr(module, needed)]
    if missing:
        raise ModelError(
            f"the package xacro that is installed has no {missing[0]}: expected version 2.1 or "
            "newer, pip install 'armlet[xacro]'"
        )
    return module


def _forbidden(*_: Any, **__: Any) -> Any:
    raise ModelError("xacro files may not run or read anything by themselves")
