"""Reference pages that are generated with the documentation: the library, and all commands."""

import inspect
import operator
import textwrap

import typer

import armlet
from armlet.cli import app

SECTIONS = {
    "Robots": ("Robot", "load", "general_arm", "catalogue"),
    "Programs": ("trace", "cheapest", "compile", "function", "Program", "Kernel", "Function"),
    "Motion": ("simulate", "rollout", "Plant", "Trajectory"),
    "Identification": (
        "Log",
        "Preprocessing",
        "MotionLimits",
        "excite",
        "TorqueModel",
        "Physical",
        "identify",
        "Identified",
    ),
}
"""What comes first, in this order; everything else follows by its name."""


def api():
    """One page with everything that `import armlet` offers."""
    placed = {name for names in SECTIONS.values() for name in names}
    sections = dict(SECTIONS)
    sections["Errors and warnings"] = tuple(filter(_is_error, armlet.__all__))
    rest = [x for x in armlet.__all__ if x not in placed and not _is_error(x)]
    sections["More"] = tuple(sorted(rest, key=str.lower))
    text = "# The library\n\nAll that `import armlet` offers.\n"
    for title, names in sections.items():
        text += f"\n## {title}\n"
        text += "".join(map(_entry, (name for name in names if name in armlet.__all__)))
    return text


def _is_error(name):
    value = getattr(armlet, name)
    return inspect.isclass(value) and issubclass(value, Exception)


def _entry(name):
    value = getattr(armlet, name)
    if inspect.ismodule(value):
        members = "".join(_entry_of(f"armlet.{name}.{x}", "####") for x in _members(value))
        return f"\n### armlet.{name}\n\n{inspect.getdoc(value)}\n{members}"
    return _entry_of(f"armlet.{name}", "###")


def _members(module):
    """The public names of a module: those it lists, or those it defines."""
    own = [
        name for name, x in vars(module).items() if getattr(x, "__module__", "") == module.__name__
    ]
    return getattr(module, "__all__", [name for name in own if not name.startswith("_")])


def _entry_of(path, level):
    name = path.rpartition(".")[2]
    value = operator.attrgetter(path.removeprefix("armlet."))(armlet)
    call = f"```python\n{name}({_parameters(value)})\n```\n\n" if inspect.isfunction(value) else ""
    return f"\n{level} {path}\n\n{call}::: {path}\n"


def _parameters(function):
    """The parameters and defaults of a function as one writes them, without their types."""
    signature = inspect.signature(function)
    bare = [x.replace(annotation=inspect.Parameter.empty) for x in signature.parameters.values()]
    text = str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    return "\n    ".join(textwrap.wrap(text[1:-1], 90))


def commands():
    """One page with every command, its arguments and options."""
    root = typer.main.get_command(app)
    text = "# All options of the commands\n\n`armlet COMMAND --help` prints the same.\n"
    for name, command in root.commands.items():
        about, _, example = inspect.cleandoc(command.help or "").partition("Example:")
        text += f"\n## armlet {name}\n\n{about.strip()}\n"
        if example:
            text += f"\n    {' '.join(example.split())}\n"
        rows = "".join(map(_row, filter(lambda x: not x.hidden, command.params)))
        if rows:
            text += f"\n| | |\n|---|---|\n{rows}"
    return text


def _row(parameter):
    words = [*parameter.opts, *parameter.secondary_opts]
    if parameter.param_type_name == "argument":
        words = [parameter.metavar or parameter.name.upper()]
    about = " ".join((getattr(parameter, "help", None) or "").split()).replace("|", "\\|")
    default = parameter.default
    if default not in (None, False, "") and not callable(default):
        about += f" By default {default}."
    return f"| `{'`, `'.join(words)}` | {about} |\n"
