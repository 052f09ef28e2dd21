"""Pages generated when the documentation is built: one per formulation, one for published totals.

Their content is read from the library: docstrings, sources and counts.
"""

import inspect
import sys
import textwrap
from pathlib import Path

from mkdocs.structure.files import File

from armlet.dynamics import FORMULATIONS, QUANTITIES
from armlet.literature import totals

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import _equations
import _reference
from growth import counts, polynomial_text, polynomial_through

SIZES = range(3, 13)
SHOWN = (3, 4, 5, 6, 7, 8, 10, 12)
"""The numbers of joints of tables, which would be too wide with all."""
FIT = {"n^4": range(3, 9)}
"""The numbers of joints that a formula is verified on; 3 to 12 except for the fourth power."""


def on_files(files, config):
    tables = {quantity: _counts(quantity) for quantity in FORMULATIONS}
    for quantity, entries in FORMULATIONS.items():
        for entry in entries.values():
            page = _page(quantity, entry, tables[quantity])
            uri = f"formulations/{quantity}/{entry.name}.md"
            files.append(File.generated(config, uri, content=page))
        uri = f"formulations/{quantity}/index.md"
        files.append(File.generated(config, uri, content=_index(quantity, tables[quantity])))
    files.append(File.generated(config, "literature.md", content=_literature()))
    files.append(File.generated(config, "reference/library.md", content=_reference.api()))
    files.append(File.generated(config, "reference/commands.md", content=_reference.commands()))
    return files


def _counts(quantity):
    return {
        entry.name: counts(quantity, entry.name, FIT.get(entry.growth, range(3, 13)))
        for entry in FORMULATIONS[quantity].values()
    }


def _formula(values):
    """The polynomial and the n it holds from; the first few joints may be special."""
    for start in list(values)[:3]:
        try:
            polynomial = polynomial_through({n: x for n, x in values.items() if n >= start})
            return polynomial_text(polynomial), start
        except ValueError:
            continue
    return "no polynomial", min(values)


def _row(name, found):
    cells = (_sum(found[n]) if n in found else "" for n in SHOWN)
    return f"| {name} | {' | '.join(cells)} |"


def _unbroken(text):
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def _sum(count):
    return _unbroken(f"{count.M} + {count.A}")


def _page(quantity, entry, table):
    found = table[entry.name]
    (M, start), (A, other) = (
        _formula({n: getattr(count, key) for n, count in found.items()}) for key in "MA"
    )
    shared = [n for n in SIZES if n in found]
    best = [
        n
        for n in shared
        if found[n].total == min(others[n].total for others in table.values() if n in others)
    ]
    where = f"It is the cheapest here for n = {', '.join(map(str, best))}." if best else ""
    taken = "trees" if entry.topology == "tree" else "serial arms"
    joints = " and ".join({"R": "revolute", "P": "prismatic"}[letter] for letter in entry.joints)
    return f"""# {entry.name}

{QUANTITIES[quantity].about}

Source: {entry.source}. Applies to {taken} with {joints} joints; grows as {entry.growth}.

{_equations.typeset(inspect.getdoc(entry.function))}

## Operations

On the general arm of n revolute joints, all parameters symbolic, for n >= {max(start, other)}
(verified up to n = {max(found)}):

    M = {M}
    A = {A}

| n | {" | ".join(map(str, SHOWN))} |
|---|{"---|" * len(SHOWN)}
{_row(_unbroken("M + A"), found)}

{where} Operations on constants alone are done off-line and not counted; sines and cosines are
listed separately.

## The function

```py
{_code(entry.function)}
```
"""


def _code(function):
    """The source without its docstring, which stands above."""
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
    head, _, rest = source.partition('    """')
    return head + rest.partition('"""\n')[2].rstrip()


def _index(quantity, table):
    rows = "\n".join(_row(f"[{name}]({name}.md)", found) for name, found in table.items())
    sources = "\n".join(
        f"- **{entry.name}**: {entry.source}" for entry in FORMULATIONS[quantity].values()
    )
    return f"""---
hide: [toc]
---

# {quantity}

{QUANTITIES[quantity].about}

M + A on the general arm of n revolute joints, all parameters:

| n | {" | ".join(map(str, SHOWN))} |
|---|{"---|" * len(SHOWN)}
{rows}

{sources}
"""


STORY = """# The literature in numbers

Each line is a total printed in one of the works armlet is built on, the most expensive first
(at the largest n printed), with the count of armlet's formulation of that name in the same scope
(the cheapest one where the method is only cited). Totals are compared by M + A;
`armlet count --published` prints the same for every n. Where a work contradicts itself or
miscounts, the corrected total is beside the printed one, and armlet is compared with the smaller.

The tables follow the progress of the field. Recursion took inverse dynamics from the fourth
power of n to the first. Moments about joint origins instead of centres of mass, and the angular
acceleration tensor instead of cross products, halved the linear coefficient. Augmented bodies moved
constants off-line. The remaining savings are in the screws: transforming vectors, wrenches and
bodies about one axis at a time.
"""


def _literature():
    sections = [STORY]
    for quantity in dict.fromkeys(total.quantity for total in totals()):
        chosen = [total for total in totals() if total.quantity == quantity]
        chosen.sort(key=lambda total: -total.printed_count(max(total.n)).total)
        rows = "\n".join(_printed(total) for total in chosen)
        head = (
            "| method | work | n | printed | corrected | armlet | |\n|---|---|---|---|---|---|---|"
        )
        sections.append(f"## {quantity}\n\n{head}\n{rows}\n")
    return "\n".join(sections)


def _printed(total):
    n = max(total.n)
    printed, counted = total.printed_count(n), total.count(n)
    corrected = total.corrected_count(n)
    cell = "" if corrected == printed else f"{_sum(corrected)}: {total.note}"
    scope = ", ".join(
        word
        for word in (
            f"{total.starting_from} given" if total.starting_from else "",
            f"beyond {total.beyond.split()[0]}" if total.beyond else "",
            "joint 3 prismatic" if total.prismatic else "",
            "quarter turns" if total.twists == "quarter" else "",
        )
        if word
    )
    method = f"{total.method} ({scope})" if scope else total.method
    return (
        f"| {method} | {total.work} | {n} | {_sum(printed)} | {cell} | {_sum(counted)} | "
        f"{total.verdict(n)} |"
    )
