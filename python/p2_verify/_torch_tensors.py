"""Tensors of PyTorch and the storages under them: what lies where, what an operation writes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ._torch_graph import Ref

#: Where the elements of a tensor lie in its storage, in elements: sizes, strides, offset.
Geometry = tuple[tuple[int, ...], tuple[int, ...], int]


def geometry_of(tensor: Any) -> Geometry:
    sizes = tuple(int(each) for each in tensor.shape)
    strides = tuple(
        0 if size == 1 else int(stride)
        for size, stride in zip(sizes, tensor.stride(), strict=True)
    )
    return sizes, strides, int(tensor.storage_offset())


def is_dense(geometry: Geometry, elements: int) -> bool:
    """Whether each of the first `elements` of the storage is one of its elements, once."""
    sizes, strides, offset = geometry
    if offset != 0 or math.prod(sizes) != elements:
        return False
    expected = 1
    for stride, size in sorted(zip(strides, sizes, strict=True)):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


@dataclass
class Piece:
    """Elements begin to end of a storage: a tensor that lies there densely, or, without geometry, flat."""

    begin: int
    end: int
    ref: Ref
    geometry: Geometry | None = None


@dataclass
class Contents:
    """What a storage holds, piece by piece; between them, nothing was written. views: what was read."""

    storage: Any
    dtype: Any
    elements: int
    pieces: list[Piece] = field(default_factory=list)
    views: dict[Geometry, Ref] = field(default_factory=dict)


def span_of(dims: Sequence[tuple[int, int]]) -> int:
    return 1 + sum((size - 1) * stride for size, stride in dims)


def refs_in(value: Any) -> Iterator[Ref]:
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from refs_in(each)


def tensors_in(value: Any) -> Iterator[Any]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors_in(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from tensors_in(each)


def is_wrapper(type_: Any) -> bool:
    """Whether operations on tensors of this type are made of others on the tensors inside."""
    from torch.distributed._functional_collectives import AsyncCollectiveTensor
    from torch.distributed.tensor import DTensor

    return isinstance(type_, type) and issubclass(type_, (DTensor, AsyncCollectiveTensor))


def is_fake(tensor: Any) -> bool:
    """Whether a tensor stands for a shape: DTensor asks operations for the shapes of results."""
    from torch._subclasses.fake_tensor import FakeTensor

    return isinstance(tensor, FakeTensor)


def local_of(tensor: Any) -> Any:
    """The part of a DTensor that this rank holds; other tensors as they are."""
    from torch.distributed._functional_collectives import AsyncCollectiveTensor
    from torch.distributed.tensor import DTensor

    if isinstance(tensor, DTensor):
        tensor = tensor._local_tensor
    if isinstance(tensor, AsyncCollectiveTensor):
        tensor = tensor.trigger_wait()
    return tensor


def decompositions() -> Mapping[Any, Callable[..., Any]]:
    from torch._decomp import decomposition_table

    table: Mapping[Any, Callable[..., Any]] = decomposition_table
    return table


LAYOUT = ("device", "layout", "pin_memory", "memory_format", "non_blocking", "copy", "out")


def is_collective(op: str) -> bool:
    return "c10d" in op and "wait_tensor" not in op


def written_arguments(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
    """The tensors that an operation writes to."""
    result: list[Any] = []
    for number, argument in enumerate(func._schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        value = args[number] if number < len(args) else kwargs.get(argument.name)
        result.extend(tensors_in(value))
    return result


def functional_of(
    func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[Any, list[Any], dict[str, Any]]:
    """The operation that returns what `func` writes, with its arguments; None where there is none."""
    schema = func._schema
    out = [each.name for each in schema.arguments if each.is_out]
    named = {key: value for key, value in kwargs.items() if key not in out}
    namespace, base = schema.name.split("::")
    packet = getattr(getattr(torch.ops, namespace), base.removesuffix("_"), None)
    signature = [(each.name, str(each.type)) for each in schema.arguments if each.name not in out]
    for overload in packet.overloads() if packet is not None else ():
        found = getattr(packet, overload)
        given = found._schema.arguments
        if any(each.alias_info is not None and each.alias_info.is_write for each in given):
            continue
        if [(each.name, str(each.type)) for each in given] == signature:
            return found, list(args), named
    return None, list(args), named
