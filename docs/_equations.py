"""Equations of docstrings as MathML, which browsers typeset without a script or a font of ours.

An equation is written as people read it, one per line: `tᵢ = Kᵢ ω̇ᵢ + ωᵢ × Kᵢ ωᵢ`. Marks above a
letter become accents, small letters indices, and words stay words.
"""

import re
import textwrap
import unicodedata
from html import escape
from itertools import groupby

ACCENTS = {"\u0302": "^", "\u0303": "~", "\u0304": "¯", "\u0307": "˙", "\u0308": "¨"}
FUNCTIONS = {"sin", "cos", "tan", "atan", "min", "max", "det", "diag", "sign", "sqrt"}
TOKEN = re.compile(
    r"(?P<words>[A-Za-z]{2,}(?:[ -][A-Za-z]{2,})*(?![\u0302-\u0308]))|(?P<number>\d+(?:\.\d+)?)"
    r"|_\{(?P<below>[^}]*)\}|(?P<other>[-+]=|\S)"
)


def typeset(text):
    """A text in Markdown, its indented paragraphs as equations."""
    paragraphs = re.split(r"\n\s*\n", text)
    return "\n\n".join(_block(x) if x.startswith("    ") else x for x in paragraphs)


def _block(lines):
    rows = "".join(map(_row, textwrap.dedent(lines).split("\n")))
    table = f'<math display="block"><mtable>{rows}</mtable></math>'
    return f'<div class="equations">{table}</div>'


def _row(line):
    """Both sides of an equation, or a line without one, in columns."""
    sides = re.match(r"(.*?)\s+([-+]?=)\s+(.*)", line)
    cells = (sides[1], f"{sides[2]} {sides[3]}") if sides else ("", line)
    styles = ("text-align: right", "text-align: left")
    return (
        "<mtr>"
        + "".join(
            f'<mtd style="{style}">{formula(cell)}</mtd>'
            for style, cell in zip(styles, cells, strict=True)
        )
        + "</mtr>"
    )


def formula(text):
    """A formula as elements of MathML."""
    found, before = [], ""
    for piece in _pieces(text):
        kind, body, accents, low, high = piece
        if kind == "index":  # raised before a letter: the frame of what follows
            before = high
            continue
        element = _element("other" if low or high or accents else kind, body)
        for accent in accents:
            element = (
                f'<mover accent="true">{element}<mo stretchy="false">{escape(accent)}</mo></mover>'
            )
        found.append(_with_indices(element, low, high, before))
        before = ""
    return "<mrow>" + "".join(found) + "</mrow>"


def _element(kind, body):
    if kind == "words":
        words = "mi" if body in FUNCTIONS else "mtext"
        space = "" if body in FUNCTIONS else "\u00a0"
        return f"<{words}>{space}{escape(body)}{space}</{words}>"
    if kind == "number":
        return f"<mn>{body}</mn>"
    if body.replace("_", "").isalpha():
        return f"<mi>{body}</mi>"
    return f'<mo stretchy="false">{escape(body.replace("-", "−"))}</mo>'


def _with_indices(element, low, high, before):
    low, high = (f"<mrow>{''.join(map(_small, x))}</mrow>" if x else "" for x in (low, high))
    if before:
        raised = f"<mrow>{''.join(map(_small, before))}</mrow>"
        empty = "<mrow></mrow>"
        return (
            f"<mmultiscripts>{element}{low or empty}{high or empty}<mprescripts/>{empty}{raised}"
            "</mmultiscripts>"
        )
    if low and high:
        return f"<msubsup>{element}{low}{high}</msubsup>"
    if low or high:
        kind = "msub" if low else "msup"
        return f"<{kind}>{element}{low or high}</{kind}>"
    return element


def _small(letter):
    kind = "mi" if letter.isalpha() else "mn" if letter.isdigit() else "mo"
    return f"<{kind}>{escape(letter)}</{kind}>"


def _pieces(text):
    """Letters, numbers, signs and words of a formula, with their accents and indices."""
    letters = [(*_level(x), x) for x in unicodedata.normalize("NFD", text)]
    plain = []
    for level, run in groupby(letters, key=lambda x: x[0]):
        run = [letter for _, letter, _ in run]
        if level == "normal":
            plain += _normal("".join(run))
        elif plain and plain[-1][0] != "space":
            place = 3 if level == "sub" else 4
            plain[-1][place] += "".join(run)
        else:
            plain.append(["index", "", [], "", "".join(run)])
    return [piece for piece in plain if piece[0] != "space"]


def _normal(text):
    pieces, at = [], 0
    for match in TOKEN.finditer(text):
        if match.start() > at:
            pieces.append(["space", "", [], "", ""])
        at = match.end()
        kind, body = match.lastgroup, match.group()
        if body in ACCENTS and pieces:
            pieces[-1][2].append(ACCENTS[body])
        elif body == "~" and pieces and pieces[-1][0] != "space":
            pieces[-1][2].append("~")
        elif body == "'" and pieces:
            pieces[-1][4] += "′"
        elif kind == "below" and pieces:
            pieces[-1][3] += match["below"]
        else:
            pieces.append([kind, body, [], "", ""])
    if at < len(text):
        pieces.append(["space", "", [], "", ""])
    return pieces


def _level(letter):
    """Whether a letter is normal, lowered or raised, and what it is a small form of."""
    kind, _, code = unicodedata.decomposition(letter).partition(" ")
    if kind in ("<sub>", "<super>"):
        return kind.strip("<>").replace("super", "sup"), chr(int(code, 16))
    return "normal", letter
