"""Options and texts of a call."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, TypedDict, Union

from . import _core
from .errors import InputError

#: A `str` is a text, an `os.PathLike` a file.
TextOrPath = Union[str, "os.PathLike[str]"]
Progress = Callable[[str], Any]


class CallOptions(TypedDict, total=False):
    """The keyword arguments that every call takes.

    timeout: seconds. memory: bytes, or a text such as `"2G"`. rlimit: units of work of each query
    to a solver. jobs: threads (0: one per core); answers do not depend on it. seed: of what is
    drawn. progress: a callable with a line, about once a second; an empty line ends the reports.
    """

    timeout: float | None
    memory: int | str | None
    rlimit: int | None
    jobs: int
    seed: int
    progress: Progress | None


MAX_TIMEOUT = 1e9


def options(given: CallOptions) -> _core.CallOptions:
    """The options in the form of the extension."""
    unknown = set(given) - set(CallOptions.__annotations__)
    if unknown:
        raise TypeError(
            f"unknown keyword argument '{min(unknown)}', expected "
            + ", ".join(sorted(CallOptions.__annotations__))
        )
    result = _core.CallOptions()
    timeout = given.get("timeout")
    if timeout is not None:
        if not 0 <= timeout <= MAX_TIMEOUT:
            raise InputError(f"timeout: {timeout}, expected seconds from 0 to {MAX_TIMEOUT:.0f}")
        result.timeout = timeout
    memory = given.get("memory")
    result.memory = _core.parse_bytes(memory) if isinstance(memory, str) else memory
    result.rlimit = given.get("rlimit")
    result.jobs = given.get("jobs", 0)
    result.seed = given.get("seed", 1)
    progress = given.get("progress")
    result.progress = notebook_progress() if progress is None else progress
    return result


def notebook_progress() -> Progress | None:
    """In a notebook, a line that is overwritten; elsewhere nothing."""
    import sys

    if "ipykernel" not in sys.modules:
        return None
    from IPython.display import DisplayHandle  # type: ignore[import-not-found, unused-ignore]

    handle = DisplayHandle()
    shown = False

    def show(line: str) -> None:
        nonlocal shown
        text = {"text/plain": line}
        if shown:
            handle.update(text, raw=True)
        else:
            handle.display(text, raw=True)
        shown = True

    return show


class Sources:
    """Gives texts names under which the library reads them, until the end of a `with`."""

    def __init__(self) -> None:
        self._files: list[_core.TextFile] = []

    def __enter__(self) -> Sources:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.clear()

    def path(self, source: TextOrPath, name: str) -> str:
        """The path of a file, or the name of a text."""
        if isinstance(source, os.PathLike):
            return os.fspath(source)
        if not isinstance(source, str):
            raise TypeError(f"{type(source).__name__}, expected a text (str) or a path (os.PathLike)")
        if looks_like_path(source) and os.path.exists(source):
            raise InputError(
                f"'{source}' is a path given as a text, expected pathlib.Path('{source}') to read "
                "the file"
            )
        file = _core.TextFile(name, source)
        self._files.append(file)
        return file.path


def looks_like_path(text: str) -> bool:
    """Whether a text that was given as a program is rather the name of a file."""
    return len(text) < 4096 and re.fullmatch(r"[^\s;{}()<>]+", text) is not None
