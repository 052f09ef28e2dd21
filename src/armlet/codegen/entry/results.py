"""The results of a compiled entry: arrays to write to, and the tuple for several of them."""

from collections.abc import Sequence

from armlet.codegen.entry.objects import SPARES, WRITEABLE

CHECKED = 16
"""How many arrays are taken at most to write to: each is compared with all before it."""


def results(inputs: int, outputs: int, single: bool) -> list[str]:
    """Find the arrays to write to, `%r0`, `%r1`, …, and what is returned, `%returned`.

    They are those given, if they can be written to and are not too many, or others.
    """
    given = "take0" if outputs <= CHECKED else "slow"
    lines = ["%make = icmp eq ptr %out, null", f"br i1 %make, label %have, label %{given}"]
    for k in range(outputs):
        g = f"%g{k}"
        lines += [
            f"take{k}:",
            f"{g} = call ptr @item(ptr %out, i64 {k}, i64 {outputs})",
            f"{g}.none = icmp eq ptr {g}, null",
            f"br i1 {g}.none, label %slow, label %given{k}",
            f"given{k}:",
            f"{g}.fits = call i1 @fits(ptr {g}, i32 {WRITEABLE}, i32 %r{k}.rank, ptr %r{k}.shape)",
            f"br i1 {g}.fits, label %fit{k}, label %slow",
            f"fit{k}:",
            f"{g}.data = field data of {g}",
        ]
        others = [(f"%a{j}.data", f"%a{j}.bytes") for j in range(inputs)]
        others += [(f"%g{j}.data", f"%r{j}.bytes") for j in range(k) if outputs <= CHECKED]
        free = "true"
        for j, (data, bytes_) in enumerate(others):
            lines += [
                f"{g}.apart{j} = call i1 @apart(ptr {g}.data, i64 %r{k}.bytes, "
                f"ptr {data}, i64 {bytes_})",
                f"{g}.free{j} = and i1 {free}, {g}.apart{j}",
            ]
            free = f"{g}.free{j}"
        lines.append(f"br i1 {free}, label %take{k + 1}, label %slow")
    lines += [f"take{outputs}:", *(f"call void @Py_IncRef(ptr %g{k})" for k in range(outputs))]
    return [*lines, *(_only_result() if single else _several_results(outputs))]


def _only_result() -> list[str]:
    """The only result: the array given, or a free one."""
    return [
        "br label %run",
        "have:",
        "%m0 = call ptr @result(ptr %self, i32 %r0.rank, ptr %r0.shape, i1 %batch)",
        "%m0.failed = icmp eq ptr %m0, null",
        "br i1 %m0.failed, label %failed, label %run",
        "failed:",
        "ret ptr null",
        "run:",
        "%r0 = phi ptr [ %g0, %take1 ], [ %m0, %have ]",
        "%returned = phi ptr [ %g0, %take1 ], [ %m0, %have ]",
    ]


def _several_results(outputs: int) -> list[str]:
    """Several results and the tuple that holds them.

    A tuple that was returned before is used again as it is, if it and its arrays are free.
    """
    every = range(outputs)
    lines = ["br label %pack", "have:", "br i1 %batch, label %make0, label %spare0"]
    for s in range(SPARES):
        t, other = f"%t{s}", f"spare{s + 1}" if s + 1 < SPARES else "make0"
        lines += [
            f"spare{s}:",
            f"{t} = call ptr @spare(ptr %self, i64 {s})",
            f"{t}.none = icmp eq ptr {t}, null",
            f"br i1 {t}.none, label %{other}, label %item{s}.0",
        ]
        for k in every:
            lines += [
                f"item{s}.{k}:",
                f"{t}.{k} = call ptr @PyTuple_GetItem(ptr {t}, i64 {k})",
                f"{t}.{k}.free = call i1 @is_free(ptr {t}.{k}, i32 %r{k}.rank, ptr %r{k}.shape)",
                f"br i1 {t}.{k}.free, label %item{s}.{k + 1}, label %{other}",
            ]
        lines += [f"item{s}.{outputs}:", f"call void @Py_IncRef(ptr {t})", "br label %run"]
    for k in every:
        lines += [
            f"make{k}:",
            f"%m{k} = call ptr @new_array(i32 %r{k}.rank, ptr %r{k}.shape)",
            f"%m{k}.failed = icmp eq ptr %m{k}, null",
            f"br i1 %m{k}.failed, label %failed{k}, label %make{k + 1}",
            f"failed{k}:",
            *([f"call void @Py_DecRef(ptr %m{k - 1})", f"br label %failed{k - 1}"] if k else []),
            *([] if k else ["ret ptr null"]),
        ]
    return [
        *lines,
        f"make{outputs}:",
        "%kept = xor i1 %batch, true",
        "br label %pack",
        "pack:",
        *(f"%n{k} = phi ptr [ %g{k}, %take{outputs} ], [ %m{k}, %make{outputs} ]" for k in every),
        f"%keep = phi i1 [ false, %take{outputs} ], [ %kept, %make{outputs} ]",
        f"%tuple = call ptr @several(ptr %self, i64 {outputs})",
        "%tuple.failed = icmp eq ptr %tuple, null",
        f"br i1 %tuple.failed, label %failed{outputs}, label %fill",
        f"failed{outputs}:",
        *(f"call void @Py_DecRef(ptr %n{k})" for k in every),
        "ret ptr null",
        "fill:",
        *(
            f"%set{k} = call i32 @PyTuple_SetItem(ptr %tuple, i64 {k}, ptr %n{k})" for k in every
        ),
        "br i1 %keep, label %keep_tuple, label %run",
        "keep_tuple:",
        "call void @keep(ptr %self, ptr %tuple)",
        "br label %run",
        "run:",
        *(_found_in("ptr", f"r{k}", f"%n{k}", [f"%t{s}.{k}" for s in range(SPARES)], outputs)
          for k in every),
        _found_in("ptr", "returned", "%tuple", [f"%t{s}" for s in range(SPARES)], outputs),
    ]  # fmt: skip


def _found_in(kind: str, name: str, new: str, spares: Sequence[str], outputs: int) -> str:
    """A value that is a new one, or that of one of the spare tuples."""
    ways = [f"[ {new}, %fill ]", f"[ {new}, %keep_tuple ]"]
    ways += [f"[ {spare}, %item{s}.{outputs} ]" for s, spare in enumerate(spares)]
    return f"%{name} = phi {kind} {', '.join(ways)}"
