"""The operations of ATen that cut, join and index tensors, as instructions of HLO."""

from __future__ import annotations

import math
from typing import Any

from ._torch_graph import Node
from ._torch_writer import Arguments, Named, Value, Writer, argument, operation, type_of


@operation("aten.cat")
def _concatenate(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    rank = len(node.shapes[0])
    values = [each for each in args[0] if not (len(each.shape) == 1 and each.shape[0] == 0 and rank != 1)]
    values = [writer.convert(each, type_of(node)) for each in values]
    dimension = argument(args, named, 1, "dim", 0) % rank
    return writer.concatenate(values, dimension)


@operation("aten.split", "aten.split_with_sizes", "aten.chunk", "aten.unsafe_split")
def _split(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    value: Value = args[0]
    dimension = argument(args, named, 2, "dim", 0) % len(value.shape)
    parts = []
    start = 0
    for shape in node.shapes:
        parts.append(writer.slice(value, dimension, start, start + shape[dimension]))
        start += shape[dimension]
    return parts


@operation("aten.unbind")
def _unbind(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
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
def _slice(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    value: Value = args[0]
    dimension = argument(args, named, 1, "dim", 0) % len(value.shape)
    begin, end, step = slice_of(args, named, value.shape[dimension], 2)
    return writer.slice(value, dimension, begin, end, step)


@operation("aten.slice_scatter")
def _slice_scatter(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
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
def _select(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    value, dimension, index = args
    dimension %= len(value.shape)
    index %= value.shape[dimension]
    return writer.reshape(writer.slice(value, dimension, index, index + 1), node.shapes[0])


@operation("aten.flip")
def _flip(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    value: Value = args[0]
    dimensions = ",".join(str(each % len(value.shape)) for each in args[1])
    return writer.emit("reverse", [value], value.shape, value.type, f"dimensions={{{dimensions}}}")


@operation("getitem", "_operator.getitem", "operator.getitem")
def _getitem(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    several = args[0] if isinstance(args[0], list) else [args[0]]
    return several[args[1]]


@operation("p2.constant")
def _table(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    return writer.table(args[0], node.shapes[0], type_of(node))


@operation("aten.arange")
def _arange(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    numbers = [each for each in args if not isinstance(each, str) and each is not None]
    start, step = (numbers[0] if len(numbers) > 1 else 0), (numbers[2] if len(numbers) > 2 else 1)
    type_, shape = type_of(node), node.shapes[0]
    value = writer.emit("iota", [], shape, type_, "iota_dimension=0")
    if step != 1:
        value = writer.scaled(value, step)
    return value if start == 0 else writer.binary("add", value, writer.constant(start, type_))


@operation("aten.embedding")
def _embedding(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    return writer.rows(args[0], 0, args[1])


@operation("aten.index_select")
def _index_select(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
    value, dimension, index = args
    if not value.shape or len(index.shape) != 1:
        return None
    return writer.rows(value, dimension % len(value.shape), index)


@operation("aten.index", "aten._unsafe_index")
def _index(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
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
def _gather(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
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
def _scatter(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
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
def _index_put(writer: Writer, node: Node, args: Arguments, named: Named) -> Any:
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
