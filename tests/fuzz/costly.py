"""Files that may take long to load: each function returns a file name ending and a text."""


def reversed_chain(rng):
    """Joints in reverse order, so that each parent comes after its children."""
    n = rng.integers(1000, 10_000)
    links = "".join(f'<link name="l{i}"/>' for i in range(n + 1))
    return ".urdf", f'<robot name="r">{links}{"".join(map(_joint, reversed(range(n))))}</robot>'


def loop(rng):
    """A loop of links, in which every link has a parent."""
    n = rng.integers(1000, 20_000)
    links = "".join(f'<link name="l{i}"/>' for i in range(n))
    joints = "".join(_joint(i, (i + 1) % n) for i in range(n))
    return ".urdf", f'<robot name="r">{links}{joints}</robot>'


def _joint(i, child=None):
    return (
        f'<joint name="j{i}" type="fixed"><parent link="l{i}"/>'
        f'<child link="l{i + 1 if child is None else child}"/></joint>'
    )


def long_text(rng):
    """Many empty lines between elements."""
    return ".urdf", f'<robot name="r"><link name="a"/>{chr(10) * _many(rng)}</robot>'


def deep_elements(rng):
    n = _many(rng) // 50
    return str(
        rng.choice([".urdf", ".xml"])
    ), "<mujoco>" + "<body>" * n + "</body>" * n + "</mujoco>"


def deep_classes(rng):
    """Nested default classes, of which the middle one has many settings."""
    n, settings = rng.integers(20, 199), '<joint damping="1"/>' * rng.integers(1, 1000)
    inside = ""
    for i in range(n):
        inside = f'<default class="c{i}">{settings if i == n // 2 else ""}{inside}</default>'
    body = '<body><joint/><geom size="1"/></body>'
    return ".xml", f"<mujoco><default>{inside}</default><worldbody>{body}</worldbody></mujoco>"


def many_classes(rng):
    """Many default classes side by side, in a parent class with many settings."""
    settings = "".join(f'<geom class="a{i}"/>' for i in range(rng.integers(1, 50)))
    classes = "".join(f'<default class="c{i}"/>' for i in range(rng.integers(100, 30_000)))
    return ".xml", f"<mujoco><default>{settings}{classes}</default><worldbody/></mujoco>"


def dotted_key(rng):
    return ".toml", ".".join("a" * (_many(rng) // 20)) + " = 1"


def deep_arrays(rng):
    n = rng.integers(100, 20_000)
    return ".toml", "a = " + "[" * n + "]" * n


def long_number(rng):
    digits = "1" * rng.integers(300, 100_000)
    return str(rng.choice([".toml", ".urdf"])), f'mass = {digits}\n<robot name="{digits}"/>'


def long_attribute(rng):
    ending, tag = (".urdf", "robot") if rng.integers(2) else (".xml", "mujoco")
    return ending, f'<{tag}><link name="a"/><joint axis="{"1 " * _many(rng)}"/></{tag}>'


def many_bodies(rng):
    n = rng.integers(100, 5000)
    body = '[[body]]\nname = "b{0}"\njoint = "j{0}"\n'
    top = 'name = "r"\nangles = "radians"\ngravity = [0, 0, 0]\n'
    return ".toml", top + "".join(body.format(i) for i in range(n))


def _many(rng):
    """A random number from a thousand to a million."""
    return int(10 ** rng.uniform(3, 6))


COSTLY = (
    reversed_chain,
    loop,
    long_text,
    deep_elements,
    deep_classes,
    many_classes,
    dotted_key,
    deep_arrays,
    long_number,
    long_attribute,
    many_bodies,
)
