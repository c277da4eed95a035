"""The text of a module of HLO, written instruction by instruction from the graphs of ranks.

Operations that are known have a function in OPERATIONS; all others are functions of their operands by
name, so that `valid` holds whatever they compute.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import InputError
from ._torch_graph import FLOATS, TYPES, IndexRange, Node, RankGraph, Ref

@dataclass(frozen=True)
class Value:
    """An instruction of the module that is written."""

    name: str
    shape: tuple[int, ...]
    type: str


class Writer:
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


Operation = Callable[["Writer", Node, list[Any], dict[str, Any]], Any]
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


def operand(writer: Writer, value: Any, type_: str) -> Value:
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
