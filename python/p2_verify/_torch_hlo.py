"""Graphs of PyTorch's ranks, and the module of HLO that they are written as.

Needs no torch. Operations of ATen that are known keep their meaning; all others are functions of their
operands by name, so that `valid` holds whatever they compute.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
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


@dataclass(frozen=True)
class Value:
    """An instruction of the module that is written."""

    name: str
    shape: tuple[int, ...]
    type: str


class _Writer:
    """Writes the graphs of all ranks, which are alike but for their groups, as one HLO module."""

    def __init__(
        self, graphs: Sequence[RankGraph], ranges: Mapping[int, IndexRange] | None = None
    ) -> None:
        self.graphs = graphs
        self.ranges = ranges or {}
        self.lines: list[str] = []
        self.values: dict[str, list[Value]] = {}
        self.reducers: dict[tuple[str, str], str] = {}
        self.calls: dict[tuple[int, ...], int] = {}
        self.metadata = ""

    # -- instructions --------------------------------------------------------

    def emit(
        self, opcode: str, operands: Sequence[Value], shape: Sequence[int], type_: str, *rest: str
    ) -> Value:
        value = Value(f"v{len(self.lines)}", tuple(shape), type_)
        arguments = ", ".join(each.name for each in operands)
        extra = "".join(f", {each}" for each in rest) + self.metadata
        self.lines.append(
            f"  {value.name} = {type_}[{','.join(map(str, shape))}] {opcode}({arguments}){extra}"
        )
        return value

    def constant(self, number: float | bool, type_: str) -> Value:
        value = Value(f"v{len(self.lines)}", (), type_)
        self.lines.append(f"  {value.name} = {type_}[] constant({literal(number, type_)})")
        return value

    def table(self, numbers: Sequence[Any], shape: Sequence[int], type_: str) -> Value:
        """A constant with the elements in order, the last dimension fastest."""
        if not numbers:
            return self.broadcast(self.constant(0, type_), shape)
        value = Value(f"v{len(self.lines)}", (len(numbers),), type_)
        text = ", ".join(literal(each, type_) for each in numbers)
        self.lines.append(f"  {value.name} = {type_}[{len(numbers)}] constant({{{text}}})")
        return self.reshape(value, shape)

    def broadcast(self, value: Value, shape: Sequence[int]) -> Value:
        """NumPy's rules: trailing dimensions correspond, an extent of 1 is repeated."""
        if value.shape == tuple(shape):
            return value
        skip = len(shape) - len(value.shape)
        kept = [i for i, extent in enumerate(value.shape) if extent != 1 or shape[i + skip] == 1]
        squeezed = value
        if len(kept) != len(value.shape):
            squeezed = self.reshape(value, [value.shape[i] for i in kept])
        dimensions = ",".join(str(i + skip) for i in kept)
        return self.emit("broadcast", [squeezed], shape, value.type, f"dimensions={{{dimensions}}}")

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        if value.shape == tuple(shape):
            return value
        return self.emit("reshape", [value], shape, value.type)

    def convert(self, value: Value, type_: str) -> Value:
        return value if value.type == type_ else self.emit("convert", [value], value.shape, type_)

    def reducer(self, opcode: str, type_: str) -> str:
        return self.reducers.setdefault((opcode, type_), f"{opcode}_{type_}")

    def reduce(self, value: Value, dimensions: Sequence[int], opcode: str, start: float) -> Value:
        dimensions = sorted(each % len(value.shape) for each in dimensions)
        shape = [extent for i, extent in enumerate(value.shape) if i not in dimensions]
        zero = self.constant(start, value.type)
        return self.emit(
            "reduce",
            [value, zero],
            shape,
            value.type,
            f"dimensions={{{','.join(map(str, dimensions))}}}",
            f"to_apply={self.reducer(opcode, value.type)}",
        )

    def sum(self, value: Value, dimensions: Sequence[int], keep: bool = False) -> Value:
        total = self.reduce(value, dimensions, "add", 0)
        return self.kept(total, value, dimensions) if keep else total

    def kept(self, value: Value, of: Value, dimensions: Sequence[int]) -> Value:
        rank = len(of.shape)
        cut = {each % rank for each in dimensions}
        return self.reshape(value, [1 if i in cut else of.shape[i] for i in range(rank)])

    def binary(self, opcode: str, a: Value, b: Value, type_: str | None = None) -> Value:
        shape = broadcast_shape(a.shape, b.shape)
        common = type_ or (a.type if a.type in FLOATS or b.type not in FLOATS else b.type)
        left = self.broadcast(self.convert(a, common), shape)
        right = self.broadcast(self.convert(b, common), shape)
        return self.emit(opcode, [left, right], shape, common)

    def scaled(self, value: Value, factor: float) -> Value:
        return self.binary("multiply", value, self.constant(factor, value.type))

    def slice(self, value: Value, dimension: int, start: int, stop: int, step: int = 1) -> Value:
        ranges = [
            f"[{start}:{stop}:{step}]" if i == dimension else f"[0:{extent}:1]"
            for i, extent in enumerate(value.shape)
        ]
        shape = list(value.shape)
        shape[dimension] = max(0, -(-(stop - start) // step))
        return self.emit("slice", [value], shape, value.type, f"slice={{{', '.join(ranges)}}}")

    def transpose(self, value: Value, order: Sequence[int]) -> Value:
        if list(order) == list(range(len(value.shape))):
            return value
        shape = [value.shape[i] for i in order]
        return self.emit(
            "transpose", [value], shape, value.type, f"dimensions={{{','.join(map(str, order))}}}"
        )

    def dot(self, a: Value, b: Value, batch: int) -> Value:
        shape = [*a.shape[:-1], b.shape[-1]]
        attributes = [f"lhs_contracting_dims={{{len(a.shape) - 1}}}"]
        attributes.append(f"rhs_contracting_dims={{{len(b.shape) - 2}}}")
        if batch:
            dimensions = ",".join(map(str, range(batch)))
            attributes.insert(0, f"lhs_batch_dims={{{dimensions}}}")
            attributes.append(f"rhs_batch_dims={{{dimensions}}}")
        return self.emit("dot", [a, b], shape, a.type, *attributes)

    def concatenate(self, values: Sequence[Value], dimension: int) -> Value:
        values = [each for each in values if each.shape[dimension] > 0] or list(values[:1])
        if len(values) == 1:
            return values[0]
        shape = list(values[0].shape)
        shape[dimension] = sum(each.shape[dimension] for each in values)
        return self.emit("concatenate", values, shape, values[0].type, f"dimensions={{{dimension}}}")

    def rows(self, value: Value, dimension: int, index: Value) -> Value:
        """The parts of `value` along a dimension that an array of numbers names."""
        rank, several = len(value.shape), len(index.shape)
        shape = [*value.shape[:dimension], *index.shape, *value.shape[dimension + 1 :]]
        kept = [i for i in range(len(shape)) if not dimension <= i < dimension + several]
        sizes = [1 if i == dimension else value.shape[i] for i in range(rank)]
        return self.emit(
            "gather",
            [value, index],
            shape,
            value.type,
            f"offset_dims={{{','.join(map(str, kept))}}}",
            f"collapsed_slice_dims={{{dimension}}}",
            f"start_index_map={{{dimension}}}",
            f"index_vector_dim={several}",
            f"slice_sizes={{{','.join(map(str, sizes))}}}",
        )

    def wrapped(self, index: Value, extent: int) -> Value:
        """Numbers below 0 count from the end."""
        zero = self.broadcast(self.constant(0, index.type), index.shape)
        below = self.emit("compare", [index, zero], index.shape, "pred", "direction=LT")
        counted = self.binary("add", index, self.constant(extent, index.type))
        return self.emit("select", [below, counted, index], index.shape, index.type)

    def within(self, value: Value, allowed: IndexRange) -> Value:
        """Every number of the range, and no other: 0, 1 … are those beside it, then it begins."""
        result = value
        if allowed.first != len(allowed.others):
            shift = self.constant(allowed.first - len(allowed.others), value.type)
            result = self.binary("add", value, shift)
        least, most = (
            self.broadcast(self.constant(each, value.type), value.shape)
            for each in (allowed.first, allowed.last)
        )
        result = self.emit("clamp", [least, result, most], value.shape, value.type)
        for place, number in enumerate(allowed.others):
            stands, other = (
                self.broadcast(self.constant(each, value.type), value.shape) for each in (place, number)
            )
            same = self.emit("compare", [value, stands], value.shape, "pred", "direction=EQ")
            result = self.emit("select", [same, other, result], value.shape, value.type)
        return result

    def indices(
        self, value: Value, given: Sequence[Value | None]
    ) -> tuple[list[int], Value, list[int]] | None:
        """Tensors of numbers as one array of coordinates: of which dimensions, and its shape without
        the last. None where they are no numbers."""
        present = [(i, each) for i, each in enumerate(given) if each is not None]
        if not present or any(each.type not in ("s64", "s32") for _, each in present):
            return None
        several: list[int] = []
        for _, each in present:
            several = broadcast_shape(several, each.shape)
        parts = [
            self.reshape(
                self.broadcast(
                    self.convert(self.wrapped(each, value.shape[dimension]), "s64"), several
                ),
                [*several, 1],
            )
            for dimension, each in present
        ]
        return [i for i, _ in present], self.concatenate(parts, len(several)), several

    def coordinates(self, index: Value, dimension: int) -> Value:
        """For each element of `index` its place, but for `dimension`, which it names itself."""
        column = [*index.shape, 1]
        parts = [
            self.reshape(index, column)
            if i == dimension
            else self.emit("iota", [], column, index.type, f"iota_dimension={i}")
            for i in range(len(index.shape))
        ]
        return self.concatenate(parts, len(index.shape))

    def of_this_rank(self, numbers: Sequence[float], type_: str) -> Value:
        """The number that a table has for the rank that runs the module."""
        table = self.table(numbers, [len(numbers)], type_)
        rank = self.emit("partition-id", [], (), "u32")
        part = self.emit("dynamic-slice", [table, rank], [1], type_, "dynamic_slice_sizes={1}")
        return self.reshape(part, [])

    def scatter(self, value: Value, index: Value, source: Value, adds: bool, *rest: str) -> Value:
        reducer = self.reducer("add" if adds else "second", value.type)
        return self.emit(
            "scatter", [value, index, source], value.shape, value.type, *rest, f"to_apply={reducer}"
        )

    # -- collectives ---------------------------------------------------------

    def groups_of(self, name: str, position: int) -> str:
        """The groups of a collective over all ranks: each rank's graph names its own."""
        groups: dict[tuple[int, ...], None] = {}
        for graph in self.graphs:
            node = graph.nodes[position]
            own = next(
                (each for each in reversed(node.args) if isinstance(each, str) and each in graph.groups),
                None,
            )
            if own is None:
                raise InputError(f"rank {graph.rank}: {name} names no known process group")
            ranks = tuple(graph.groups[own])
            if graph.rank not in ranks:
                raise InputError(f"rank {graph.rank} is not in the group {list(ranks)} of its {name}")
            groups[ranks] = None
        members = [rank for group in groups for rank in group]
        if len(self.graphs) == 1 and len(members) < self.graphs[0].world_size:
            # Of a module of one rank all other ranks need a group, though they do not run it.
            others = [rank for rank in range(self.graphs[0].world_size) if rank not in members]
            size = len(members)
            for start in range(0, len(others), size):
                groups[tuple(others[start : start + size])] = None
            members += others
        if len(members) != len(set(members)):
            raise InputError(f"the groups of {name} overlap: {[list(each) for each in groups]}")
        if len({len(group) for group in groups}) != 1:
            raise InputError(f"the groups of {name} have several sizes: {list(groups)}")
        inner = ",".join("{" + ",".join(map(str, group)) + "}" for group in groups)
        return f"replica_groups={{{inner}}}"

    def collective(self, opcode: str, value: Value, shape: Sequence[int], node: Node, *rest: str) -> Value:
        position = next(i for i, each in enumerate(self.graphs[0].nodes) if each is node)
        if len(self.graphs) == 1 and self.graphs[0].world_size > 1:
            channel = f"channel_id={self.channel(node)}"
        else:
            channel = f"channel_id={len(self.lines) + 1}"
        groups = self.groups_of(node.name, position)
        return self.emit(
            opcode, [value], shape, value.type, channel, groups, "use_global_device_ids=true", *rest
        )

    def channel(self, node: Node) -> int:
        """The number of a call where ranks have modules of their own: the n-th call of a group."""
        graph = self.graphs[0]
        name = next(each for each in reversed(node.args) if isinstance(each, str) and each in graph.groups)
        ranks = tuple(graph.groups[name])
        call = self.calls[ranks] = self.calls.get(ranks, -1) + 1
        number = call
        for rank in ranks:  # one number for one group, another one for another
            number = number * (graph.world_size + 1) + rank + 1
        return number + 1

    # -- the module ----------------------------------------------------------

    def arg(self, value: Any) -> Any:
        """An argument with its references resolved."""
        if isinstance(value, Ref):
            results = self.values[value.node]
            if value.index is None and len(results) > 1:
                return list(results)
            return results[value.index or 0]
        if isinstance(value, (list, tuple)):
            return [self.arg(each) for each in value]
        return value

    def text(self) -> str:
        graph = self.graphs[0]
        parameters = 0
        outputs: list[Value] = []
        for node in graph.nodes:
            self.metadata = metadata_of(node.source)
            if node.op == "placeholder":
                allowed = self.ranges.get(parameters)
                type_ = "s32" if allowed is not None else type_of(node)
                shape = ",".join(map(str, node.shapes[0]))
                value = Value(f"v{len(self.lines)}", tuple(node.shapes[0]), type_)
                self.lines.append(f"  {value.name} = {type_}[{shape}] parameter({parameters})")
                if allowed is not None:
                    value = self.convert(self.within(value, allowed), type_of(node))
                self.values[node.name] = [value]
                parameters += 1
            elif node.op == "output":
                flat = node.args[0] if isinstance(node.args[0], (list, tuple)) else node.args
                outputs = [self.arg(each) for each in flat if each is not None]
            else:
                self.values[node.name] = self.results_of(node)
        shapes = ", ".join(f"{each.type}[{','.join(map(str, each.shape))}]" for each in outputs)
        names = ", ".join(each.name for each in outputs)
        body = "\n".join(self.lines)
        reducers = "".join(
            f"{name} {{\n  a = {type_}[] parameter(0)\n  b = {type_}[] parameter(1)\n"
            f"  ROOT c = {type_}[] {'copy(b)' if opcode == 'second' else opcode + '(a, b)'}\n}}\n\n"
            for (opcode, type_), name in self.reducers.items()
        )
        partitions = f", num_partitions={graph.world_size}" if graph.world_size > 1 else ""
        return (
            f"HloModule step{partitions}\n\n{reducers}ENTRY main {{\n{body}\n"
            f"  ROOT result = ({shapes}) tuple({names})\n}}\n"
        )

    def results_of(self, node: Node) -> list[Value]:
        parts = node.op.split(".")
        name = ".".join(parts[:2]) if len(parts) > 2 else node.op
        known = OPERATIONS.get(name)
        arguments = [self.arg(each) for each in node.args]
        named = {key: self.arg(value) for key, value in node.kwargs.items()}
        found = known(self, node, arguments, named) if known else None
        if found is None:
            return self.uninterpreted(node, name, arguments, named)
        results = found if isinstance(found, list) else [found]
        for value, shape, type_ in zip(results, node.shapes, node.dtypes, strict=False):
            if list(value.shape) != list(shape):
                raise InputError(
                    f"{node.name} ({node.op}) has shape {list(shape)}, its translation "
                    f"{list(value.shape)}"
                )
            if value.type != TYPES[type_]:
                raise InputError(f"{node.name} ({node.op}) has type {type_}, not {value.type}")
        return results

    def uninterpreted(
        self, node: Node, name: str, arguments: Sequence[Any], named: Mapping[str, Any]
    ) -> list[Value]:
        """A function of its operands, whose name has all its other arguments."""
        operands: list[Value] = []

        def plain(value: Any) -> str:
            if isinstance(value, Value):
                operands.append(value)
                return f"#{len(operands)}"
            if isinstance(value, list):
                return "[" + ",".join(plain(each) for each in value) + "]"
            return str(value)

        if "c10d" in name:
            raise InputError(f"{node.name}: the collective {node.op} is not known, expected {KNOWN}")
        given = [plain(each) for each in arguments]
        given += [f"{key}={plain(named[key])}" for key in sorted(named)]
        text = ";".join(given)
        results = []
        for number, (shape, type_) in enumerate(zip(node.shapes, node.dtypes, strict=True)):
            target = f"{node.op}({text})#{number}".replace("\\", "/").replace('"', "'")
            results.append(
                self.emit(
                    "custom-call", operands, shape, TYPES[type_], f'custom_call_target="{target}"'
                )
            )
        return results


def literal(number: Any, type_: str) -> str:
    """A number as HLO writes it."""
    if type_ == "pred":
        return "true" if number else "false"
    if type_ not in FLOATS:
        return str(int(number))
    if math.isnan(number):
        return "nan"
    return {math.inf: "inf", -math.inf: "-inf"}.get(float(number), repr(float(number)))


def metadata_of(source: str) -> str:
    """`train.py:43 (step)` as the metadata of an instruction."""
    file, colon, rest = source.rpartition(":")
    line = rest.split(" ")[0]
    if not colon or not line.isdigit() or '"' in source or "\\" in source:
        return ""
    return f', metadata={{source_file="{file}" source_line={line}}}'


def broadcast_shape(a: Sequence[int], b: Sequence[int]) -> list[int]:
    rank = max(len(a), len(b))
    left = [1] * (rank - len(a)) + list(a)
    right = [1] * (rank - len(b)) + list(b)
    return [y if x == 1 else x for x, y in zip(left, right, strict=True)]


Operation = Callable[["_Writer", Node, list[Any], dict[str, Any]], Any]
OPERATIONS: dict[str, Operation] = {}
KNOWN = (
    "all_reduce, all_gather_into_tensor, reduce_scatter_tensor, all_to_all_single, broadcast or "
    "wait_tensor"
)


def operation(*names: str) -> Callable[[Operation], Operation]:
    def register(function: Operation) -> Operation:
        for name in names:
            OPERATIONS[name] = function
        return function

    return register


def operand(writer: _Writer, value: Any, type_: str) -> Value:
    """A tensor, or a number as one of this type."""
    return value if isinstance(value, Value) else writer.constant(value, type_)


def argument(args: Sequence[Any], named: Mapping[str, Any], position: int, name: str, default: Any) -> Any:
    """An argument that is given by position or by name."""
    if len(args) > position:
        return args[position]
    return named.get(name, default)


def type_of(node: Node) -> str:
    return TYPES[node.dtypes[0]]


Arguments = list[Any]
Named = dict[str, Any]


@operation(
    "aten.detach",
    "aten.alias",
    "aten.clone",
    "aten.contiguous",
    "aten.lift_fresh_copy",
    "_c10d_functional.wait_tensor",
)
def _same(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    return args[0]


@operation(
    "aten.view", "aten._unsafe_view", "aten.reshape", "aten._reshape_alias", "aten.unsqueeze", "aten.squeeze"
)
def _reshape(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    if math.prod(args[0].shape) != math.prod(node.shapes[0]) or args[0].type != type_of(node):
        return None  # a view as another type
    return writer.reshape(args[0], node.shapes[0])


@operation("aten.t", "aten.transpose", "aten.permute")
def _transpose(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    value: Value = args[0]
    rank = len(value.shape)
    order = list(range(rank))
    if node.op.startswith("aten.permute"):
        order = [each % rank for each in args[1]]
    elif node.op.startswith("aten.transpose"):
        a, b = args[1] % rank, args[2] % rank
        order[a], order[b] = order[b], order[a]
    else:
        order.reverse()
    return writer.transpose(value, order)


@operation("aten.expand")
def _expand(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    return writer.broadcast(args[0], node.shapes[0])


@operation("aten.repeat")
def _repeat(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    value: Value = args[0]
    times: list[int] = args[1]
    shape = [1] * (len(times) - len(value.shape)) + list(value.shape)
    apart = [each for extent in shape for each in (1, extent)]
    spread = [each for time, extent in zip(times, shape, strict=True) for each in (time, extent)]
    return writer.reshape(writer.broadcast(writer.reshape(value, apart), spread), node.shapes[0])


@operation("aten.mm", "aten.bmm")
def _dot(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    if args[0].type != type_of(node):
        return None  # the form with a type of its own for the result
    return writer.dot(args[0], args[1], len(args[0].shape) - 2)


@operation("aten.mv", "aten.dot")
def _vector_dot(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    column = writer.reshape(args[1], [args[1].shape[0], 1])
    rows = writer.reshape(args[0], [math.prod(args[0].shape[:-1]), args[0].shape[-1]])
    return writer.reshape(writer.dot(rows, column, 0), node.shapes[0])


@operation("aten.addmm")
def _addmm(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    beta, alpha = named.get("beta", 1), named.get("alpha", 1)
    if beta == 0 or args[1].type != type_of(node):
        return None
    added = args[0] if beta == 1 else writer.scaled(args[0], beta)
    product = writer.dot(args[1], args[2], 0)
    return writer.binary("add", added, product if alpha == 1 else writer.scaled(product, alpha))


def _binary(opcode: str, *, turned: bool = False) -> Operation:
    def write(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
        type_ = type_of(node)
        if type_ == "pred":
            return None
        left, right = (writer.convert(operand(writer, each, type_), type_) for each in args[:2])
        alpha = argument(args, named, 2, "alpha", 1) if opcode in ("add", "subtract") else 1
        if turned:  # rsub: the second operand minus alpha times the first
            left, right = right, left
        if alpha != 1:
            right = writer.scaled(right, alpha)
        if opcode == "divide" and (named.get("rounding_mode") is not None or type_ not in FLOATS):
            return None
        return writer.binary(opcode, left, right, type_)

    return write


for _name, _opcode in {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "maximum": "maximum",
    "minimum": "minimum",
    "clamp_min": "maximum",
    "clamp_max": "minimum",
}.items():
    OPERATIONS[f"aten.{_name}"] = _binary(_opcode)
OPERATIONS["aten.rsub"] = _binary("subtract", turned=True)


def _unary(opcode: str) -> Operation:
    def write(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
        value = writer.convert(args[0], type_of(node))
        return writer.emit(opcode, [value], value.shape, value.type)

    return write


for _name, _opcode in {
    "neg": "negate",
    "exp": "exponential",
    "expm1": "exponential-minus-one",
    "log": "log",
    "log1p": "log-plus-one",
    "tanh": "tanh",
    "sigmoid": "logistic",
    "rsqrt": "rsqrt",
    "sqrt": "sqrt",
    "abs": "abs",
    "sign": "sign",
    "floor": "floor",
    "ceil": "ceil",
    "sin": "sine",
    "cos": "cosine",
    "erf": "erf",
}.items():
    OPERATIONS[f"aten.{_name}"] = _unary(_opcode)


@operation("aten.clamp")
def _clamp(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    type_ = type_of(node)
    value = writer.convert(args[0], type_)
    for position, name, opcode in ((1, "min", "maximum"), (2, "max", "minimum")):
        bound = argument(args, named, position, name, None)
        if bound is not None:
            value = writer.binary(opcode, value, operand(writer, bound, type_), type_)
    return value


@operation("aten.reciprocal")
def _reciprocal(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    type_ = type_of(node)
    return writer.binary("divide", writer.constant(1, type_), writer.convert(args[0], type_), type_)


def _comparison(direction: str) -> Operation:
    def write(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
        types = [each.type for each in args[:2] if isinstance(each, Value)]
        common = next((each for each in types if each in FLOATS), types[0])
        if len(set(types)) > 1 or not all(isinstance(each, Value) for each in args[:2]):
            number = next((each for each in args[:2] if not isinstance(each, Value)), 0)
            if len(set(types)) > 1 or common == "pred" or (isinstance(number, float) and common not in FLOATS):
                return None  # types that PyTorch would promote
        left, right = (operand(writer, each, common) for each in args[:2])
        shape = node.shapes[0]
        sides = [writer.broadcast(each, shape) for each in (left, right)]
        return writer.emit("compare", sides, shape, "pred", f"direction={direction}")

    return write


for _direction in ("EQ", "NE", "LT", "LE", "GT", "GE"):
    OPERATIONS[f"aten.{_direction.lower()}"] = _comparison(_direction)
    OPERATIONS[f"prims.{_direction.lower()}"] = _comparison(_direction)


def _logical(opcode: str) -> Operation:
    def write(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
        if any(not isinstance(each, Value) or each.type != "pred" for each in args):
            return None
        if len(args) == 1:
            return writer.emit(opcode, args, args[0].shape, "pred")
        return writer.binary(opcode, args[0], args[1], "pred")

    return write


for _opcode in ("and", "or", "xor", "not"):
    OPERATIONS[f"aten.logical_{_opcode}"] = _logical(_opcode)
    OPERATIONS[f"aten.bitwise_{_opcode}"] = _logical(_opcode)


@operation("aten.relu")
def _relu(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    return writer.binary("maximum", args[0], writer.constant(0, args[0].type))


@operation("aten.threshold_backward")
def _threshold_backward(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    gradient, value, threshold = args
    bound = writer.broadcast(writer.constant(threshold, value.type), value.shape)
    above = writer.emit("compare", [value, bound], value.shape, "pred", "direction=GT")
    zero = writer.broadcast(writer.constant(0, gradient.type), gradient.shape)
    return writer.emit("select", [above, gradient, zero], gradient.shape, gradient.type)


def dimensions_of(value: Value, given: Any) -> list[int]:
    """The dimensions that a reduction names; none are all of them."""
    rank = len(value.shape)
    if given is None or given == []:
        return list(range(rank))
    several = given if isinstance(given, list) else [given]
    return [each % rank for each in several] if rank else []


@operation("aten.sum", "aten.mean")
def _sum(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    value: Value = writer.convert(args[0], type_of(node))
    dimensions = dimensions_of(value, argument(args, named, 1, "dim", None))
    keep = bool(argument(args, named, 2, "keepdim", False))
    total = writer.sum(value, dimensions, keep)
    if node.op.startswith("aten.mean"):
        count = math.prod(value.shape[each] for each in dimensions)
        return writer.binary("divide", total, writer.constant(count, total.type))
    return total


@operation("aten.amax", "aten.amin", "aten.any", "aten.all")
def _extreme(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    value: Value = args[0]
    if value.type != type_of(node) or (value.type not in FLOATS and value.type != "pred"):
        return None
    dimensions = dimensions_of(value, argument(args, named, 1, "dim", None))
    starts = {"amax": -math.inf, "amin": math.inf, "any": 0, "all": 1}
    opcodes = {"amax": "maximum", "amin": "minimum", "any": "or", "all": "and"}
    name = node.op.split(".")[1]
    if (value.type == "pred") != (name in ("any", "all")):
        return None
    result = writer.reduce(value, dimensions, opcodes[name], starts[name])
    keep = bool(argument(args, named, 2, "keepdim", False))
    return writer.kept(result, value, dimensions) if keep else result


@operation("aten.max", "aten.min")
def _max(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    if len(args) > 1 or named or args[0].type not in FLOATS:
        return None
    start = -math.inf if node.op.startswith("aten.max") else math.inf
    opcode = "maximum" if node.op.startswith("aten.max") else "minimum"
    return writer.reduce(args[0], list(range(len(args[0].shape))), opcode, start)


@operation("aten.pow")
def _power(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    type_ = type_of(node)
    if type_ not in FLOATS:
        return None
    base, exponent = args[:2]
    if isinstance(exponent, (int, float)) and isinstance(base, Value):
        value = writer.convert(base, type_)
        if float(exponent).is_integer() and 1 <= exponent <= 4:
            result = value
            for _ in range(int(exponent) - 1):
                result = writer.binary("multiply", result, value)
            return result
        if exponent == 0.5:
            return writer.emit("sqrt", [value], value.shape, type_)
        if exponent == -0.5:
            return writer.emit("rsqrt", [value], value.shape, type_)
        if exponent == -1:
            return writer.binary("divide", writer.constant(1, type_), value)
    return writer.binary("power", operand(writer, base, type_), operand(writer, exponent, type_), type_)


@operation("aten.cat")
def _concatenate(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    rank = len(node.shapes[0])
    values = [each for each in args[0] if not (len(each.shape) == 1 and each.shape[0] == 0 and rank != 1)]
    values = [writer.convert(each, type_of(node)) for each in values]
    dimension = argument(args, named, 1, "dim", 0) % rank
    return writer.concatenate(values, dimension)


@operation("aten.split", "aten.split_with_sizes", "aten.chunk", "aten.unsafe_split")
def _split(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    value: Value = args[0]
    dimension = argument(args, named, 2, "dim", 0) % len(value.shape)
    parts = []
    start = 0
    for shape in node.shapes:
        parts.append(writer.slice(value, dimension, start, start + shape[dimension]))
        start += shape[dimension]
    return parts


@operation("aten.unbind")
def _unbind(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    value: Value = args[0]
    dimension = argument(args, named, 1, "dim", 0) % len(value.shape)
    return [
        writer.reshape(writer.slice(value, dimension, number, number + 1), shape)
        for number, shape in enumerate(node.shapes)
    ]


def slice_of(args: Arguments, named: Named, extent: int, first: int) -> tuple[int, int, int]:
    """Begin, end and step of a slice, as Python clips them."""
    start = argument(args, named, first, "start", None)
    end = argument(args, named, first + 1, "end", None)
    begin, stop, _ = slice(start, end).indices(extent)
    return begin, max(begin, stop), argument(args, named, first + 2, "step", 1)


@operation("aten.slice")
def _slice(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    value: Value = args[0]
    dimension = argument(args, named, 1, "dim", 0) % len(value.shape)
    begin, end, step = slice_of(args, named, value.shape[dimension], 2)
    return writer.slice(value, dimension, begin, end, step)


@operation("aten.slice_scatter")
def _slice_scatter(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    value: Value = args[0]
    dimension = argument(args, named, 2, "dim", 0) % len(value.shape)
    extent = value.shape[dimension]
    begin, end, step = slice_of(args, named, extent, 3)
    if step != 1:
        return None
    source = writer.broadcast(
        writer.convert(args[1], value.type),
        [*value.shape[:dimension], end - begin, *value.shape[dimension + 1 :]],
    )
    before = writer.slice(value, dimension, 0, begin)
    after = writer.slice(value, dimension, end, extent)
    return writer.concatenate([before, source, after], dimension)


@operation("aten.select")
def _select(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    value, dimension, index = args
    dimension %= len(value.shape)
    index %= value.shape[dimension]
    return writer.reshape(writer.slice(value, dimension, index, index + 1), node.shapes[0])


@operation("aten.flip")
def _flip(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    value: Value = args[0]
    dimensions = ",".join(str(each % len(value.shape)) for each in args[1])
    return writer.emit("reverse", [value], value.shape, value.type, f"dimensions={{{dimensions}}}")


@operation("getitem", "_operator.getitem", "operator.getitem")
def _getitem(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    several = args[0] if isinstance(args[0], list) else [args[0]]
    return several[args[1]]


@operation("p2.constant")
def _table(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    return writer.table(args[0], node.shapes[0], type_of(node))


@operation("aten.arange")
def _arange(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    numbers = [each for each in args if not isinstance(each, str) and each is not None]
    start, step = (numbers[0] if len(numbers) > 1 else 0), (numbers[2] if len(numbers) > 2 else 1)
    type_, shape = type_of(node), node.shapes[0]
    value = writer.emit("iota", [], shape, type_, "iota_dimension=0")
    if step != 1:
        value = writer.scaled(value, step)
    return value if start == 0 else writer.binary("add", value, writer.constant(start, type_))


@operation("aten.embedding")
def _embedding(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    return writer.rows(args[0], 0, args[1])


@operation("aten.index_select")
def _index_select(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    value, dimension, index = args
    if not value.shape or len(index.shape) != 1:
        return None
    return writer.rows(value, dimension % len(value.shape), index)


@operation("aten.index", "aten._unsafe_index")
def _index(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    value, given = args[:2]
    found = writer.indices(value, given)
    if found is None:
        return None
    dimensions, index, several = found
    rest = [i for i in range(len(value.shape)) if i not in dimensions]
    # What the indices name is where the first of them is, if they are neighbours, or in front.
    neighbours = dimensions == list(range(dimensions[0], dimensions[0] + len(dimensions)))
    front = dimensions[0] if neighbours else 0
    shape = [value.shape[i] for i in rest]
    shape[front:front] = several
    kept = [i for i in range(len(shape)) if not front <= i < front + len(several)]
    sizes = [1 if i in dimensions else extent for i, extent in enumerate(value.shape)]
    named_dimensions = ",".join(map(str, dimensions))
    return writer.emit(
        "gather",
        [value, index],
        shape,
        value.type,
        f"offset_dims={{{','.join(map(str, kept))}}}",
        f"collapsed_slice_dims={{{named_dimensions}}}",
        f"start_index_map={{{named_dimensions}}}",
        f"index_vector_dim={len(several)}",
        f"slice_sizes={{{','.join(map(str, sizes))}}}",
    )


@operation("aten.gather")
def _gather(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    value, dimension, index = args[:3]
    if not value.shape:
        return None
    coordinates = writer.coordinates(index, dimension % len(value.shape))
    rank = len(value.shape)
    every = ",".join(map(str, range(rank)))
    return writer.emit(
        "gather",
        [value, coordinates],
        index.shape,
        value.type,
        "offset_dims={}",
        f"collapsed_slice_dims={{{every}}}",
        f"start_index_map={{{every}}}",
        f"index_vector_dim={rank}",
        f"slice_sizes={{{','.join(['1'] * rank)}}}",
    )


@operation("aten.scatter", "aten.scatter_add")
def _scatter(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    value, dimension, index, source = args[:4]
    if not value.shape or named.get("reduce") is not None or len(args) > 4:
        return None
    rank = len(value.shape)
    every = ",".join(map(str, range(rank)))
    if isinstance(source, Value):
        if source.type != value.type:
            return None
        for number, extent in enumerate(index.shape):
            source = writer.slice(source, number, 0, extent)
    else:
        source = writer.broadcast(writer.constant(source, value.type), index.shape)
    adds = node.op.startswith("aten.scatter_add")
    if not adds and index.shape[dimension % rank] != 1:
        return None  # of several that write to one place, any may be the last
    return writer.scatter(
        value,
        writer.coordinates(index, dimension % rank),
        source,
        adds,
        "update_window_dims={}",
        f"inserted_window_dims={{{every}}}",
        f"scatter_dims_to_operand_dims={{{every}}}",
        f"index_vector_dim={rank}",
    )


@operation("aten.index_put", "aten._unsafe_index_put")
def _index_put(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    value, given, source = args[:3]
    adds = bool(argument(args, named, 3, "accumulate", False))
    present = [(i, each) for i, each in enumerate(given) if each is not None]
    if not present or source.type != value.type:
        return None
    dimension, index = present[0]
    if index.type == "pred" and len(present) == 1:  # where the mask is set, one number
        if adds or math.prod(source.shape) != 1:
            return None
        mask = writer.emit(
            "broadcast",
            [index],
            value.shape,
            "pred",
            f"dimensions={{{','.join(str(dimension + i) for i in range(len(index.shape)))}}}",
        )
        fill = writer.broadcast(writer.reshape(source, []), value.shape)
        return writer.emit("select", [mask, fill, value], value.shape, value.type)
    found = writer.indices(value, given)
    if found is None:
        return None
    dimensions, coordinates, several = found
    first, count = dimensions[0], len(dimensions)
    if dimensions != list(range(first, first + count)):
        return None
    # The dimensions that are indexed come first, then the others.
    others = [i for i in range(len(value.shape)) if i not in dimensions]
    rest = [value.shape[i] for i in others]
    placed = writer.broadcast(source, [*rest[:first], *several, *rest[first:]])
    front = list(range(first, first + len(several)))
    back = [i for i in range(len(placed.shape)) if i not in front]
    windows = ",".join(str(len(several) + i) for i in range(len(rest)))
    inserted = ",".join(map(str, range(count)))
    order = [*dimensions, *others]
    result = writer.scatter(
        writer.transpose(value, order),
        coordinates,
        writer.transpose(placed, [*front, *back]),
        adds,
        f"update_window_dims={{{windows}}}",
        f"inserted_window_dims={{{inserted}}}",
        f"scatter_dims_to_operand_dims={{{inserted}}}",
        f"index_vector_dim={len(several)}",
    )
    return writer.transpose(result, [order.index(i) for i in range(len(order))])


@operation("aten._to_copy", "prims.convert_element_type")
def _convert(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    return writer.convert(args[0], type_of(node))


@operation(
    "aten.full",
    "aten.zeros",
    "aten.ones",
    "aten.zeros_like",
    "aten.ones_like",
    "aten.full_like",
    "aten.new_zeros",
    "aten.new_ones",
    "aten.new_full",
    "aten.scalar_tensor",
)
def _full(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    name = node.op.split(".")[1]
    fill: Any = 1 if "ones" in name else 0
    if "full" in name:
        fill = args[2] if name == "new_full" else args[1]
    if name == "scalar_tensor":
        fill = args[0]
    return writer.broadcast(writer.constant(fill, type_of(node)), node.shapes[0])


@operation("aten.where")
def _where(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    if len(args) != 3:
        return None
    type_, shape = type_of(node), node.shapes[0]
    chosen = [
        writer.broadcast(writer.convert(operand(writer, each, type_), type_), shape) for each in args[1:3]
    ]
    return writer.emit("select", [writer.broadcast(args[0], shape), *chosen], shape, type_)


@operation("aten.masked_fill")
def _masked_fill(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    value, mask, number = args
    type_, shape = type_of(node), node.shapes[0]
    fill = writer.broadcast(writer.convert(operand(writer, number, type_), type_), shape)
    kept = writer.broadcast(value, shape)
    return writer.emit("select", [writer.broadcast(mask, shape), fill, kept], shape, type_)


@operation("aten._softmax", "aten._log_softmax")
def _softmax(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    value: Value = args[0]
    if args[2]:
        return None
    dimension = [args[1] % len(value.shape)]
    most = writer.kept(writer.reduce(value, dimension, "maximum", -math.inf), value, dimension)
    shifted = writer.binary("subtract", value, most)
    powers = writer.emit("exponential", [shifted], value.shape, value.type)
    total = writer.sum(powers, dimension, keep=True)
    if "log" in node.op:
        return writer.binary(
            "subtract", shifted, writer.emit("log", [total], total.shape, total.type)
        )
    return writer.binary("divide", powers, total)


@operation("aten._softmax_backward_data")
def _softmax_backward(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    gradient, result, dimension = args[:3]
    product = writer.binary("multiply", gradient, result)
    total = writer.sum(product, [dimension], keep=True)
    return writer.binary("subtract", product, writer.binary("multiply", result, total))


@operation("aten.native_layer_norm")
def _layer_norm(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    value, normalized, weight, bias, epsilon = args
    dimensions = list(range(len(value.shape) - len(normalized), len(value.shape)))
    count = math.prod(normalized)

    def mean_of(each: Value) -> Value:
        return writer.scaled(writer.sum(each, dimensions, keep=True), 1.0 / count)

    mean = mean_of(value)
    centred = writer.binary("subtract", value, mean)
    variance = mean_of(writer.binary("multiply", centred, centred))
    shifted = writer.binary("add", variance, writer.constant(epsilon, value.type))
    scale = writer.emit("rsqrt", [shifted], shifted.shape, shifted.type)
    result = writer.binary("multiply", centred, scale)
    if weight is not None:
        result = writer.binary("multiply", result, weight)
    if bias is not None:
        result = writer.binary("add", result, bias)
    return [result, mean, scale]


@operation("_c10d_functional.all_reduce")
def _all_reduce(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    value: Value = args[0]
    opcode = {"sum": "add", "avg": "add", "max": "maximum", "min": "minimum", "product": "multiply"}
    if args[1] not in opcode:
        raise InputError(f"{node.name}: the reduction {args[1]} is not known, expected sum, avg, max")
    apply = f"to_apply={writer.reducer(opcode[args[1]], value.type)}"
    total = writer.collective("all-reduce", value, value.shape, node, apply)
    if args[1] != "avg":
        return total
    size = len(writer.graphs[0].groups[args[-1]])
    return writer.binary("divide", total, writer.constant(size, total.type))


@operation("_c10d_functional.all_gather_into_tensor")
def _all_gather(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    value: Value = args[0]
    shape = [value.shape[0] * args[1], *value.shape[1:]]
    return writer.collective("all-gather", value, shape, node, "dimensions={0}")


@operation("_c10d_functional.reduce_scatter_tensor")
def _reduce_scatter(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    value: Value = args[0]
    if args[1] not in ("sum", "avg"):
        raise InputError(f"{node.name}: the reduction {args[1]} is not known, expected sum or avg")
    shape = [value.shape[0] // args[2], *value.shape[1:]]
    apply = f"to_apply={writer.reducer('add', value.type)}"
    part = writer.collective("reduce-scatter", value, shape, node, "dimensions={0}", apply)
    if args[1] == "sum":
        return part
    return writer.binary("divide", part, writer.constant(args[2], part.type))


@operation("_c10d_functional.all_to_all_single")
def _all_to_all(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    value: Value = args[0]
    if any(each and len(set(each)) != 1 for each in args[1:3]):
        raise InputError(f"{node.name}: parts {args[1:3]} of all_to_all_single, expected parts of one size")
    return writer.collective("all-to-all", value, value.shape, node, "dimensions={0}")


@operation("_c10d_functional.broadcast")
def _broadcast(writer: _Writer, node: Node, args: Arguments, named: Named) -> Any:
    """The root's as a sum: of all members, those that are not the root have zeros."""
    value: Value = args[0]
    position = next(i for i, each in enumerate(writer.graphs[0].nodes) if each is node)
    roots = [0.0] * writer.graphs[0].world_size
    for graph in writer.graphs:
        name = graph.nodes[position].args[-1]
        roots[graph.groups[name][args[1]]] = 1.0
    chosen = writer.of_this_rank(roots, "f32")
    one = writer.constant(1, "f32")
    is_root = writer.emit("compare", [chosen, one], (), "pred", "direction=EQ")
    zero = writer.broadcast(writer.constant(0, value.type), value.shape)
    kept = writer.emit(
        "select", [writer.broadcast(is_root, value.shape), value, zero], value.shape, value.type
    )
    apply = f"to_apply={writer.reducer('or' if value.type == 'pred' else 'add', value.type)}"
    return writer.collective("all-reduce", kept, value.shape, node, apply)


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


def to_hlo(graphs: Sequence[RankGraph], ranges: Mapping[int, IndexRange] | None = None) -> str:
    """The graphs of all ranks as one module of HLO, which every rank runs.

    ranges: what inputs of indices may be; numbers beyond them are taken as some in them.

    Raises InputError where the ranks run different programs, with the first operation that differs.
    """
    found = ordered(graphs)
    differs = difference(found)
    if differs is not None:
        raise InputError(differs)
    return _Writer(found, ranges).text()


def module_of(graph: RankGraph, ranges: Mapping[int, IndexRange] | None = None) -> str:
    """The graph of one rank as a module of its own."""
    return _Writer([graph], ranges).text()
