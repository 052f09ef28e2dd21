"""Well-formed files with misplaced elements, tables and values."""

import copy
import datetime
import json
import tomllib
from xml.etree import ElementTree

from fuzz import pick
from fuzz.costly import COSTLY
from fuzz.loading import check_load, random_file

NUMBERS = (
    0,
    -0.0,
    1,
    -1,
    3.7e-6,
    1.5708,
    90,
    1e-30,
    1e-300,
    1e9,
    1e20,
    1e49,
    1e51,
    1e300,
    -1e300,
    float("inf"),
    float("-inf"),
    float("nan"),
    2**63,
    10**400,
    10**6000,
)
NAMES = (
    "",
    " ",
    "base",
    "world",
    "link1",
    "joint1",
    "a b",
    "[/x]",
    "[red]x",
    "\x1b[31mred",
    "\x7f",
    "a/../b",
    "…",
    "\u202eabc",
    "\U0001f916",
    "'",
    '"',
    "\\",
    "{}",
    "%s",
    "</robot>",
    "\n",
    "\0",
    "x" * 3000,
    "None",
    "nan",
    "1",
)
TEXTS = (*NAMES, "1 2 3", "0 0 0", "1 0 0 0", "1,2,3", "1 2", "true", "1_0", "\u0663 0 0", "0x1p3")
OTHERS = (True, False, [], {}, [[]], [1, 2, 3], [{}], datetime.date(2020, 1, 1))
RARE = 0.005
"""The share of files that come from `fuzz.costly`."""


def trial(rng, folder):
    if rng.random() < RARE:
        ending, text = COSTLY[rng.integers(len(COSTLY))](rng)
    else:
        ending, text = changed(rng, *random_file(rng))
    path = folder / f"file{ending}"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    check_load(path, rng)


def changed(rng, ending, data):
    """Change the structure of a file; a file that is not well formed stays unchanged."""
    try:
        text = data.decode()
        if ending == ".toml":
            return ending, changed_toml(rng, tomllib.loads(text))
        return ending, changed_xml(rng, ElementTree.fromstring(text))
    except (ValueError, RecursionError, ElementTree.ParseError):
        return ending, data.decode(errors="replace")


def odd_number(rng):
    return pick(rng, NUMBERS) if rng.random() < 0.7 else 10 ** rng.uniform(-20, 20)


def number_text(x):
    """A number as text; Python itself refuses to print integers of more than 4300 digits."""
    if isinstance(x, int) and x.bit_length() > 1000:
        return "1" + "0" * (x.bit_length() * 3 // 10)
    return str(x)


def few(rng):
    """A random number of copies: one or two, seldom many."""
    return int(rng.integers(1, 3)) if rng.random() < 0.95 else int(rng.integers(100, 2000))


# ------------------------------------------------------------------ URDF and MJCF


def changed_xml(rng, root):
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        pick(rng, XML_CHANGES)(rng, root)
    return ElementTree.tostring(root, encoding="unicode")


def inner(rng, root):
    """A random element and its parent, or the root twice if there is no other element."""
    pairs = [(child, parent) for parent in root.iter() for child in parent]
    return pick(rng, pairs) if pairs else (root, root)


def removed(rng, root):
    child, parent = inner(rng, root)
    if child is not parent:
        parent.remove(child)


def repeated(rng, root):
    child, parent = inner(rng, root)
    if child is not root:
        parent.extend(copy.deepcopy(child) for _ in range(few(rng)))


def renumbered(rng, root):
    """Add copies of an element, and make the names in the copies unique."""
    child, parent = inner(rng, root)
    for k in range(few(rng) if child is not root else 0):
        parent.append(copy.deepcopy(child))
        for element in parent[-1].iter():
            if "name" in element.attrib:
                element.set("name", f"{element.get('name')}_{k}")


def moved(rng, root):
    child, parent = inner(rng, root)
    target, _ = inner(rng, root)
    if child is not root and target not in list(child.iter()):
        parent.remove(child)
        target.insert(int(rng.integers(len(target) + 1)), child)


def turned_round(rng, root):
    element, _ = inner(rng, root)
    element[:] = element[::-1]


def renamed(rng, root):
    child, _ = inner(rng, root)
    other, _ = inner(rng, root)
    child.tag = pick(rng, (other.tag, child.tag + "s", child.tag.upper(), "x"))


def with_value(rng, root):
    """Change an attribute's value; a number mostly becomes another number."""
    child, _ = inner(rng, root)
    if child.attrib:
        key = pick(rng, sorted(child.attrib))
        child.set(key, other_text(rng, child.get(key)))


def with_text(rng, root):
    """Change the text of an element that has a text."""
    written = [element for element in root.iter() if element.text and element.text.strip()]
    if written:
        element = pick(rng, written)
        words = [x.text for x in written] + [x.get("name") for x in root.iter() if x.get("name")]
        element.text = pick(rng, words) if rng.random() < 0.3 else other_text(rng, element.text)


def other_text(rng, text):
    words = text.split()
    if words and rng.random() < 0.7:
        words[rng.integers(len(words))] = number_text(odd_number(rng))
        return " ".join(words)
    return pick(rng, TEXTS)


def without_attribute(rng, root):
    child, _ = inner(rng, root)
    if child.attrib:
        del child.attrib[pick(rng, sorted(child.attrib))]


def with_attribute(rng, root):
    child, _ = inner(rng, root)
    other, _ = inner(rng, root)
    key, value = pick(rng, [*sorted(other.attrib.items()), ("quat", "1 0 0 0"), ("class", "x")])
    child.set(key, value)


def with_name(rng, root):
    """Replace a name wherever it is used, so that references stay valid."""
    named = [element.get("name") for element in root.iter() if element.get("name")]
    old, new = (pick(rng, named), pick(rng, NAMES)) if named else ("", "")
    for element in root.iter():
        for key, value in element.attrib.items():
            if value == old:
                element.set(key, new)


XML_CHANGES = (
    removed,
    repeated,
    renumbered,
    moved,
    turned_round,
    renamed,
    with_value,
    with_value,
    without_attribute,
    with_attribute,
    with_name,
    with_text,
)


# ------------------------------------------------------------------ TOML


def changed_toml(rng, data):
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        pick(rng, TOML_CHANGES)(rng, data)
    return "\n".join(f"{key_text(key)} = {toml_value(value)}" for key, value in data.items())


def places(data):
    """Yield (container, key) for every value of nested dictionaries and lists."""
    for key, value in list(data.items() if isinstance(data, dict) else enumerate(data)):
        yield data, key
        if isinstance(value, dict | list):
            yield from places(value)


def any_place(rng, data):
    return pick(rng, list(places(data)) or [({"": 0}, "")])


def key_removed(rng, data):
    container, key = any_place(rng, data)
    del container[key]


def value_replaced(rng, data):
    container, key = any_place(rng, data)
    value = container[key]
    if isinstance(value, int | float) and rng.random() < 0.8:
        container[key] = odd_number(rng)
    elif isinstance(value, str) and rng.random() < 0.8:
        container[key] = pick(rng, TEXTS)
    else:
        container[key] = copy.deepcopy(pick(rng, (*NUMBERS, *TEXTS, *OTHERS)))


def value_repeated(rng, data):
    container, key = any_place(rng, data)
    if isinstance(container, list):
        container.extend(copy.deepcopy(container[key]) for _ in range(few(rng)))


def value_moved(rng, data):
    container, key = any_place(rng, data)
    other, place = any_place(rng, data)
    other[place] = copy.deepcopy(container[key])


def key_renamed(rng, data):
    container, key = any_place(rng, data)
    if isinstance(container, dict):
        container[pick(rng, (*NAMES, "mass", "dh", "axis", "body", "frame"))] = container.pop(key)


def list_turned_round(rng, data):
    container, _ = any_place(rng, data)
    if isinstance(container, list):
        container.reverse()


def text_renamed(rng, data):
    """Replace a text wherever it is used, so that references stay valid."""
    used = [(c, k) for c, k in places(data) if isinstance(c[k], str)]
    if used:
        container, key = pick(rng, used)
        old, new = container[key], pick(rng, NAMES)
        for c, k in used:
            if c[k] == old:
                c[k] = new


TOML_CHANGES = (
    key_removed,
    value_replaced,
    value_replaced,
    value_repeated,
    value_moved,
    key_renamed,
    list_turned_round,
    text_renamed,
)


def key_text(key):
    return json.dumps(key, ensure_ascii=False)


def toml_value(value):
    match value:
        case dict():
            pairs = (f"{key_text(key)} = {toml_value(x)}" for key, x in value.items())
            return f"{{ {', '.join(pairs)} }}"
        case list():
            return f"[{', '.join(map(toml_value, value))}]"
        case str():
            return key_text(value)
        case bool():
            return str(value).lower()
        case int() | float():
            return number_text(value)
        case _:
            return str(value)
