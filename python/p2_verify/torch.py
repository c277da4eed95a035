"""Steps of PyTorch: the graphs of all ranks as one module, compared with the step on one device.

trace() needs torch (2.5 or newer, `pip install torch`); graphs that it recorded do not. Operations of
ATen that are known here keep their meaning; all others are functions of their operands by name, so
that `valid` holds whatever they compute.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from ._call import CallOptions
from .checking import CheckEngine, compare_texts
from .errors import InputError
from .verdict import Verdict

TYPES = {
    "torch.float64": "f64",
    "torch.float32": "f32",
    "torch.bfloat16": "bf16",
    "torch.float16": "f16",
    "torch.int64": "s64",
    "torch.int32": "s32",
    "torch.uint8": "u8",
    "torch.bool": "pred",
}
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
    of several.
    """

    name: str
    op: str
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    shapes: list[list[int]] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)


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
            )
            for each in document["nodes"]
        ]
        return cls(document["rank"], document["world_size"], nodes, document["groups"])


@dataclass(frozen=True)
class Value:
    """An instruction of the module that is written."""

    name: str
    shape: tuple[int, ...]
    type: str


class _Writer:
    """Writes the graphs of all ranks, which are alike but for their groups, as one HLO module."""

    def __init__(self, graphs: Sequence[RankGraph]) -> None:
        self.graphs = graphs
        self.lines: list[str] = []
        self.values: dict[str, list[Value]] = {}
        self.reducers: dict[tuple[str, str], str] = {}
        self.opaque: list[str] = []

    # -- instructions --------------------------------------------------------

    def emit(
        self, opcode: str, operands: Sequence[Value], shape: Sequence[int], type_: str, *rest: str
    ) -> Value:
        value = Value(f"v{len(self.lines)}", tuple(shape), type_)
        arguments = ", ".join(each.name for each in operands)
        extra = "".join(f", {each}" for each in rest)
        self.lines.append(
            f"  {value.name} = {type_}[{','.join(map(str, shape))}] {opcode}({arguments}){extra}"
        )
        return value

    def constant(self, number: float | bool, type_: str) -> Value:
        value = Value(f"v{len(self.lines)}", (), type_)
        if type_ == "pred":
            text = "true" if number else "false"
        elif type_ in FLOATS:
            text = {math.inf: "inf", -math.inf: "-inf"}.get(float(number), repr(float(number)))
        else:
            text = str(int(number))
        self.lines.append(f"  {value.name} = {type_}[] constant({text})")
        return value

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
        if len(members) != len(set(members)):
            raise InputError(f"the groups of {name} overlap: {[list(each) for each in groups]}")
        if len({len(group) for group in groups}) != 1:
            raise InputError(f"the groups of {name} have several sizes: {list(groups)}")
        inner = ",".join("{" + ",".join(map(str, group)) + "}" for group in groups)
        return f"replica_groups={{{inner}}}"

    def collective(self, opcode: str, value: Value, shape: Sequence[int], node: Node, *rest: str) -> Value:
        position = next(i for i, each in enumerate(self.graphs[0].nodes) if each is node)
        channel = f"channel_id={len(self.lines) + 1}"
        groups = self.groups_of(node.name, position)
        return self.emit(
            opcode, [value], shape, value.type, channel, groups, "use_global_device_ids=true", *rest
        )

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
            if node.op == "placeholder":
                shape = f"{TYPES[node.dtypes[0]]}[{','.join(map(str, node.shapes[0]))}]"
                name = f"v{len(self.lines)}"
                self.lines.append(f"  {name} = {shape} parameter({parameters})")
                self.values[node.name] = [
                    Value(name, tuple(node.shapes[0]), TYPES[node.dtypes[0]])
                ]
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
            f"  ROOT c = {type_}[] {opcode}(a, b)\n}}\n\n"
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
            return self.uninterpreted(node, name, arguments)
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

    def uninterpreted(self, node: Node, name: str, arguments: Sequence[Any]) -> list[Value]:
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
        text = ";".join(plain(each) for each in arguments)
        self.opaque.append(name)
        results = []
        for number, (shape, type_) in enumerate(zip(node.shapes, node.dtypes, strict=True)):
            target = f"{node.op}({text})#{number}".replace('"', "'")
            results.append(
                self.emit(
                    "custom-call", operands, shape, TYPES[type_], f'custom_call_target="{target}"'
                )
            )
        return results


def broadcast_shape(a: Sequence[int], b: Sequence[int]) -> list[int]:
    rank = max(len(a), len(b))
    left = [1] * (rank - len(a)) + list(a)
    right = [1] * (rank - len(b)) + list(b)
    return [y if x == 1 else x for x, y in zip(left, right, strict=True)]


Operation = Callable[["_Writer", Node, list[Any], dict[str, Any]], Any]
OPERATIONS: dict[str, Operation] = {}
KNOWN = "all_reduce, all_gather_into_tensor, reduce_scatter_tensor or wait_tensor"


def operation(*names: str) -> Callable[[Operation], Operation]:
    def register(function: Operation) -> Operation:
        for name in names:
            OPERATIONS[name] = function
        return function

    return register


def operand(writer: _Writer, value: Any, like: Value) -> Value:
    """A tensor, or a number as one."""
    return value if isinstance(value, Value) else writer.constant(value, like.type)


def first_value(args: Sequence[Any]) -> Value:
    return next(each for each in args if isinstance(each, Value))


@operation(
    "aten.detach",
    "aten.alias",
    "aten.clone",
    "aten.contiguous",
    "aten.lift_fresh_copy",
    "_c10d_functional.wait_tensor",
)
def _same(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
    return args[0]


@operation("aten.view", "aten._unsafe_view", "aten.reshape", "aten.unsqueeze", "aten.squeeze")
def _reshape(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
    return writer.reshape(args[0], node.shapes[0])


@operation("aten.t", "aten.transpose", "aten.permute")
def _transpose(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
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
def _expand(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
    return writer.broadcast(args[0], node.shapes[0])


@operation("aten.mm", "aten.bmm")
def _dot(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
    return writer.dot(args[0], args[1], len(args[0].shape) - 2)


@operation("aten.addmm")
def _addmm(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
    if named.get("beta", 1) != 1 or named.get("alpha", 1) != 1:
        return None
    return writer.binary("add", args[0], writer.dot(args[1], args[2], 0))


def _binary(opcode: str) -> Operation:
    def write(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
        like = first_value(args)
        left, right = operand(writer, args[0], like), operand(writer, args[1], like)
        if named.get("alpha", 1) != 1:
            right = writer.scaled(right, named["alpha"])
        if named.get("rounding_mode") is not None:
            return None
        return writer.binary(opcode, left, right, TYPES[node.dtypes[0]])

    return write


for _name, _opcode in {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "maximum": "maximum",
    "minimum": "minimum",
}.items():
    OPERATIONS[f"aten.{_name}"] = _binary(_opcode)


def _unary(opcode: str) -> Operation:
    def write(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
        return writer.emit(opcode, [args[0]], args[0].shape, args[0].type)

    return write


for _name, _opcode in {
    "neg": "negate",
    "exp": "exponential",
    "log": "log",
    "tanh": "tanh",
    "sigmoid": "logistic",
    "rsqrt": "rsqrt",
    "sqrt": "sqrt",
    "abs": "abs",
    "sin": "sine",
    "cos": "cosine",
}.items():
    OPERATIONS[f"aten.{_name}"] = _unary(_opcode)


@operation("aten.relu")
def _relu(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
    return writer.binary("maximum", args[0], writer.constant(0, args[0].type))


@operation("aten.threshold_backward")
def _threshold_backward(
    writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]
) -> Any:
    gradient, value, threshold = args
    bound = writer.broadcast(writer.constant(threshold, value.type), value.shape)
    above = writer.emit("compare", [value, bound], value.shape, "pred", "direction=GT")
    zero = writer.broadcast(writer.constant(0, gradient.type), gradient.shape)
    return writer.emit("select", [above, gradient, zero], gradient.shape, gradient.type)


@operation("aten.sum", "aten.mean")
def _sum(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
    value: Value = args[0]
    dimensions = args[1] if len(args) > 1 and args[1] else list(range(len(value.shape)))
    keep = bool(args[2]) if len(args) > 2 else False
    value = writer.convert(value, TYPES[node.dtypes[0]])
    total = writer.sum(value, dimensions, keep)
    if node.op.startswith("aten.mean"):
        count = math.prod(value.shape[each] for each in dimensions)
        return writer.binary("divide", total, writer.constant(count, total.type))
    return total


@operation("aten.pow")
def _power(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
    if args[1] == 2:
        return writer.binary("multiply", args[0], args[0])
    return None


@operation("aten.cat")
def _concatenate(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
    values: list[Value] = args[0]
    dimension = (args[1] if len(args) > 1 else 0) % len(values[0].shape)
    return writer.emit(
        "concatenate", values, node.shapes[0], values[0].type, f"dimensions={{{dimension}}}"
    )


@operation("aten.split", "aten.split_with_sizes", "aten.chunk")
def _split(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
    value: Value = args[0]
    dimension = (args[2] if len(args) > 2 else 0) % len(value.shape)
    parts = []
    start = 0
    for shape in node.shapes:
        parts.append(writer.slice(value, dimension, start, start + shape[dimension]))
        start += shape[dimension]
    return parts


@operation("aten.slice")
def _slice(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
    value: Value = args[0]
    dimension = (args[1] if len(args) > 1 else 0) % len(value.shape)
    extent = value.shape[dimension]
    start, stop, _ = slice(*(args[2:4] if len(args) > 2 else (None, None))).indices(extent)
    step = args[4] if len(args) > 4 else 1
    return writer.slice(value, dimension, start, max(start, stop), step)


@operation("getitem", "_operator.getitem", "operator.getitem")
def _getitem(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
    several = args[0] if isinstance(args[0], list) else [args[0]]
    return several[args[1]]


@operation("aten._to_copy")
def _convert(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
    return writer.convert(args[0], TYPES[node.dtypes[0]])


@operation("aten.full", "aten.zeros", "aten.ones", "aten.zeros_like", "aten.ones_like", "aten.full_like")
def _full(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
    fill = 1 if "ones" in node.op else 0
    if "full" in node.op:
        fill = args[1]
    return writer.broadcast(writer.constant(fill, TYPES[node.dtypes[0]]), node.shapes[0])


@operation("aten.where")
def _where(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
    type_, shape = TYPES[node.dtypes[0]], node.shapes[0]
    like = Value("", tuple(shape), type_)
    chosen = [
        writer.broadcast(writer.convert(operand(writer, each, like), type_), shape)
        for each in args[1:3]
    ]
    return writer.emit("select", [writer.broadcast(args[0], shape), *chosen], shape, type_)


@operation("aten._softmax", "aten._log_softmax")
def _softmax(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
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
def _softmax_backward(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
    gradient, result, dimension = args[:3]
    product = writer.binary("multiply", gradient, result)
    total = writer.sum(product, [dimension], keep=True)
    return writer.binary("subtract", product, writer.binary("multiply", result, total))


@operation("aten.native_layer_norm")
def _layer_norm(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
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
def _all_reduce(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
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
def _all_gather(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
    value: Value = args[0]
    shape = [value.shape[0] * args[1], *value.shape[1:]]
    return writer.collective("all-gather", value, shape, node, "dimensions={0}")


@operation("_c10d_functional.reduce_scatter_tensor")
def _reduce_scatter(writer: _Writer, node: Node, args: list[Any], named: dict[str, Any]) -> Any:
    value: Value = args[0]
    if args[1] not in ("sum", "avg"):
        raise InputError(f"{node.name}: the reduction {args[1]} is not known, expected sum or avg")
    shape = [value.shape[0] // args[2], *value.shape[1:]]
    apply = f"to_apply={writer.reducer('add', value.type)}"
    part = writer.collective("reduce-scatter", value, shape, node, "dimensions={0}", apply)
    if args[1] == "sum":
        return part
    return writer.binary("divide", part, writer.constant(args[2], part.type))


def to_hlo(graphs: Sequence[RankGraph]) -> str:
    """The graphs of all ranks as one module of HLO, which every rank runs.

    Raises InputError where the ranks make different calls, with the first that differs.
    """
    if not graphs:
        raise InputError("no graphs, expected one for each rank")
    ordered = sorted(graphs, key=lambda each: each.rank)
    world = ordered[0].world_size
    if [each.rank for each in ordered] != list(range(world)):
        raise InputError(
            f"graphs of ranks {[each.rank for each in ordered]}, expected each of 0 to {world - 1}"
        )

    def shown(graph: RankGraph, value: Any) -> Any:
        if isinstance(value, str) and value in graph.groups:
            return "a group"
        if isinstance(value, (list, tuple)):
            return [shown(graph, each) for each in value]
        return value

    for graph in ordered[1:]:
        if len(graph.nodes) != len(ordered[0].nodes):
            raise InputError(
                f"rank {graph.rank} has {len(graph.nodes)} operations, rank 0 "
                f"{len(ordered[0].nodes)}"
            )
        for node, other in zip(ordered[0].nodes, graph.nodes, strict=True):
            alike = (
                node.op == other.op
                and node.shapes == other.shapes
                and node.dtypes == other.dtypes
                and shown(ordered[0], node.args) == shown(graph, other.args)
                and node.kwargs == other.kwargs
            )
            if not alike:
                raise InputError(
                    f"rank 0 computes {node.op} {node.shapes}, rank {graph.rank} {other.op} "
                    f"{other.shapes} ({node.name}): the ranks run different programs"
                )
    return _Writer(ordered).text()


#: Of one array, by dimension of the mesh: "R", "S0" (cut along dimension 0), "P" (a partial sum).
Placements = Sequence[str]


def check_graphs(
    graphs: Sequence[RankGraph],
    reference: RankGraph,
    *,
    mesh: Mapping[str, int],
    inputs: Sequence[Placements],
    outputs: Sequence[Placements],
    engine: CheckEngine = "explicit",
    **call: Unpack[CallOptions],
) -> Verdict:
    """Whether the ranks' graphs compute the shards of what `reference`, on one device, does.

    mesh: the dimensions of the device mesh, outermost first; ranks are numbered row-major. inputs,
    outputs: the placements of each array. Raises InputError.
    """
    if math.prod(mesh.values()) != graphs[0].world_size:
        raise InputError(f"the mesh {dict(mesh)} has not {graphs[0].world_size} devices")

    def relation(placements: Placements) -> dict[str, Any]:
        if len(placements) != len(mesh):
            raise InputError(f"{list(placements)}, expected a placement for each of {list(mesh)}")
        dims: dict[int, list[str]] = {}
        partial = []
        for axis, placement in zip(mesh, placements, strict=True):
            if placement.startswith("S") and placement[1:].isdigit():
                dims.setdefault(int(placement[1:]), []).append(axis)
            elif placement == "P":
                partial.append(axis)
            elif placement != "R":
                raise InputError(f"'{placement}', expected R, S<dimension> or P")
        return {"dims": dims, "sum": partial}

    def placed(shapes: Sequence[Sequence[int]], several: Sequence[Placements]) -> dict[str, Any]:
        if len(shapes) != len(several):
            raise InputError(f"{len(several)} placements, expected {len(shapes)}: one per array")
        result: dict[str, Any] = {}
        for number, (shape, placements) in enumerate(zip(shapes, several, strict=True)):
            found = relation(placements)
            value: dict[str, Any] | str = "replicated"
            if found["dims"] or found["sum"]:
                value = {"dims": [found["dims"].get(i, []) for i in range(len(shape))]}
                if found["sum"]:
                    value["sum"] = found["sum"]
            result[str(number)] = {"after": number, "relation": value}
        return result

    before, after = to_hlo([reference]), to_hlo(graphs)
    document = {
        "format": "p2-relation/1",
        "devices": graphs[0].world_size,
        "mesh": dict(mesh),
        "inputs": placed(_input_shapes(reference), inputs),
        "outputs": placed(_output_shapes(reference), outputs),
    }
    return compare_texts(before, after, relate=json.dumps(document), engine=engine, **call)


def _input_shapes(graph: RankGraph) -> list[list[int]]:
    return [each.shapes[0] for each in graph.nodes if each.op == "placeholder"]


def _output_shapes(graph: RankGraph) -> list[list[int]]:
    shapes = {each.name: each.shapes for each in graph.nodes}
    output = next(each for each in graph.nodes if each.op == "output")
    flat = output.args[0] if isinstance(output.args[0], (list, tuple)) else output.args
    return [shapes[each.node][each.index or 0] for each in flat if each is not None]


# -- what needs torch ---------------------------------------------------------


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise InputError("torch is not installed, expected: pip install torch") from error
    return torch


def graph_of(module: Any, rank: int, world_size: int) -> RankGraph:
    """The graph of a torch.fx.GraphModule whose nodes have fake tensors as `meta["val"]`."""
    torch = _torch()
    groups: dict[str, list[int]] = {}

    def value_of(value: Any) -> Any:
        if isinstance(value, torch.fx.Node):
            return Ref(value.name)
        if isinstance(value, (list, tuple)):
            return [value_of(each) for each in value]
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        return str(value)

    nodes = []
    for each in module.graph.nodes:
        if each.op in ("placeholder", "output"):
            op = each.op
        elif each.op == "call_function":
            op = "getitem" if each.target.__name__ == "getitem" else str(each.target)
        else:
            raise InputError(f"{each.name}: a node of kind {each.op}, expected a functional graph")
        found = each.meta.get("val")
        several = found if isinstance(found, (list, tuple)) else [found]
        tensors = [val for val in several if hasattr(val, "shape")]
        node = Node(
            each.name,
            op,
            value_of(list(each.args)),
            {key: value_of(value) for key, value in each.kwargs.items()},
            [[int(extent) for extent in val.shape] for val in tensors],
            [str(val.dtype) for val in tensors],
        )
        if "c10d" in op and "wait_tensor" not in op:
            name = next(arg for arg in reversed(node.args) if isinstance(arg, str))
            groups[name] = _ranks_of(name)
        nodes.append(node)
    return RankGraph(rank, world_size, nodes, groups)


def _ranks_of(group: str) -> list[int]:
    import torch.distributed as dist
    from torch.distributed.distributed_c10d import _resolve_process_group

    return list(dist.get_process_group_ranks(_resolve_process_group(group)))


def _joint_graph(fn: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Forward and backward: outputs, then gradients of the inputs that require them."""
    torch = _torch()
    from torch._functorch.aot_autograd import aot_export_joint_simple

    differentiable = any(
        isinstance(each, torch.Tensor) and each.requires_grad for each in args
    )
    return aot_export_joint_simple(fn, tuple(args), trace_joint=differentiable)


def trace(fn: Callable[..., Any], *args: Any, mesh: Mapping[str, int], rank: int) -> RankGraph:
    """The graph of one rank, forward and backward, under a fake process group.

    `fn` gets the rank's own, local tensors; DTensors are made of them inside, by
    DTensor.from_local over `init_device_mesh("cpu", …)` of the dimensions of `mesh`. Inputs that do
    not require gradients have no backward. Raises InputError where torch is absent or a process
    group exists already.
    """
    _torch()
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if dist.is_initialized():
        raise InputError("a process group exists already, expected none: trace makes a fake one")
    world = math.prod(mesh.values())
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)
    try:
        return graph_of(_joint_graph(fn, args), rank, world)
    finally:
        dist.destroy_process_group()


def check_step(
    fn: Callable[..., Any],
    reference: Callable[..., Any],
    *args: Any,
    mesh: Mapping[str, int],
    placements: Sequence[Placements],
    outputs: Sequence[Placements],
    **call: Unpack[CallOptions],
) -> Verdict:
    """Whether a parallel step computes what `reference` does on one device, with its gradients.

    args: the whole tensors; `placements` says which part of each `fn` gets, `outputs` how its
    results are placed. Gradients are placed as their inputs. Raises InputError.
    """
    torch = _torch()
    world = math.prod(mesh.values())
    graphs = []
    for rank in range(world):
        local = [
            _local(each, placement, mesh, rank)
            for each, placement in zip(args, placements, strict=True)
        ]
        graphs.append(trace(fn, *local, mesh=mesh, rank=rank))
    whole = graph_of(_joint_graph(reference, args), 0, 1)
    gradients = [
        placement
        for each, placement in zip(args, placements, strict=True)
        if isinstance(each, torch.Tensor) and each.requires_grad
    ]
    tangents = outputs if gradients else []
    return check_graphs(
        graphs,
        whole,
        mesh=mesh,
        inputs=[*placements, *tangents],
        outputs=[*outputs, *gradients],
        **call,
    )


def _local(tensor: Any, placements: Placements, mesh: Mapping[str, int], rank: int) -> Any:
    """The part of a whole tensor that a rank has."""
    sizes = list(mesh.values())
    part = tensor.detach()
    for position, (size, placement) in enumerate(zip(sizes, placements, strict=True)):
        if placement == "R":
            continue
        if not placement.startswith("S"):
            raise InputError(f"'{placement}' of an input, expected R or S<dimension>")
        index = rank // math.prod(sizes[position + 1 :]) % size
        dimension = int(placement[1:])
        if part.shape[dimension] % size != 0:
            raise InputError(f"{part.shape[dimension]} elements over {size} ranks, expected even parts")
        part = part.chunk(size, dim=dimension)[index]
    return part.clone().requires_grad_(tensor.requires_grad)


__all__ = [
    "Node",
    "RankGraph",
    "Ref",
    "check_graphs",
    "check_step",
    "to_hlo",
    "trace",
]
