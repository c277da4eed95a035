"""PyTorch's flight recorder: dumps of all ranks, read safely and judged together.

    traces = p2.flight.load(glob.glob("/tmp/nccl_trace_rank_*"))
    assert p2.flight.check(traces)

Judged are order, sizes, types and membership: the recorder keeps no reductions, roots or values.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Unpack

from ._call import CallOptions
from .errors import InputError
from .verdict import Verdict

PICKLE = b"\x80"
MAX_BYTES = 1 << 30


class _PlainUnpickler(pickle.Unpickler):
    """Makes plain containers only: nothing in the file is called."""

    def find_class(self, module: str, name: str) -> Any:
        raise InputError(
            f"the dump wants to load {module}.{name}, expected lists, dicts, texts and numbers only"
        )


class Traces(Mapping[int, dict[str, Any]]):
    """The dumps of a job, by rank: each a dict with `entries`, `pg_config` and `version`."""

    def __init__(self, dumps: Mapping[int, dict[str, Any]], files: Mapping[int, str]) -> None:
        self._dumps = dict(sorted(dumps.items()))
        self.files = dict(files)

    def __getitem__(self, rank: int) -> dict[str, Any]:
        return self._dumps[rank]

    def __len__(self) -> int:
        return len(self._dumps)

    def __iter__(self) -> Any:
        return iter(self._dumps)

    def __repr__(self) -> str:
        calls = sum(len(each.get("entries", ())) for each in self._dumps.values())
        return f"Traces({len(self)} ranks, {calls} calls)"

    def texts(self) -> list[str]:
        """The dumps as JSON, each with its rank and an entry per line."""
        texts = []
        for rank, dump in self._dumps.items():
            head = {**{key: dump[key] for key in dump if key != "entries"}, "rank": rank}
            entries = ",\n".join(json.dumps(each) for each in dump.get("entries", ()))
            texts.append(json.dumps(head)[:-1] + ', "entries": [\n' + entries + "\n]}\n")
        return texts


def is_pickle(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a pickle: the dumps that PyTorch writes when a collective times out."""
    try:
        with open(path, "rb") as file:
            return file.read(1) == PICKLE
    except OSError:
        return False


def load(files: Iterable[str | os.PathLike[str]] | str | os.PathLike[str]) -> Traces:
    """Reads dumps, JSON or pickles, of the ranks of one job.

    `files` are paths, or one folder. The rank is the dump's member `rank`, else the last number in
    the file's name. Pickles may hold plain containers only; nothing in them is called. Raises
    InputError.
    """
    if isinstance(files, (str, os.PathLike)):
        folder = Path(files)
        paths = sorted(folder.iterdir()) if folder.is_dir() else [folder]
    else:
        paths = [Path(each) for each in files]
    if not paths:
        raise InputError("no dumps, expected one file for each rank")
    dumps: dict[int, dict[str, Any]] = {}
    names: dict[int, str] = {}
    for path in paths:
        dump = _read(path)
        rank = dump.get("rank", _rank_in(path.stem if path.suffix else path.name))
        if not isinstance(rank, int):
            raise InputError(
                f"{path}: names no rank, expected a number at the end of the file's name", str(path)
            )
        if rank in dumps:
            raise InputError(f"{path}: is of rank {rank}, as is {names[rank]}", str(path))
        dumps[rank] = dump
        names[rank] = str(path)
    return Traces(dumps, names)


def _rank_in(name: str) -> int | None:
    found = re.search(r"(\d+)$", name)
    return int(found[1]) if found else None


def _read(path: Path) -> dict[str, Any]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read, expected a readable file", str(path)) from error
    if len(data) > MAX_BYTES:
        raise InputError(f"{path}: is larger than {MAX_BYTES} bytes", str(path))
    try:
        if data.startswith(PICKLE):
            dump = _plain(_PlainUnpickler(io.BytesIO(data)).load())
        else:
            dump = json.loads(data)
    except InputError as error:
        raise InputError(f"{path}: {error}", str(path)) from error
    except Exception as error:  # a broken pickle raises whatever its bytes lead to
        raise InputError(f"{path}: is not a dump of the flight recorder: {error}", str(path)) from error
    if not isinstance(dump, dict) or not isinstance(dump.get("entries"), list):
        raise InputError(f"{path}: has no entries, expected a dump of the flight recorder", str(path))
    return dump


def _plain(value: Any) -> Any:
    """Tuples as lists, and keys as texts, as JSON has them."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise InputError(f"has a {type(value).__name__}, expected plain containers")


def check(traces: Traces, **call: Unpack[CallOptions]) -> Verdict:
    """Whether the ranks made the same calls in the same order, and who waits for whom.

    Rules: mismatched-collective, reordered-collectives, mismatched-type, mismatched-size,
    missing-call, deadlock, unmatched-send, unmatched-receive. Unknown where dumps of ranks are
    missing and those that are there agree. Raises InputError.
    """
    from .checking import check as check_texts

    return check_texts(traces.texts(), **call)


__all__ = ["Traces", "check", "is_pickle", "load"]
