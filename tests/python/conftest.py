"""The fixtures that the tests share. The package is the build's: PYTHONPATH has it."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]


@pytest.fixture
def examples() -> Path:
    return Path(__file__).parents[2] / "examples"
