"""What every test shares: where the real data is, and a store to fill."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says more of what else the machine does than of the code.
settings.register_profile("litstore", deadline=None)
settings.load_profile("litstore")

DATA = Path(
    os.environ.get("LITSTORE_TEST_DATA", Path(__file__).parent.parent.parent / "shared" / "data")
)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real collections; tests that need it are skipped where it is absent."""
    if not DATA.is_dir():
        pytest.skip(f"no test data at {DATA}; set LITSTORE_TEST_DATA")
    return DATA
