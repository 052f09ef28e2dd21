"""Models of several files: meshes are damaged, includes form cycles, names leave the folder."""

import os
import sys
from contextlib import contextmanager

from support.meshes import SHAPES, WRITERS
from support.mjcf import BOX

from fuzz import loader_bytes, loader_structure, pick
from fuzz.loading import check_load

OUTSIDE = "outside"
GOOD = ("part.xml", "other.xml", "sub/inner.xml")
OUT = (
    "../outside/secret.xml",
    "{outside}/secret.xml",
    "link.xml",
    "linked/secret.xml",
    "sub/../../outside/secret.xml",
    "./sub/./../../outside/secret.xml",
    "sub/up.xml",
)
ODD = (
    "main.xml",
    "",
    ".",
    "..",
    "gone.xml",
    "/etc/passwd",
    "/dev/zero",
    "pipe.xml",
    "x" * 5000,
    "sub",
    "part.xml/..",
    "\\..\\outside\\secret.xml",
    "file:///etc/passwd",
    "~/x.xml",
)
SECRET = "secret"
RUNS = ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "socket.connect")
"""Audit events of Python that loading a file must not cause."""
read: list[str] | None = None
"""The files opened since `nothing_read_in` began; None outside that context."""


def watch(event, arguments):
    if read is not None and event == "open" and isinstance(arguments[0], str | bytes):
        read.append(os.fsdecode(arguments[0]))
    if read is not None and event in RUNS:
        raise AssertionError(f"{event} of {arguments}")


sys.addaudithook(watch)


@contextmanager
def nothing_read_in(outside):
    """Check that a block opens no file in a folder and no password file, and runs no program."""
    global read
    read = opened = []
    try:
        yield
    finally:
        read = None
    hidden = os.path.realpath(outside)
    assert not [path for path in opened if os.path.realpath(path).startswith((hidden, "/etc/pa"))]


def trial(rng, folder):
    inside, outside = folder / "model", folder / OUTSIDE
    write_secrets(inside, outside)
    for name in ("main.xml", *GOOD):
        (inside / name).write_text(text(rng, str(outside)))
    for name, writer in WRITERS.items():
        shape = pick(rng, sorted(SHAPES))
        (inside / name).write_bytes(writer(*SHAPES[shape]))
    for _ in range(rng.integers(3)):
        change(rng, inside / pick(rng, ("main.xml", *GOOD, *WRITERS)))
    with nothing_read_in(outside):
        check_load(inside / "main.xml", rng)


def write_secrets(inside, outside):
    """Write files outside the model's folder, and links to these files inside the folder."""
    (inside / "sub").mkdir(parents=True)
    outside.mkdir()
    body = f'<body name="{SECRET}"><joint name="{SECRET}"/>{BOX}</body>'
    (outside / "secret.xml").write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    (outside / "secret.obj").write_bytes(WRITERS["mesh.obj"](*SHAPES["box"]))
    os.symlink(outside / "secret.xml", inside / "link.xml")
    os.symlink("../../outside/secret.xml", inside / "sub" / "up.xml")
    os.symlink(outside, inside / "linked")
    os.mkfifo(inside / "pipe.xml")


def name(rng, outside):
    """A file name: mostly of the model, at times outside the folder or of no file."""
    names = GOOD if rng.random() < 0.9 else pick(rng, (OUT, ODD))
    return pick(rng, names).format(outside=outside)


def mesh(rng, outside):
    hostile = ("../outside/secret.obj", f"{outside}/secret.obj", "linked/secret.obj", "pipe.xml")
    return pick(rng, sorted(WRITERS) if rng.random() < 0.9 else hostile)


def text(rng, outside):
    """A random MJCF model, complete or to be included, that names other files."""
    some = rng.integers(2, size=6)
    prefix = pick(rng, ("", "a", "b_"))
    include = f'<include file="{name(rng, outside)}"/>' * some[0]
    asset = f"""<asset><mesh name="m" file="{mesh(rng, outside)}" scale="1 1 {rng.normal():.3g}"
    inertia="{pick(rng, ("legacy", "convex", "exact", "shell"))}"/>
    {f'<model name="n" file="{name(rng, outside)}"/>' * some[1]}</asset>"""
    count = pick(rng, (0, 1, 2, 3, 2, 3, 40, 10**5, 10**9, -1, 1.5))
    attach = f'<attach model="n" prefix="{prefix}"/>' * some[1] * some[2]
    number = rng.integers(10**6)
    body = f"""<body name="b{number}"><joint name="j{number}"/><geom type="mesh" mesh="m"/>{BOX}
    </body>"""
    replicated = f'<replicate count="{count}" offset="1 0 0">{attach}{body}</replicate>'
    key = '<keyframe><key name="k" qpos="1 2 3"/></keyframe>' * some[3]
    free = (
        f'<body><freejoint/><geom type="{pick(rng, ("box", "mesh"))}" mesh="m"/></body>' * some[4]
    )
    inner = replicated if some[5] else attach + body
    return f"""<mujoco>{include}{asset}<worldbody>{free}{inner}</worldbody>{key}
    <actuator><motor joint="j{number}"/></actuator></mujoco>"""


def change(rng, path):
    """Change the bytes of a file, or the structure of an XML file."""
    data = path.read_bytes()
    if path.suffix in (".xml", ".sdf", ".xacro") and rng.random() < 0.5:
        changed = loader_structure.changed(rng, path.suffix, data)[1].encode(errors="surrogatepass")
    else:
        changed = pick(rng, loader_bytes.CHANGES)(rng, data)
    path.write_bytes(changed)
