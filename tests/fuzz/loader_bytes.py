"""Files in which random bytes are changed."""

import numpy as np

from fuzz.loading import check_load, random_file

TOKENS = (
    b"nan",
    b"inf",
    b"-0",
    b"1e999",
    b"1e-999",
    b"9" * 400,
    b"1_0",
    "\u0663".encode(),
    b"0x10",
    b"<!--",
    b"-->",
    b"<![CDATA[",
    b"]]>",
    b"<?xml version='1.0' encoding='utf-16'?>",
    b"&#0;",
    b"&lt;",
    b"&x;",
    b"<!DOCTYPE a>",
    b"\0",
    b"\x1b[31m",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\r\n",
    b'"',
    b"'",
    b'"""',
    b"[[",
    b"]]",
    b"{",
    b"a.b.c = 1\n",
    b"\\u0000",
    b"[/x]",
    b"\n" * 1000,
    b"<link name='",
    b"<joint ",
    b"<body>",
    b"</",
    b"/>",
    b"[[body]]\n",
    b" " * 5000,
)


def trial(rng, folder):
    ending, data = random_file(rng)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        data = CHANGES[rng.integers(len(CHANGES))](rng, data)
    path = folder / f"file{ending}"
    path.write_bytes(data)
    check_load(path, rng)


def piece(rng, data):
    """The ends of a random range of bytes, more often short than long."""
    start = rng.integers(len(data) + 1)
    return start, min(len(data), start + int(2 ** rng.uniform(0, 12)))


def flipped(rng, data):
    changed = bytearray(data)
    for _ in range(min(len(data), rng.integers(1, 10))):
        changed[rng.integers(len(data))] ^= 1 << rng.integers(8)
    return bytes(changed)


def with_digits(rng, data):
    """Replace characters of a few numbers, most of which stay numbers."""
    changed = bytearray(data)
    digits = [k for k, byte in enumerate(data) if byte in b"0123456789.-e"]
    for k in rng.choice(digits, rng.integers(1, 10)) if digits else ():
        changed[k] = b"0123456789.-e"[rng.integers(13)]
    return bytes(changed)


def removed(rng, data):
    start, end = piece(rng, data)
    return data[:start] + data[end:]


def repeated(rng, data):
    start, end = piece(rng, data)
    return data[:end] + data[start:end] * rng.integers(1, 20) + data[end:]


def moved(rng, data):
    start, end = piece(rng, data)
    rest = data[:start] + data[end:]
    to = rng.integers(len(rest) + 1)
    return rest[:to] + data[start:end] + rest[to:]


def truncated(rng, data):
    return data[: rng.integers(len(data) + 1)]


def with_token(rng, data):
    """Insert an odd token, mostly in the place of a word."""
    words = [k for k, byte in enumerate(data) if byte in b"\"' =,[<"]
    at = int(rng.choice(words)) + 1 if words else 0
    end = at if rng.random() < 0.5 else next((k for k in words if k > at), len(data))
    return data[:at] + TOKENS[rng.integers(len(TOKENS))] + data[end:]


def with_noise(rng, data):
    at = rng.integers(len(data) + 1)
    return (
        data[:at] + rng.integers(0, 256, rng.integers(1, 50)).astype(np.uint8).tobytes() + data[at:]
    )


def spliced(rng, data):
    _, other = random_file(rng)
    start, end = piece(rng, other)
    at = rng.integers(len(data) + 1)
    return data[:at] + other[start:end] + data[at:]


CHANGES = (
    flipped,
    with_digits,
    with_digits,
    removed,
    repeated,
    moved,
    truncated,
    with_token,
    with_token,
    with_noise,
    spliced,
)
