"""Run commands as a user does, in forks of a process that has imported armlet.

Each command is a process with its own environment, folder and output. A fork need not import
armlet, which saves most of a command's time.
"""

import atexit
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from functools import cache
from pathlib import Path

ARMLET = Path(sys.executable).with_name("armlet")
PATIENCE = 60
"""The time limit of a command, in s."""


def run(*args, env=None, stdout=subprocess.PIPE, cwd=None, encoding=None, command=(ARMLET,)):
    """Run a command, in a fork if the options allow it; return the completed process."""
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"} | (env or {})
    plain = stdout is subprocess.PIPE and encoding is None and command == (ARMLET,)
    if plain and not any(name.startswith(("PYTHON", "_")) for name in env or {}):
        return _forked([str(x) for x in args], environment, cwd or os.getcwd())
    return subprocess.run(
        [*command, *args],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
        env=environment,
        cwd=cwd,
        encoding=encoding,
    )


def _forked(args, environment, cwd):
    with tempfile.TemporaryDirectory() as folder:
        asked = {"args": args, "env": environment, "cwd": str(cwd), "folder": folder}
        server = _server()
        server.stdin.write(json.dumps(asked) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        out, err = (Path(folder, name).read_text("utf-8") for name in ("out", "err"))
    if code < 0:
        raise subprocess.TimeoutExpired(args, PATIENCE, out, err)
    return subprocess.CompletedProcess(args, code, out, err)


@cache
def _server():
    """Start the process that imports the commands and forks; it ends with the test process."""
    server = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(server.communicate)
    return server


# ------------------------------------------------------------------ in the forking process


def _serve():
    import armlet.cli

    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if not child:
            _become(armlet.cli.main, **asked)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become(main, args, env, cwd, folder):
    """Run a command as a newly started process would, and exit."""
    code = 1
    try:
        os.environ.clear()
        os.environ.update(env)
        os.chdir(cwd)
        files = [(0, os.devnull, os.O_RDONLY)]
        files += [
            (k, f"{folder}/{x}", os.O_WRONLY | os.O_CREAT) for k, x in ((1, "out"), (2, "err"))
        ]
        for number, path, flags in files:
            os.dup2(os.open(path, flags), number)
        sys.stdin, sys.stdout, sys.stderr = (
            io.TextIOWrapper(open(k, mode, closefd=False), "utf-8", line_buffering=k == 2)  # noqa: SIM115
            for k, mode in ((0, "rb"), (1, "wb"), (2, "wb"))
        )
        sys.argv = [str(ARMLET), *args]
        signal.alarm(PATIENCE)
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
