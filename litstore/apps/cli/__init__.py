"""The command `litstore`.

Results go to stdout, everything else to stderr; `--json` prints one versioned envelope. Exit codes:

0 ok; 1 failure; 2 usage; 3 nothing found (an unknown id or term, `--fail-on-empty`, nothing to
replay or to plot); 4 partial (some records failed, the rest is done); 5 try later (rate limit,
budget); 6 the store is locked, damaged, not a store, or of a newer schema; 7 a check did not hold
(`verify`, `doctor`, `check`, `replay`, a gate of `eval`); 130 interrupted (129, 143: `inspect` was
ended by SIGHUP, SIGTERM); 141 who read the output has closed it (`| head`).
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from collections.abc import Sequence
from typing import NoReturn

# numpy would start a pool of threads that no command needs; it costs every command its start-up.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main() -> NoReturn:
    """Run the command line and exit."""
    code = run(sys.argv[1:])
    if not _is_watched():
        _leave_quickly(code)
    sys.exit(code)


def _is_watched() -> bool:
    """Whether somebody wants the end of Python too: a profiler, a debugger, a thread that works."""
    flags = sys.flags
    return bool(
        sys.gettrace() or sys.getprofile() or flags.interactive or flags.inspect or flags.dev_mode
    ) or (threading.active_count() > 1)


def _leave_quickly(code: int) -> None:
    """End the process with all that is due at its end, but without freeing its memory.

    The system takes that back at once; Python would look through some 100,000 objects first and
    free each, a fifth of a short command's time. Returns where the output cannot be written.
    """
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return
    os._exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    # Importing makes some 100,000 objects that all stay; looking through them for garbage again and
    # again would take a tenth of a short command's time.
    gc.set_threshold(100_000, 20, 20)
    from litstore.apps.cli.commands import run_command

    return run_command(list(arguments))


__all__ = ["main", "run"]
