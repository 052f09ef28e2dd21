"""SDF models of several files: includes form cycles, and names lead out of the folder."""

import os

from support.sdf import AXIS, INERTIAL

from fuzz import pick
from fuzz.loader_files import change, nothing_read_in
from fuzz.loading import check_load

GOOD = ("part", "other", "sub/inner")
OUT = (
    "../outside/secret.sdf",
    "{outside}/secret.sdf",
    "file://{outside}/secret.sdf",
    "link.sdf",
    "linked/secret.sdf",
    "sub/../../outside/secret.sdf",
    "model://../outside",
    "model://linked",
    "model://sub/../../outside/secret.sdf",
    "package://../outside/secret.sdf",
    "model://outside",
    "package://linked/secret.sdf",
)
ODD = (
    *("main.sdf", "", ".", "..", "gone.sdf", "/etc/passwd", "/dev/zero", "pipe.sdf", "model://"),
    *("sub", "model://sub", "package://sub/inner.sdf", "https://host/model.sdf", "*.sdf", "~/x"),
    *("x" * 5000, "%2e%2e/outside/secret.sdf"),
)
COUNTS = (1, 1, 1, 2, 3, 50)


def trial(rng, folder):
    inside, outside = folder / "model", folder / "outside"
    write_secrets(inside, outside)
    for name in ("main", *GOOD):
        (inside / f"{name}.sdf").write_text(sdf(rng, outside))
    for _ in range(rng.integers(3)):
        change(rng, inside / f"{pick(rng, ('main', *GOOD))}.sdf")
    with nothing_read_in(outside):
        check_load(inside / "main.sdf", rng)


def write_secrets(inside, outside):
    """Write files outside the model's folder, and links to these files inside the folder."""
    (inside / "sub").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret.sdf").write_text("<robot><link name='secret'/></robot>")
    for folder, named in ((outside, "secret.sdf"), (inside / "sub", "inner.sdf")):
        (folder / "model.config").write_text(f"<model><sdf>{named}</sdf></model>")
    os.symlink(outside / "secret.sdf", inside / "link.sdf")
    os.symlink(outside, inside / "linked")
    os.mkfifo(inside / "pipe.sdf")


def name(rng, outside):
    """A file name: mostly of the model, at times outside the folder or of no file."""
    if rng.random() < 0.8:
        return f"{pick(rng, GOOD)}.sdf"
    return pick(rng, pick(rng, (OUT, ODD))).format(outside=outside)


def sdf(rng, outside):
    """A random SDF model, or a world of models, that includes other files."""
    number, some = rng.integers(10**6), rng.integers(2, size=4)
    pose = f"<pose>{rng.normal():.3g} 0 0 0 0 1</pose>" * some[0]
    include = "".join(
        f"<include><uri>{name(rng, outside)}</uri><name>i{k}</name>{pose}</include>"
        for k in range(pick(rng, COUNTS) * some[1])
    )
    child = pick(rng, ("b", "b", "b", "i0::b", "i0", "__model__", "world", "gone"))
    joint = f"""<joint name="j{number}" type="revolute"><parent>a</parent><child>{child}</child>
    {AXIS}</joint>"""
    link = f'<link name="{{}}">{INERTIAL}</link>'
    model = f"""<model name="m{number}">{link.format("a")}{link.format("b")}{joint}
    {include * (1 - some[2])}</model>"""
    world = f"<world name='w'>{model}{include}</world>"
    version = pick(rng, ("1.4", "1.6", "1.8", "1.11"))
    return f'<sdf version="{version}">{world if some[2] else model}</sdf>'
