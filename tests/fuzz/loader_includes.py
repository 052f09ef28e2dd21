"""SDF and xacro of several files: cycles, names that lead out of the folder, code to be run."""

import os

from test_sdf import AXIS, INERTIAL
from test_xacro import HOSTILE

from fuzz.loader_files import change, nothing_read_in, pick
from fuzz.loading import ENDINGS, check_load

FORMATS = tuple(ending for ending in (".sdf", ".xacro") if ending in ENDINGS)
GOOD = ("part", "other", "sub/inner")
OUT = (
    "../outside/secret{0}", "{outside}/secret{0}", "file://{outside}/secret{0}", "link{0}",
    "linked/secret{0}", "sub/../../outside/secret{0}", "model://../outside", "model://linked",
    "model://sub/../../outside/secret{0}", "package://../outside/secret{0}", "model://outside",
    "package://linked/secret{0}", "$(find ..)/outside/secret{0}", "$(dirname)/../outside/secret{0}",
    "${{'..' + '/outside/secret{0}'}}",
)  # fmt: skip
ODD = (
    "main{0}", "", ".", "..", "gone{0}", "/etc/passwd", "/dev/zero", "pipe{0}", "model://", "sub",
    "model://sub", "package://sub/inner{0}", "https://host/model.sdf", "*{0}", "$(arg n)", "~/x",
    "x" * 5000, "%2e%2e/outside/secret{0}",
)  # fmt: skip
YAML = (
    "a: 1", "a: &a [1, 2]\nb: *a", "a: &a {x: *a}", "!!python/object/apply:os.system ['id']",
    "a: !degrees 90", "a: !degrees ${pi}", "[" * 2000, "<<: [{a: 1}, {b: 2}]", "\x00", "",
)  # fmt: skip
COUNTS = (1, 1, 1, 2, 3, 50)


def trial(rng, folder):
    ending = pick(rng, FORMATS)
    inside, outside = folder / "model", folder / "outside"
    write_secrets(inside, outside, ending)
    text = {".sdf": sdf, ".xacro": xacro}[ending]
    for name in ("main", *GOOD):
        (inside / f"{name}{ending}").write_text(text(rng, outside, name == "main"))
    (inside / "numbers.yaml").write_text(pick(rng, YAML))
    for _ in range(rng.integers(3)):
        change(rng, inside / f"{pick(rng, ('main', *GOOD))}{ending}")
    with nothing_read_in(outside):
        check_load(inside / f"main{ending}", rng)


def write_secrets(inside, outside, ending):
    """Files beside the folder of the model, and links to them in it."""
    (inside / "sub").mkdir(parents=True)
    outside.mkdir()
    (outside / f"secret{ending}").write_text("<robot><link name='secret'/></robot>")
    for folder, named in ((outside, f"secret{ending}"), (inside / "sub", f"inner{ending}")):
        (folder / "model.config").write_text(f"<model><sdf>{named}</sdf></model>")
    os.symlink(outside / f"secret{ending}", inside / f"link{ending}")
    os.symlink(outside, inside / "linked")
    os.mkfifo(inside / f"pipe{ending}")


def name(rng, outside, ending):
    """A file: mostly one of the model, at times one outside or none at all."""
    if rng.random() < 0.8:
        return f"{pick(rng, GOOD)}{ending}"
    return pick(rng, pick(rng, (OUT, ODD))).format(ending, outside=outside)


def sdf(rng, outside, _):
    """A model, or a world of models, that includes others."""
    number, some = rng.integers(10**6), rng.integers(2, size=4)
    pose = f"<pose>{rng.normal():.3g} 0 0 0 0 1</pose>" * some[0]
    include = "".join(
        f"<include><uri>{name(rng, outside, '.sdf')}</uri><name>i{k}</name>{pose}</include>"
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


def xacro(rng, outside, is_main):
    """A file of macros and expressions, some of which try to run or read something."""
    number, some = rng.integers(10**6), rng.integers(2, size=3)
    include = "".join(
        f'<xacro:include filename="{name(rng, outside, ".xacro")}"/>'
        for _ in range(pick(rng, COUNTS) * some[0])
    )
    hostile = pick(rng, HOSTILE).replace("&", "&amp;").replace("<", "&lt;").replace('"', "'")
    yaml = pick(rng, ("numbers.yaml", "numbers.yaml", "../outside/secret.xacro", "/etc/passwd"))
    values = ("1", "${2 * pi}", f"${{xacro.load_yaml('{yaml}').a}}", f"${{{hostile}}}")
    value = pick(rng, values) if rng.random() < 0.5 else f"${{{number} % 7}}"
    if rng.random() < 0.05:
        value = f"$(eval {hostile})"
    inner = f'<xacro:m{number} k="${{k}}"/>' * int(rng.random() < 0.05)
    calls = "".join(f'<xacro:m{number} k="{k}"/>' for k in range(pick(rng, COUNTS)))
    link = f"""<link name="l{number}_${{k}}"/><joint name="j{number}_${{k}}" type="continuous">
    <parent link="base"/><child link="l{number}_${{k}}"/><origin xyz="${{p}} 0 0"/></joint>
    {inner}"""
    base = '<link name="base"/>' * is_main
    return f"""<robot name="r" xmlns:xacro="http://x"><xacro:arg name="n" default="2"/>{include}
    <xacro:property name="p" value="{value}"/><xacro:macro name="m{number}" params="k:=2">{link}
    </xacro:macro>{base}{calls}</robot>"""
