"""The operations of ATen and the collectives that are known, as instructions of HLO.

Those that take elements out of tensors or put them in are in _torch_indexing.
"""

from __future__ import annotations

import math
from typing import Any

from .errors import InputError
from ._torch_graph import FLOATS, Node
from ._torch_writer import OPERATIONS, Arguments, Named, Operation, Value, Writer, argument, operand, operation, type_of


@operation(
    "aten.detach",
    "aten.alias",
    "aten.clone",
    "aten.contiguous",
    "aten.lift_fresh_copy",
    "_c10d_functional.wait_tensor",
)
def _same(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    return args[0]


@operation(
    "aten.view", "aten._unsafe_view", "aten.reshape", "aten._reshape_alias", "aten.unsqueeze", "aten.squeeze"
)
def _reshape(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    if math.prod(args[0].shape) != math.prod(node.shapes[0]) or args[0].type != type_of(node):
        return None  # a view as another type
    return writer.reshape(args[0], node.shapes[0])


@operation("aten.t", "aten.transpose", "aten.permute")
def _transpose(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
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
def _expand(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    return writer.broadcast(args[0], node.shapes[0])


@operation("aten.repeat")
def _repeat(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    value: Value = args[0]
    times: list[int] = args[1]
    shape = [1] * (len(times) - len(value.shape)) + list(value.shape)
    apart = [each for extent in shape for each in (1, extent)]
    spread = [each for time, extent in zip(times, shape, strict=True) for each in (time, extent)]
    return writer.reshape(writer.broadcast(writer.reshape(value, apart), spread), node.shapes[0])


@operation("aten.mm", "aten.bmm")
def _dot(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    if args[0].type != type_of(node):
        return None  # the form with a type of its own for the result
    return writer.dot(args[0], args[1], len(args[0].shape) - 2)


@operation("aten.mv", "aten.dot")
def _vector_dot(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    column = writer.reshape(args[1], [args[1].shape[0], 1])
    rows = writer.reshape(args[0], [math.prod(args[0].shape[:-1]), args[0].shape[-1]])
    return writer.reshape(writer.dot(rows, column, 0), node.shapes[0])


@operation("aten.addmm")
def _addmm(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    beta, alpha = named.get("beta", 1), named.get("alpha", 1)
    if beta == 0 or args[1].type != type_of(node):
        return None
    added = args[0] if beta == 1 else writer.scaled(args[0], beta)
    product = writer.dot(args[1], args[2], 0)
    return writer.binary("add", added, product if alpha == 1 else writer.scaled(product, alpha))


def _binary(opcode: str, *, turned: bool = False) -> Operation:
    def write(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
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
    def write(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
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
def _clamp(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    type_ = type_of(node)
    value = writer.convert(args[0], type_)
    for position, name, opcode in ((1, "min", "maximum"), (2, "max", "minimum")):
        bound = argument(args, named, position, name, None)
        if bound is not None:
            value = writer.binary(opcode, value, operand(writer, bound, type_), type_)
    return value


@operation("aten.reciprocal")
def _reciprocal(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    type_ = type_of(node)
    return writer.binary("divide", writer.constant(1, type_), writer.convert(args[0], type_), type_)


def _comparison(direction: str) -> Operation:
    def write(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
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
    def write(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
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
def _relu(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    return writer.binary("maximum", args[0], writer.constant(0, args[0].type))


@operation("aten.threshold_backward")
def _threshold_backward(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
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
def _sum(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    value: Value = writer.convert(args[0], type_of(node))
    dimensions = dimensions_of(value, argument(args, named, 1, "dim", None))
    keep = bool(argument(args, named, 2, "keepdim", False))
    total = writer.sum(value, dimensions, keep)
    if node.op.startswith("aten.mean"):
        count = math.prod(value.shape[each] for each in dimensions)
        return writer.binary("divide", total, writer.constant(count, total.type))
    return total


@operation("aten.amax", "aten.amin", "aten.any", "aten.all")
def _extreme(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
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
def _max(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    if len(args) > 1 or named or args[0].type not in FLOATS:
        return None
    start = -math.inf if node.op.startswith("aten.max") else math.inf
    opcode = "maximum" if node.op.startswith("aten.max") else "minimum"
    return writer.reduce(args[0], list(range(len(args[0].shape))), opcode, start)


@operation("aten.pow")
def _power(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
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


@operation("aten._to_copy", "prims.convert_element_type")
def _convert(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
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
def _full(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    name = node.op.split(".")[1]
    fill: Any = 1 if "ones" in name else 0
    if "full" in name:
        fill = args[2] if name == "new_full" else args[1]
    if name == "scalar_tensor":
        fill = args[0]
    return writer.broadcast(writer.constant(fill, type_of(node)), node.shapes[0])


@operation("aten.where")
def _where(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    if len(args) != 3:
        return None
    type_, shape = type_of(node), node.shapes[0]
    chosen = [
        writer.broadcast(writer.convert(operand(writer, each, type_), type_), shape) for each in args[1:3]
    ]
    return writer.emit("select", [writer.broadcast(args[0], shape), *chosen], shape, type_)


@operation("aten.masked_fill")
def _masked_fill(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    value, mask, number = args
    type_, shape = type_of(node), node.shapes[0]
    fill = writer.broadcast(writer.convert(operand(writer, number, type_), type_), shape)
    kept = writer.broadcast(value, shape)
    return writer.emit("select", [writer.broadcast(mask, shape), fill, kept], shape, type_)


@operation("aten._softmax", "aten._log_softmax")
def _softmax(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
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
def _softmax_backward(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    gradient, result, dimension = args[:3]
    product = writer.binary("multiply", gradient, result)
    total = writer.sum(product, [dimension], keep=True)
    return writer.binary("subtract", product, writer.binary("multiply", result, total))


@operation("aten.native_layer_norm")
def _layer_norm(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
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
def _all_reduce(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
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
def _all_gather(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    value: Value = args[0]
    shape = [value.shape[0] * args[1], *value.shape[1:]]
    return writer.collective("all-gather", value, shape, node, "dimensions={0}")


@operation("_c10d_functional.reduce_scatter_tensor")
def _reduce_scatter(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
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
def _all_to_all(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    value: Value = args[0]
    if any(each and len(set(each)) != 1 for each in args[1:3]):
        raise InputError(f"{node.name}: parts {args[1:3]} of all_to_all_single, expected parts of one size")
    return writer.collective("all-to-all", value, value.shape, node, "dimensions={0}")


@operation("_c10d_functional.broadcast")
def _broadcast(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
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
