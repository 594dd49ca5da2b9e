"""Which kernel scores queries: the compiled one where it was built, numpy elsewhere.

Both give identical results. The environment variable LITSTORE_KERNEL, read once, asks for one of
them: ``c`` or ``numpy``.
"""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType
from typing import Final

from litstore.errors import ConfigError

NAMES: Final = ("c", "numpy")

_compiled: ModuleType | None
try:
    _compiled = import_module("litstore.index._kernel")
except ImportError:
    _compiled = None


def available() -> tuple[str, ...]:
    """The kernels that can be used here, the faster one first."""
    return NAMES if _compiled is not None else ("numpy",)


def _chosen() -> str:
    asked = os.environ.get("LITSTORE_KERNEL", "").strip()
    if not asked:
        return available()[0]
    if asked not in NAMES:
        raise ConfigError(f"LITSTORE_KERNEL is {asked!r}; choose from {', '.join(NAMES)}")
    if asked not in available():
        raise ConfigError("LITSTORE_KERNEL is 'c', but the compiled kernel was not built here")
    return asked


def active() -> str:
    """The kernel in use: "c" or "numpy"."""
    return _active


def select(name: str) -> None:
    """Use another kernel from now on, in this process; for tests and benchmarks.

    Indexes made before keep theirs. Raises ConfigError for one that is not available.
    """
    global _active  # noqa: PLW0603 (one choice for the process, made once)
    if name not in available():
        raise ConfigError(f"kernel {name!r} is not available; choose from {available()}")
    _active = name


def module() -> ModuleType:
    """The kernel in use, as a module: `Term`, `top_k`, `score`, `length_norms`, `codes`."""
    if _active == "c" and _compiled is not None:
        return _compiled
    return import_module("litstore.index.kernel_numpy")


_active = _chosen()
