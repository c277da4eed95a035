"""The graph of what a rank of PyTorch computes, as JSON, and which indices its inputs may be. Needs no torch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import InputError


class _Types(dict[str, str]):
    def __missing__(self, name: str) -> str:
        raise InputError(f"tensors of {name} are not understood, expected {', '.join(self)}")


TYPES = _Types(
    {
        "torch.float64": "f64",
        "torch.float32": "f32",
        "torch.bfloat16": "bf16",
        "torch.float16": "f16",
        "torch.int64": "s64",
        "torch.int32": "s32",
        "torch.int16": "s16",
        "torch.int8": "s8",
        "torch.uint8": "u8",
        "torch.bool": "pred",
    }
)
FLOATS = ("f64", "f32", "bf16", "f16")


@dataclass(frozen=True)
class Ref:
    """The result of a node, or one of several."""

    node: str
    index: int | None = None


@dataclass
class Node:
    """An operation: `op` is `aten.mm.default`, `placeholder` or `output`.

    args, kwargs: Ref, numbers, texts and lists of them. shapes, dtypes: of the result, or of each
    of several. source: the user's line, `train.py:43 (step)`, where it is known.
    """

    name: str
    op: str
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    shapes: list[list[int]] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)
    source: str = ""


@dataclass
class RankGraph:
    """The graph of one rank, forward and backward. groups: name → ranks of the job."""

    rank: int
    world_size: int
    nodes: list[Node]
    groups: dict[str, list[int]] = field(default_factory=dict)

    def to_json(self) -> str:
        """The graph as a JSON text, which from_json reads back."""

        def plain(value: Any) -> Any:
            if isinstance(value, Ref):
                return {"node": value.node, "index": value.index}
            if isinstance(value, (list, tuple)):
                return [plain(each) for each in value]
            return value

        return json.dumps(
            {
                "format": "p2-rank-graph/1",
                "rank": self.rank,
                "world_size": self.world_size,
                "groups": self.groups,
                "nodes": [
                    {
                        "name": each.name,
                        "op": each.op,
                        "args": plain(each.args),
                        "kwargs": {key: plain(value) for key, value in each.kwargs.items()},
                        "shapes": each.shapes,
                        "dtypes": each.dtypes,
                        "source": each.source,
                    }
                    for each in self.nodes
                ],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> RankGraph:
        """Reads what to_json wrote. Raises InputError."""

        def value_of(value: Any) -> Any:
            if isinstance(value, dict):
                return Ref(value["node"], value["index"])
            if isinstance(value, list):
                return [value_of(each) for each in value]
            return value

        document = json.loads(text)
        if document.get("format") != "p2-rank-graph/1":
            raise InputError("unknown format, expected p2-rank-graph/1")
        nodes = [
            Node(
                each["name"],
                each["op"],
                value_of(each["args"]),
                {key: value_of(value) for key, value in each["kwargs"].items()},
                each["shapes"],
                each["dtypes"],
                each.get("source", ""),
            )
            for each in document["nodes"]
        ]
        return cls(document["rank"], document["world_size"], nodes, document["groups"])


@dataclass(frozen=True)
class IndexRange:
    """The numbers that an input of indices may have: first to last, and others beside."""

    first: int
    last: int
    others: tuple[int, ...] = ()

    def __str__(self) -> str:
        beside = "".join(f" or {each}" for each in self.others)
        return f"is {self.first} to {self.last}{beside}"


MOVES = (
    "view", "_unsafe_view", "reshape", "unsqueeze", "squeeze", "expand", "clone", "detach", "alias", "slice",
    "select", "transpose", "permute", "t", "_to_copy", "contiguous",
)  # fmt: skip


def index_ranges(graph: RankGraph) -> dict[int, IndexRange]:
    """By number of an input of integers, what it may be where it indexes something.

    PyTorch refuses other indices at run time; as modules of HLO have a value for them, both sides of
    a comparison must leave them out.
    """
    inputs = [node.name for node in graph.nodes if node.op == "placeholder"]
    nodes = {node.name: node for node in graph.nodes}
    found: dict[int, IndexRange] = {}

    def origin(value: Any, others: tuple[int, ...] = ()) -> tuple[str, tuple[int, ...]] | None:
        """The input whose numbers a value has, but where it replaced some, which may be others."""
        while isinstance(value, Ref) and value.index is None:
            node = nodes[value.node]
            name = node.op.split(".")[1] if "." in node.op else node.op
            if node.op == "placeholder":
                return node.name, others
            if name == "where" and len(node.args) == 3 and isinstance(node.args[0], Ref):
                test = nodes[node.args[0].node]
                if test.op.split(".")[1:2] != ["ne"] or not isinstance(test.args[1], int):
                    return None
                if origin(test.args[0]) != origin(node.args[1]):
                    return None
                others = (*others, test.args[1])
                value = node.args[1]
            elif name in MOVES and node.dtypes[0] in ("torch.int64", "torch.int32"):
                value = node.args[0]
            else:
                return None
        return None

    def used(index: Any, extent: int, negative: bool = False) -> None:
        source = origin(index)
        if source is None or not 0 < extent < 1 << 31:
            return
        number = inputs.index(source[0])
        first, last, others = (-extent if negative else 0), extent - 1, source[1]
        known = found.get(number)
        if known is not None:
            first, last = max(first, known.first), min(last, known.last)
            others = tuple(each for each in others if each in known.others)
        found[number] = IndexRange(first, last, others)

    def shape(value: Any) -> list[int]:
        return nodes[value.node].shapes[value.index or 0]

    for node in graph.nodes:
        name = node.op.split(".")[1] if "." in node.op else node.op
        if name == "embedding":
            used(node.args[1], shape(node.args[0])[0])
        elif name in ("gather", "scatter", "scatter_add", "index_select") and shape(node.args[0]):
            extents = shape(node.args[0])
            used(node.args[2], extents[node.args[1] % len(extents)])
        elif name in ("index", "_unsafe_index", "index_put", "_unsafe_index_put"):
            for extent, each in zip(shape(node.args[0]), node.args[1], strict=False):
                used(each, extent, True)
    return found


def ordered(graphs: Sequence[RankGraph]) -> list[RankGraph]:
    """The graphs by rank. Raises InputError where there is not one for each."""
    if not graphs:
        raise InputError("no graphs, expected one for each rank")
    result = sorted(graphs, key=lambda each: each.rank)
    world = result[0].world_size
    if [each.rank for each in result] != list(range(world)):
        raise InputError(
            f"graphs of ranks {[each.rank for each in result]}, expected each of 0 to {world - 1}"
        )
    return result


def difference(graphs: Sequence[RankGraph]) -> str | None:
    """Where the ranks' programs differ in more than their groups; None where they do not."""
    groups = [set(graph.groups) for graph in graphs]

    def shown(names: set[str], value: Any) -> Any:
        if isinstance(value, str) and value in names:
            return "a group"
        if isinstance(value, (list, tuple)):
            return [shown(names, each) for each in value]
        return value

    first = graphs[0]
    for graph, names in zip(graphs[1:], groups[1:], strict=True):
        if len(graph.nodes) != len(first.nodes):
            return (
                f"rank {graph.rank} has {len(graph.nodes)} operations, rank 0 {len(first.nodes)}: the "
                "ranks run different programs"
            )
        for node, other in zip(first.nodes, graph.nodes, strict=True):
            alike = (
                node.op == other.op
                and node.shapes == other.shapes
                and node.dtypes == other.dtypes
                and shown(groups[0], node.args) == shown(names, other.args)
                and node.kwargs == other.kwargs
            )
            if not alike:
                return (
                    f"rank 0 computes {node.op} {node.shapes}, rank {graph.rank} {other.op} "
                    f"{other.shapes} ({node.name}): the ranks run different programs"
                )
    return None
