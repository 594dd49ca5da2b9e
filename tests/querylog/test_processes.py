"""Several processes at once: no search fails, none waits long, and every search is in the log."""

import subprocess
import sys
from pathlib import Path

import litstore
from litstore import Paper, RetrievalClient

SEARCHES = """
import sys, time, litstore
with litstore.open(sys.argv[1]) as store:
    client = litstore.RetrievalClient(store, client=sys.argv[2])
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(sys.argv[3])):
        began = time.monotonic()
        query_id = client.search(f"sparse attention word{number}").query_id
        print(query_id, time.monotonic() - began, flush=True)
"""

LOADS = """
import sys, litstore
with litstore.open(sys.argv[1]) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    for part in range(int(sys.argv[2])):
        store.load(
            litstore.Paper(f"n{part}-{n}", f"Sparse attention {n}", f"word{n} graphs " * 30)
            for n in range(700)
        )
    print("loaded", flush=True)
"""


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program, *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_two_search_while_a_third_loads(tmp_path: Path) -> None:
    """Each search is in the log, or in the file beside it and then in the log.

    A search waits for its snapshot not at all, and for the log a quarter of a second at most; the
    bound here leaves room for a machine that is busy with other things.
    """
    path = tmp_path / "papers.db"
    with litstore.open(path) as store:
        store.load([Paper(f"p{n}", f"Sparse attention {n}", f"word{n}") for n in range(500)])
    searching = [start(SEARCHES, path, f"c{n}", 60) for n in range(2)]
    loading = start(LOADS, path, 4)
    everybody = [*searching, loading]
    for process in everybody:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == "ready\n"
    for process in everybody:
        process.stdin.write("\n")
        process.stdin.flush()
    said: list[str] = []
    waited: list[float] = []
    for process in searching:
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        rows = [line.split() for line in out.splitlines()]
        said += [query_id for query_id, _ in rows]
        waited += [float(seconds) for _, seconds in rows]
    out, _ = loading.communicate(timeout=120)
    assert (loading.returncode, out) == (0, "loaded\n")
    assert len(said) == 120
    assert "None" not in said
    assert max(waited) < 5.0
    with litstore.open(path) as store:
        RetrievalClient(store, client="last").search("sparse")
        assert store.query_log.waiting() == 0
        logged = [e for e in store.query_log.entries(limit=None) if e.client != "last"]
        assert sorted(said) == sorted(entry.query_id for entry in logged)
        assert store.verify() == []
        assert len(store) == 500 + 4 * 700
