"""Graphs of PyTorch's ranks as a module of HLO. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .errors import InputError
from . import _torch_indexing as _torch_indexing  # they register the operations
from . import _torch_operations as _torch_operations
from ._torch_graph import IndexRange, RankGraph, difference, ordered
from ._torch_writer import Writer


def to_hlo(graphs: Sequence[RankGraph], ranges: Mapping[int, IndexRange] | None = None) -> str:
    """The graphs of all ranks as one module of HLO, which every rank runs.

    ranges: what inputs of indices may be; numbers beyond them are taken as some in them.

    Raises InputError where the ranks run different programs, with the first operation that differs.
    """
    found = ordered(graphs)
    differs = difference(found)
    if differs is not None:
        raise InputError(differs)
    return Writer(found, ranges).text()


def module_of(graph: RankGraph, ranges: Mapping[int, IndexRange] | None = None) -> str:
    """The graph of one rank as a module of its own."""
    return Writer([graph], ranges).text()
