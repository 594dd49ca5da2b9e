"""The compiled kernel under AddressSanitizer and UBSan: damage never becomes a bad access.

A short run; LITSTORE_FUZZ=20000 makes it a long one, with another seed each time.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import litstore

HERE = Path(__file__).parent
SOURCE = Path(litstore.__file__).parent / "index" / "_kernel.c"
ROUNDS = int(os.environ.get("LITSTORE_FUZZ", "150"))


def runtime(name: str) -> str:
    """The compiler's library of a sanitizer; the test is skipped where there is none."""
    found = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True)
    path = found.stdout.strip()
    if not Path(path).is_absolute():
        pytest.skip(f"gcc has no {name}")
    return path


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The kernel as built for this, and the libraries to be loaded before all others."""
    if not sys.platform.startswith("linux") or not shutil.which("gcc"):
        pytest.skip("needs gcc on Linux")
    libraries = f"{runtime('libasan.so')} {runtime('libubsan.so')}"
    built = str(tmp_path_factory.mktemp("kernel") / "_kernel.so")
    include = sysconfig.get_paths()["include"]
    if not Path(include, "Python.h").exists():
        pytest.skip("needs the headers of Python")
    subprocess.run(
        ["gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-ffp-contract=off", "-fPIC", "-shared",
         "-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{include}", str(SOURCE),
         "-o", built],
        check=True,
    )  # fmt: skip
    return built, libraries


def run(sanitized: tuple[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python with the sanitizers loaded."""
    environ = {
        **os.environ, "LD_PRELOAD": sanitized[1],
        # What Python itself leaves to the end of the process is no leak of the kernel's.
        "ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc", "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, *arguments], env=environ, capture_output=True, text=True, errors="replace"
    )


def test_damage_never_becomes_a_bad_access(sanitized: tuple[str, str]) -> None:
    """Whatever is damaged or masked: refused or searched, with no finding; sound is exact."""
    seed = random.randrange(10**6) if "LITSTORE_FUZZ" in os.environ else 1
    done = run(sanitized, str(HERE / "fuzz_kernel.py"), sanitized[0], str(seed), str(ROUNDS))
    assert done.returncode == 0, f"seed {seed}: {done.stderr[-4_000:]}"
    counts = [int(number) for number in re.findall(r"[0-9]+", done.stdout)]
    assert len(counts) == 3
    assert min(counts) >= ROUNDS // 50


def test_the_sanitizer_is_awake(sanitized: tuple[str, str]) -> None:
    """A read beyond an allocation is found: silence above means something."""
    code = "import ctypes; p = ctypes.CDLL(None).malloc; p.restype = ctypes.c_void_p; " \
           "ctypes.string_at(p(16), 64)"  # fmt: skip
    done = run(sanitized, "-c", code)
    assert done.returncode != 0
    assert "heap-buffer-overflow" in done.stderr
