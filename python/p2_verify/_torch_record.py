"""What a step of PyTorch computes, written down while it runs under a fake process group.

A Recorder sees every operation below autograd, of forward, backward and optimizers alike, with views
and writes. What a storage holds is the result of a node; a write makes another one. So the graph has
no writes. The numbers that the step computes are not looked at: collectives of a fake group give none.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from .errors import InputError
from ._torch_hlo import OPERATIONS, Node, RankGraph, Ref

#: Elements of a tensor from outside that is written into the graph as a constant.
MAX_CONSTANT = 1 << 16
INSIDE = (os.path.dirname(torch.__file__), os.path.dirname(__file__))

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


class Recorder(TorchDispatchMode):  # type: ignore[misc]
    """Writes down what is computed inside of a `with`, as one rank of `world_size`."""

    def __init__(self, rank: int, world_size: int) -> None:
        super().__init__()
        self.rank = rank
        self.world_size = world_size
        self.nodes: list[Node] = []
        self.groups: dict[str, list[int]] = {}
        self.contents: dict[int, Contents] = {}
        self.known: set[str] = set()  # nodes that depend on no input: their numbers may be looked at
        self.lines: dict[int, str] = {}  # of the operation with a number of autograd's
        self.line = ""

    # -- nodes ---------------------------------------------------------------

    def add(
        self,
        op: str,
        args: Sequence[Any],
        shape: Sequence[int],
        dtype: Any,
        kwargs: Mapping[str, Any] | None = None,
        known: bool | None = None,
    ) -> Ref:
        """A node with one result."""
        return self.add_several(op, args, [(shape, dtype)], kwargs, known)[0]

    def add_several(
        self,
        op: str,
        args: Sequence[Any],
        results: Sequence[tuple[Sequence[int], Any]],
        kwargs: Mapping[str, Any] | None = None,
        known: bool | None = None,
        several: bool = False,
    ) -> list[Ref]:
        name = f"n{len(self.nodes)}"
        self.nodes.append(
            Node(
                name,
                op,
                list(args),
                dict(kwargs or {}),
                [[int(extent) for extent in shape] for shape, _ in results],
                [str(dtype) for _, dtype in results],
                self.line,
            )
        )
        if known is None:
            known = all(each.node in self.known for each in refs_in([args, list((kwargs or {}).values())]))
        if known:
            self.known.add(name)
        if len(results) == 1 and not several:
            return [Ref(name)]
        return [Ref(name, number) for number in range(len(results))]

    def input(self, tensor: Any) -> Ref:
        """A tensor that the graph takes."""
        local = local_of(tensor)
        ref = self.add("placeholder", [], local.shape, local.dtype, known=False)
        if self.is_new(local):
            self.undefined(local)
            elements = self.of(local).elements
            if local.numel() < elements <= MAX_CONSTANT:  # FSDP pads parameters: what is beside them
                whole = local.detach().as_strided((elements,), (1,), 0)
                self.write(whole, self.outside(whole))
        self.write(local, ref)
        return ref

    # -- storages ------------------------------------------------------------

    def of(self, tensor: Any) -> Contents:
        storage = tensor.untyped_storage()
        found = self.contents.get(storage._cdata)
        if found is None:
            elements = int(storage.nbytes()) // tensor.element_size()
            found = Contents(storage, tensor.dtype, elements)
            self.contents[storage._cdata] = found
            self.write(tensor, self.outside(tensor))
        if found.dtype != tensor.dtype:
            raise InputError(
                f"a tensor of {found.dtype} is looked at as {tensor.dtype}, which is not understood"
            )
        return found

    def outside(self, tensor: Any) -> Ref:
        """A tensor that was made before, and is no input: a constant."""
        if tensor.numel() > MAX_CONSTANT or tensor.device.type == "meta":
            raise InputError(
                f"a tensor of {list(tensor.shape)} is used that is no argument, expected an argument, "
                f"a parameter, a buffer, or at most {MAX_CONSTANT} elements"
            )
        with _disable_current_modes():
            values = tensor.detach().to("cpu").reshape(-1).tolist()
        return self.add("p2.constant", [values], tensor.shape, tensor.dtype, known=True)

    def define(self, tensor: Any, ref: Ref) -> None:
        """`tensor`, whose storage is new, is the result of a node."""
        self.undefined(tensor)
        self.write(tensor, ref)

    def undefined(self, tensor: Any) -> None:
        """`tensor`, whose storage is new, holds nothing yet."""
        storage = tensor.untyped_storage()
        self.contents[storage._cdata] = Contents(
            storage, tensor.dtype, int(storage.nbytes()) // max(1, tensor.element_size())
        )

    def is_new(self, tensor: Any) -> bool:
        return tensor.untyped_storage()._cdata not in self.contents

    def read(self, tensor: Any) -> Ref:
        found = self.of(tensor)
        geometry = geometry_of(tensor)
        if geometry not in found.views:
            found.views[geometry] = self.strided(found, geometry)
        return found.views[geometry]

    def write(self, tensor: Any, ref: Ref) -> None:
        """`tensor` holds the result of a node from now on, and so do all its views."""
        if self.is_new(tensor):
            self.undefined(tensor)
        found = self.of(tensor)
        geometry = geometry_of(tensor)
        sizes, strides, offset = geometry
        count = math.prod(sizes)
        if count == 0:
            found.views[geometry] = ref
            return
        local = (sizes, strides, 0)
        if is_dense(local, count):
            piece = Piece(offset, offset + count, ref, local)
        else:
            piece = self.overwritten(found, ref, geometry)
        if piece.end > found.elements:
            raise InputError("a view reaches beyond its storage")
        pieces = [piece]
        for each in found.pieces:
            before, after = min(each.end, piece.begin), max(each.begin, piece.end)
            for begin, end in ((each.begin, before), (after, each.end)):
                if begin < end:
                    pieces.append(self.part(each, begin, end, found.dtype))
        found.pieces = sorted(pieces, key=lambda each: each.begin)
        found.views = {geometry: ref}

    def part(self, piece: Piece, begin: int, end: int, dtype: Any) -> Piece:
        """Elements begin to end of the storage, which the piece has."""
        if (begin, end) == (piece.begin, piece.end):
            return piece
        count = piece.end - piece.begin
        flat = self.flat(piece, dtype)
        return Piece(begin, end, self.cut(flat, 0, begin - piece.begin, end - piece.begin, [count], dtype))

    def flat(self, piece: Piece, dtype: Any) -> Ref:
        if piece.geometry is not None:
            piece.ref = self.in_order(piece.ref, piece.geometry, dtype)
            piece.geometry = None
        return piece.ref

    def range(self, found: Contents, begin: int, end: int) -> Ref:
        """Elements begin to end of a storage, in order."""
        if not 0 <= begin <= end <= found.elements:
            raise InputError("a view reaches beyond its storage")
        parts: list[tuple[Ref, int]] = []
        at = begin
        for each in found.pieces:
            first, last = max(each.begin, begin), min(each.end, end)
            if first >= last:
                continue
            if at < first:
                parts.append((self.anything(first - at, found.dtype), first - at))
            parts.append((self.flat(self.part(each, first, last, found.dtype), found.dtype), last - first))
            at = last
        if at < end:
            parts.append((self.anything(end - at, found.dtype), end - at))
        return self.joined(parts, 0, [end - begin], found.dtype)

    def anything(self, elements: int, dtype: Any) -> Ref:
        """Memory that nothing was written to: it equals nothing else."""
        name = f"{self.world_size}:{self.rank}:{len(self.nodes)}"
        return self.add("p2.uninitialized", [name], [elements], dtype, known=False)

    def in_order(self, ref: Ref, geometry: Geometry, dtype: Any) -> Ref:
        """The elements of a dense tensor as they lie in memory."""
        sizes, strides, _ = geometry
        order = sorted(range(len(sizes)), key=lambda i: (-strides[i], i))
        if order != list(range(len(sizes))):
            ref = self.permuted(ref, sizes, order, dtype)
        return self.reshaped(ref, [math.prod(sizes)], dtype)

    def permuted(self, ref: Ref, sizes: Sequence[int], order: Sequence[int], dtype: Any) -> Ref:
        if list(order) == list(range(len(sizes))):
            return ref
        return self.add("aten.permute.default", [ref, list(order)], [sizes[i] for i in order], dtype)

    def reshaped(self, ref: Ref, shape: Sequence[int], dtype: Any) -> Ref:
        return self.add("aten.view.default", [ref, list(shape)], shape, dtype)

    def cut(self, ref: Ref, dim: int, begin: int, end: int, shape: Sequence[int], dtype: Any) -> Ref:
        """Elements begin to end of dimension `dim`; `shape` is that of `ref`."""
        if begin == 0 and end == shape[dim]:
            return ref
        result = [*shape[:dim], end - begin, *shape[dim + 1 :]]
        return self.add("aten.slice.Tensor", [ref, dim, begin, end], result, dtype)

    def joined(self, parts: Sequence[tuple[Ref, int]], dim: int, shape: Sequence[int], dtype: Any) -> Ref:
        """Parts, with their extents, one after another."""
        present = [(ref, extent) for ref, extent in parts if extent > 0]
        if len(present) == 1:
            return present[0][0]
        total = sum(extent for _, extent in present)
        result = [*shape[:dim], total, *shape[dim + 1 :]]
        return self.add("aten.cat.default", [[ref for ref, _ in present], dim], result, dtype)

    def strided(self, found: Contents, geometry: Geometry) -> Ref:
        """The tensor of this geometry in a storage."""
        sizes, strides, offset = geometry
        dtype = found.dtype
        if math.prod(sizes) == 0:
            return self.add("aten.full.default", [list(sizes), 0], sizes, dtype)
        order = [i for i in range(len(sizes)) if sizes[i] != 1 and strides[i] != 0]
        order.sort(key=lambda i: -strides[i])
        dims = [(sizes[i], strides[i]) for i in order]
        span = span_of(dims)
        value = self.rows(self.range(found, offset, offset + span), span, dims, dtype)
        shape = [size for size, _ in dims]
        # Back in the order of the dimensions; those of extent 1 or stride 0 are repeated.
        kept = sorted(order)
        value = self.permuted(value, shape, [order.index(i) for i in kept], dtype)
        value = self.reshaped(value, [sizes[i] if i in kept else 1 for i in range(len(sizes))], dtype)
        if any(sizes[i] != 1 and i not in kept for i in range(len(sizes))):
            value = self.add("aten.expand.default", [value, list(sizes)], sizes, dtype)
        return value

    def rows(self, flat: Ref, span: int, dims: Sequence[tuple[int, int]], dtype: Any) -> Ref:
        """Elements at Σ index × stride, strides descending, of a flat array of `span` elements."""
        if not dims:
            return self.reshaped(flat, [], dtype)
        (size, stride), inner = dims[0], dims[1:]
        width = span_of(inner)
        if width > stride:
            raise InputError("a view whose elements overlap is not understood")
        missing = size * stride - span
        if missing > 0:
            filler = self.add("aten.full.default", [[missing], 0], [missing], dtype)
            flat = self.joined([(flat, span), (filler, missing)], 0, [span], dtype)
        table = self.reshaped(flat, [size, stride], dtype)
        table = self.cut(table, 1, 0, width, [size, stride], dtype)
        if not inner:
            return self.reshaped(table, [size], dtype)
        parts = []
        shape = [each for each, _ in inner]
        if math.prod(shape) == width:  # the inner dimensions are without gaps
            return self.reshaped(table, [size, *shape], dtype)
        for index in range(size):
            row = self.reshaped(self.cut(table, 0, index, index + 1, [size, width], dtype), [width], dtype)
            part = self.rows(row, width, inner, dtype)
            parts.append((self.reshaped(part, [1, *shape], dtype), 1))
        return self.joined(parts, 0, [1, *shape], dtype)

    def overwritten(self, found: Contents, ref: Ref, geometry: Geometry) -> Piece:
        """What a storage holds, where it lies between the elements of a view that is written."""
        sizes, strides, offset = geometry
        if any(size != 1 and stride == 0 for size, stride in zip(sizes, strides, strict=True)):
            raise InputError("a write to a view whose elements overlap is not understood")
        order = sorted((i for i in range(len(sizes)) if sizes[i] != 1), key=lambda i: -strides[i])
        dims = [(sizes[i], strides[i]) for i in order]
        rest = [i for i in range(len(sizes)) if i not in order]
        value = self.permuted(ref, sizes, [*order, *rest], found.dtype)
        value = self.reshaped(value, [size for size, _ in dims], found.dtype)
        end = offset + span_of(dims)
        old = self.range(found, offset, end)
        return Piece(offset, end, self.merged(old, end - offset, value, dims, found.dtype))

    def merged(self, old: Ref, span: int, value: Ref, dims: Sequence[tuple[int, int]], dtype: Any) -> Ref:
        """`old`, of `span` elements, with those at the strides of `dims` replaced."""
        shape = [size for size, _ in dims]
        if math.prod(shape) == span:
            return self.reshaped(value, [span], dtype)
        (size, stride), inner = dims[0], dims[1:]
        width = span_of(inner)
        if width > stride:
            raise InputError("a write to a view whose elements overlap is not understood")
        parts: list[tuple[Ref, int]] = []
        for index in range(size):
            begin = index * stride
            row = self.reshaped(self.cut(value, 0, index, index + 1, shape, dtype), shape[1:], dtype)
            under = self.cut(old, 0, begin, begin + width, [span], dtype)
            parts.append((self.merged(under, width, row, inner, dtype), width))
            end = min(begin + stride, span)
            parts.append((self.cut(old, 0, begin + width, end, [span], dtype), end - begin - width))
        return self.joined(parts, 0, [span], dtype)

    # -- operations ----------------------------------------------------------

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if any(is_wrapper(each) for each in types):
            return NotImplemented
        name = str(func)
        if name.startswith("profiler."):
            return func(*args, **kwargs)
        if any(is_fake(each) for each in tensors_in([args, kwargs])):
            return func(*args, **kwargs)
        self.line = self.users_line()
        packet = name.rsplit(".", 1)[0]
        special = SPECIAL.get(packet)
        if special is not None:
            return special(self, func, args, kwargs)
        if "c10d" in name.split(".")[0]:
            return collective(self, func, packet, args, kwargs)
        refuse(self, func, args, kwargs)
        if packet.startswith("aten._foreach_"):
            return self.each(func, packet, args, kwargs)
        writes = written_arguments(func, args, kwargs)
        target = func
        if writes:
            target, args_of, kwargs_of = functional_of(func, args, kwargs)
        else:
            args_of, kwargs_of = list(args), kwargs
        if target is not None and not self.is_meant(target) and not self.all_known([args, kwargs]):
            replaced = self.decomposed(func, target, args, kwargs, writes)
            if replaced is not NotImplemented:
                return replaced
        return self.recorded(func, target, args, kwargs, args_of, kwargs_of, writes)

    def is_meant(self, func: Any) -> bool:
        """Whether the writer of modules knows the operation."""
        return str(func).rsplit(".", 1)[0] in OPERATIONS

    def all_known(self, values: Any) -> bool:
        return all(self.read(each).node in self.known for each in tensors_in(values))

    def each(self, func: Any, packet: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A _foreach_ operation: the one of its name, for every element of its lists."""
        single = getattr(torch.ops.aten, packet.removeprefix("aten._foreach_"), None)
        if single is None:
            raise InputError(f"{func} is not understood, expected foreach=False")
        count = len(args[0])
        results = []
        with self:
            for number in range(count):
                own = [each[number] if isinstance(each, (list, tuple)) else each for each in args]
                named = {
                    key: each[number] if isinstance(each, (list, tuple)) else each
                    for key, each in kwargs.items()
                }
                results.append(single(*own, **named))
        return None if packet.endswith("_") else results

    def decomposed(
        self, func: Any, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], writes: Sequence[Any]
    ) -> Any:
        """PyTorch's own definition of an operation by simpler ones, where it has one."""
        table = decompositions()
        for each in (func, target):
            if each in table and (each is func or not writes):
                with self:
                    return table[each](*args, **kwargs)
        if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"):
            with self:
                return func.decompose(*args, **kwargs)
        return NotImplemented

    def recorded(
        self,
        func: Any,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        args_of: Sequence[Any],
        kwargs_of: Mapping[str, Any],
        writes: Sequence[Any],
    ) -> Any:
        operands = self.resolved(list(args_of))
        named = {key: self.resolved(value) for key, value in kwargs_of.items() if key not in LAYOUT}
        outputs = func(*args, **kwargs)
        if writes and not (target is not None and self.is_meant(target)) and self.all_known([args, kwargs]):
            for each in writes:
                self.write(each, self.outside(each))
            return outputs
        if writes:
            results = [(each.shape, each.dtype) for each in writes]
            op = str(target) if target is not None else str(func)
            refs = self.add_several(op, operands, results, named)
            for tensor, ref in zip(writes, refs, strict=True):
                self.write(tensor, ref)
            return outputs
        several = isinstance(outputs, (list, tuple))
        flat = list(outputs) if several else [outputs]
        tensors = [each for each in flat if isinstance(each, torch.Tensor)]
        if len(tensors) != len(flat):
            if any(each is not None and not isinstance(each, torch.Tensor) for each in flat):
                if not self.all_known([args, kwargs]):
                    raise InputError(f"{func} makes a number of what depends on inputs{self.at()}")
                return outputs
        if tensors and not self.is_meant(func) and self.all_known([args, kwargs]):
            for each in tensors:
                if self.is_new(each):
                    self.define(each, self.outside(each))
            return outputs
        if not tensors or (not self.is_meant(func) and not any(self.is_new(each) for each in tensors)):
            return outputs  # views are read as their sizes and strides say
        refs = self.add_several(
            str(func), operands, [(each.shape, each.dtype) for each in tensors], named, several=several
        )
        for tensor, ref in zip(tensors, refs, strict=True):
            if self.is_new(tensor):
                self.define(tensor, ref)
            else:  # a view
                self.of(tensor).views.setdefault(geometry_of(tensor), ref)
        return outputs

    def resolved(self, value: Any) -> Any:
        """Arguments of a node: tensors as references, all else as numbers and texts."""
        if isinstance(value, torch.Tensor):
            return self.read(value)
        if isinstance(value, (list, tuple)):
            return [self.resolved(each) for each in value]
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        return str(value)

    # -- the user's lines ----------------------------------------------------

    def users_line(self) -> str:
        """`file:line (function)` of the user's call; in a backward, of the call of the forward."""
        node = current_autograd_node()
        if node is not None:
            found = self.lines.get(node._sequence_nr())
            if found:
                return found
        frame: Any = sys._getframe(2)
        while frame is not None:
            code = frame.f_code
            if not code.co_filename.startswith(INSIDE) and not code.co_filename.startswith("<"):
                line = f"{code.co_filename}:{frame.f_lineno} ({code.co_name})"
                if node is None:
                    self.lines[torch._C._autograd._get_sequence_nr() - 1] = line
                return line
            frame = frame.f_back
        return ""

    def at(self) -> str:
        return f" at {self.line}" if self.line else ""

    # -- the result ----------------------------------------------------------

    def graph(self, outputs: Sequence[Ref]) -> RankGraph:
        """The graph of what the outputs need, and of all collectives."""
        needed = {each.node for each in outputs}
        kept = []
        for node in reversed(self.nodes):
            if node.name in needed or node.op == "placeholder" or is_collective(node.op):
                kept.append(node)
                needed.update(each.node for each in refs_in([node.args, list(node.kwargs.values())]))
        kept.reverse()
        names = {node.name: f"n{number}" for number, node in enumerate(kept)}

        def renamed(value: Any) -> Any:
            if isinstance(value, Ref):
                return Ref(names[value.node], value.index)
            if isinstance(value, list):
                return [renamed(each) for each in value]
            return value

        nodes = [
            Node(
                names[node.name],
                node.op,
                renamed(node.args),
                {key: renamed(value) for key, value in node.kwargs.items()},
                node.shapes,
                node.dtypes,
                node.source,
            )
            for node in kept
        ]
        nodes.append(Node("output", "output", [[renamed(each) for each in outputs]]))
        return RankGraph(self.rank, self.world_size, nodes, self.groups)

    @contextlib.contextmanager
    def running(self) -> Iterator[Recorder]:
        """Everything inside is written down."""
        from torch.nn.attention import SDPBackend, sdpa_kernel

        with _resizing(self), _NumbersMode(self), sdpa_kernel(SDPBackend.MATH), self:
            yield self


def current_autograd_node() -> Any:
    return torch._C._current_autograd_node()


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


def refuse(recorder: Recorder, func: Any, args: Any, kwargs: Any) -> None:
    """Operations whose results are no function of their operands, or whose shapes depend on them."""
    if torch.Tag.nondeterministic_seeded in func.tags:
        raise InputError(f"{func} is random{recorder.at()}, expected dropout 0 and no random numbers")
    if torch.Tag.dynamic_output_shape in func.tags or torch.Tag.data_dependent_output in func.tags:
        if not recorder.all_known([args, kwargs]):
            raise InputError(f"{func} makes a number or a shape of what depends on inputs{recorder.at()}")


class _NumbersMode(TorchFunctionMode):  # type: ignore[misc]
    """Refuses to show numbers that depend on inputs, where they leave torch unseen."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if getattr(func, "__name__", "") in ("tolist", "numpy", "__array__", "__dlpack__"):
            local = [local_of(each) for each in args[:1]]
            if not all(is_fake(each) for each in local) and not self.recorder.all_known(local):
                raise InputError(f"{func.__name__}() of a tensor that depends on inputs")
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def _resizing(recorder: Recorder) -> Iterator[None]:
    """FSDP frees gathered parameters by resizing their storages, which is no operation."""

    def resize_(storage: Any, size: int) -> Any:
        result = original(storage, size)
        found = recorder.contents.get(storage._cdata)
        if found is not None:
            width = torch.empty(0, dtype=found.dtype, device="meta").element_size()
            recorder.contents[storage._cdata] = Contents(storage, found.dtype, int(size) // width)
        return result

    own = "resize_" in vars(torch.UntypedStorage)
    original = torch.UntypedStorage.resize_
    torch.UntypedStorage.resize_ = resize_
    try:
        yield
    finally:
        if own:
            torch.UntypedStorage.resize_ = original
        else:
            del torch.UntypedStorage.resize_


# -- operations that are read in a way of their own ----------------------------

Special = Callable[[Recorder, Any, tuple[Any, ...], dict[str, Any]], Any]


def _empty(recorder: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    result = func(*args, **kwargs)
    if not is_fake(result):
        recorder.undefined(result)
    return result


def _copy(recorder: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    target, source = args[:2]
    ref = recorder.read(source)
    if source.dtype != target.dtype:
        ref = recorder.add("aten._to_copy.default", [ref], source.shape, target.dtype)
    if source.shape != target.shape:
        ref = recorder.add("aten.expand.default", [ref, list(target.shape)], target.shape, target.dtype)
    func(*args, **kwargs)
    recorder.write(target, ref)
    return target


def _fill(recorder: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    target = args[0]
    value = args[1] if len(args) > 1 else 0
    if isinstance(value, torch.Tensor):
        ref = recorder.read(value)
        if value.dtype != target.dtype:
            ref = recorder.add("aten._to_copy.default", [ref], value.shape, target.dtype)
        ref = recorder.add("aten.expand.default", [ref, list(target.shape)], target.shape, target.dtype)
    else:
        ref = recorder.add("aten.full.default", [list(target.shape), value], target.shape, target.dtype)
    func(*args, **kwargs)
    recorder.write(target, ref)
    return target


def _item(recorder: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if recorder.read(args[0]).node not in recorder.known:
        raise InputError(
            f"a number is taken out of a tensor that depends on inputs{recorder.at()}, expected a "
            "step without item() and branches on values"
        )
    return func(*args, **kwargs)


def _lift(recorder: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    result = func(*args, **kwargs)
    if is_fake(result):
        return result
    recorder.read(args[0])
    if result.untyped_storage()._cdata != args[0].untyped_storage()._cdata:
        recorder.define(result, recorder.read(args[0]))
    return result


def _gather_copy_in(recorder: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """FSDP: the rank's parts, one after another, at their place in the buffer of an all-gather."""
    inputs, output, sizes, count, rank = args[:5]
    with recorder:
        part = output.narrow(0, count * rank, count)
        start = 0
        for tensor, size in zip(inputs, sizes, strict=True):
            part.narrow(0, start, size).copy_(tensor.reshape(-1))
            start += size
    return part, output


def _chunk_cat(recorder: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Tensors cut into chunks, padded with zeros: chunk by chunk of all tensors."""
    tensors, dim, count = args[:3]
    if dim != 0:
        return NotImplemented
    out = kwargs.get("out", args[3] if len(args) > 3 else None)
    with recorder:
        rows = []
        for tensor in tensors:
            per_chunk = -(-tensor.shape[0] // count)
            missing = per_chunk * count - tensor.shape[0]
            if missing:
                blank = torch.zeros([missing, *tensor.shape[1:]], dtype=tensor.dtype)
                tensor = torch.cat([tensor, blank])
            rows.append(tensor.reshape(count, -1))
        result = torch.cat(rows, 1)
        if out is None:
            return result
        out.copy_(result.view(out.shape))
    return out if func._schema.returns else None


def _split_copy(recorder: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, sizes = args[:2]
    dim = args[2] if len(args) > 2 else kwargs.get("dim", 0)
    out = kwargs.get("out")
    with recorder:
        parts = torch.ops.aten.split_with_sizes.default(tensor, list(sizes), dim)
        if out is None:
            return [each.clone() for each in parts]
        for target, part in zip(out, parts, strict=True):
            target.copy_(part.view(target.shape))
    return None


def _unknown_storage(recorder: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    raise InputError(f"{func} changes what storage a tensor has{recorder.at()}, which is not understood")


SPECIAL: dict[str, Special] = {
    "aten.resize_": _unknown_storage,
    "aten.resize_as_": _unknown_storage,
    "aten.set_": _unknown_storage,
    "aten.empty": _empty,
    "aten.empty_strided": _empty,
    "aten.empty_like": _empty,
    "aten.empty_permuted": _empty,
    "aten.new_empty": _empty,
    "aten.new_empty_strided": _empty,
    "aten.copy_": _copy,
    "aten.fill_": _fill,
    "aten.zero_": _fill,
    "aten._local_scalar_dense": _item,
    "aten.lift_fresh": _lift,
    "aten.lift": _lift,
    "fsdp.all_gather_copy_in": _gather_copy_in,
    "fsdp.chunk_cat": _chunk_cat,
    "fsdp.chunk_cat_mixed_dtype": _chunk_cat,
    "aten._chunk_cat": _chunk_cat,
    "fsdp.split_with_sizes_copy": _split_copy,
    "aten.split_with_sizes_copy": _split_copy,
}


# -- collectives ---------------------------------------------------------------


def group_name(recorder: Recorder, group: Any) -> str:
    """The name of a process group, whose ranks are noted."""
    if isinstance(group, str):
        from torch.distributed.distributed_c10d import _resolve_process_group

        name, resolved = group, _resolve_process_group(group)
    else:
        resolved = group
        if not isinstance(group, dist.ProcessGroup):
            resolved = dist.ProcessGroup.unbox(group)
        name = resolved.group_name
    recorder.groups[name] = list(dist.get_process_group_ranks(resolved))
    return str(name)


def reduction(value: Any) -> str:
    """`sum`, `avg`, `max` …"""
    if isinstance(value, str):
        return value.lower()
    from torch._C._distributed_c10d import ReduceOp

    op = value if isinstance(value, ReduceOp) else ReduceOp.unbox(value)
    kind = getattr(op, "op", op)
    return str(kind).rsplit(".", 1)[-1].lower()


def collective(
    recorder: Recorder, func: Any, packet: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Collectives in functional form; what c10d writes to its arguments is a write."""
    library, name = packet.split(".")
    arguments = {each.name: None for each in func._schema.arguments}
    arguments.update(
        {
            each.name: args[number] if number < len(args) else kwargs.get(each.name, each.default_value)
            for number, each in enumerate(func._schema.arguments)
            if number < len(args) or each.name in kwargs or each.has_default_value()
        }
    )
    result = func(*args, **kwargs)
    handler = COLLECTIVES.get(f"{library.removesuffix('_autograd')}.{name}")
    if handler is None:
        names = ", ".join(COLLECTIVES)
        raise InputError(f"the collective {func} is not known{recorder.at()}, expected {names}")
    handler(recorder, arguments, result)
    return result


def started(recorder: Recorder, name: str, args: Sequence[Any], like: Any) -> Ref:
    op = f"_c10d_functional.{name}.default"
    return recorder.add(op, args, like.shape, like.dtype, known=False)


Handler = Callable[[Recorder, dict[str, Any], Any], None]


def _wait(recorder: Recorder, given: dict[str, Any], result: Any) -> None:
    if recorder.is_new(result):
        recorder.define(result, recorder.read(given["tensor"]))


def _functional(name: str, *keys: str) -> Handler:
    def handle(recorder: Recorder, given: dict[str, Any], result: Any) -> None:
        group = group_name(recorder, given["group_name"])
        inputs = given.get("inputs", given.get("input", given.get("self")))
        inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        results = result if isinstance(result, (list, tuple)) else [result]
        rest = [reduction(given[key]) if key == "reduce_op" else given[key] for key in keys]
        refs = [
            started(recorder, name, [recorder.read(source), *rest, group], target)
            for source, target in zip(inputs, results, strict=True)
        ]
        for target, ref in zip(results, refs, strict=True):
            if recorder.is_new(target):
                recorder.define(target, ref)
            else:
                recorder.write(target, ref)

    return handle


def _in_place(name: str, *keys: str) -> Handler:
    """c10d.allreduce_ and the like: each tensor is replaced."""

    def handle(recorder: Recorder, given: dict[str, Any], result: Any) -> None:
        group = group_name(recorder, given["process_group"])
        rest = [reduction(given[key]) if key == "reduce_op" else given[key] for key in keys]
        refs = [
            started(recorder, name, [recorder.read(each), *rest, group], each)
            for each in given["tensors"]
        ]
        for tensor, ref in zip(given["tensors"], refs, strict=True):
            recorder.write(tensor, ref)

    return handle


def pairs(target: Any, source: Any) -> list[tuple[Any, Any]]:
    if isinstance(target, (list, tuple)):
        return list(zip(target, source, strict=True))
    return [(target, source)]


def flattened(recorder: Recorder, source: Any) -> Ref:
    return recorder.reshaped(recorder.read(source), [source.numel()], source.dtype)


def _gather_base(recorder: Recorder, given: dict[str, Any], result: Any) -> None:
    group = group_name(recorder, given["process_group"])
    size = len(recorder.groups[group])
    targets = given.get("output_tensor", given.get("outputs"))
    sources = given.get("input_tensor", given.get("inputs"))
    for target, source in pairs(targets, sources):
        flat = flattened(recorder, source)
        ref = recorder.add(
            "_c10d_functional.all_gather_into_tensor.default",
            [flat, size, group],
            [source.numel() * size],
            source.dtype,
            known=False,
        )
        recorder.write(target, recorder.reshaped(ref, target.shape, target.dtype))


def _scatter_base(recorder: Recorder, given: dict[str, Any], result: Any) -> None:
    group = group_name(recorder, given["process_group"])
    size = len(recorder.groups[group])
    targets = given.get("output_tensor", given.get("outputs"))
    sources = given.get("input_tensor", given.get("inputs"))
    for target, source in pairs(targets, sources):
        ref = recorder.add(
            "_c10d_functional.reduce_scatter_tensor.default",
            [flattened(recorder, source), reduction(given["reduce_op"]), size, group],
            [target.numel()],
            source.dtype,
            known=False,
        )
        recorder.write(target, recorder.reshaped(ref, target.shape, target.dtype))


def _gather_lists(recorder: Recorder, given: dict[str, Any], result: Any) -> None:
    group = group_name(recorder, given["process_group"])
    size = len(recorder.groups[group])
    for targets, source in zip(given["output_tensors"], given["input_tensors"], strict=True):
        count = source.numel()
        ref = recorder.add(
            "_c10d_functional.all_gather_into_tensor.default",
            [flattened(recorder, source), size, group],
            [count * size],
            source.dtype,
            known=False,
        )
        for number, target in enumerate(targets):
            part = recorder.cut(ref, 0, number * count, (number + 1) * count, [count * size], source.dtype)
            recorder.write(target, recorder.reshaped(part, target.shape, target.dtype))


def _scatter_lists(recorder: Recorder, given: dict[str, Any], result: Any) -> None:
    group = group_name(recorder, given["process_group"])
    size = len(recorder.groups[group])
    for target, sources in zip(given["output_tensors"], given["input_tensors"], strict=True):
        count = target.numel()
        parts = [(flattened(recorder, each), count) for each in sources]
        joined = recorder.joined(parts, 0, [count], target.dtype)
        ref = recorder.add(
            "_c10d_functional.reduce_scatter_tensor.default",
            [joined, reduction(given["reduce_op"]), size, group],
            [count],
            target.dtype,
            known=False,
        )
        recorder.write(target, recorder.reshaped(ref, target.shape, target.dtype))


def even(sizes: Any, total: int, count: int, what: str) -> None:
    if sizes and (len(set(sizes)) != 1 or len(sizes) != count):
        raise InputError(f"{what}: parts of {list(sizes)}, expected parts of one size")
    if total % count:
        raise InputError(f"{what}: {total} elements over {count} ranks, expected parts of one size")


def _all_to_all(recorder: Recorder, given: dict[str, Any], result: Any) -> None:
    group = group_name(recorder, given["group_name"])
    size = len(recorder.groups[group])
    source = given["input"]
    even(given["output_split_sizes"], source.shape[0], size, "all_to_all_single")
    even(given["input_split_sizes"], source.shape[0], size, "all_to_all_single")
    args = [recorder.read(source), None, None, group]
    recorder.define(result, started(recorder, "all_to_all_single", args, source))


def _all_to_all_base(recorder: Recorder, given: dict[str, Any], result: Any) -> None:
    group = group_name(recorder, given["process_group"])
    size = len(recorder.groups[group])
    target, source = given["output"], given["input"]
    even(given["output_split_sizes"], source.shape[0], size, "all_to_all_single")
    even(given["input_split_sizes"], source.shape[0], size, "all_to_all_single")
    args = [recorder.read(source), None, None, group]
    ref = started(recorder, "all_to_all_single", args, source)
    recorder.write(target, recorder.reshaped(ref, target.shape, target.dtype))


def _broadcast(recorder: Recorder, given: dict[str, Any], result: Any) -> None:
    group = group_name(recorder, given["process_group"])
    for tensor in given["tensors"]:
        args = [recorder.read(tensor), given["root_rank"], group]
        recorder.write(tensor, started(recorder, "broadcast", args, tensor))


def _shard_dim_alltoall(recorder: Recorder, given: dict[str, Any], result: Any) -> None:
    """DTensor: from cut along one dimension to cut along another."""
    group = group_name(recorder, given["group_name"])
    size = len(recorder.groups[group])
    source, gather, cut = given["input"], given["gather_dim"], given["shard_dim"]
    shape = list(source.shape)
    even(None, shape[cut], size, "shard_dim_alltoall")
    parts = []
    for number in range(size):
        width = shape[cut] // size
        part = recorder.cut(
            recorder.read(source), cut, number * width, (number + 1) * width, shape, source.dtype
        )
        parts.append((recorder.reshaped(part, [1, *shape[:cut], width, *shape[cut + 1 :]], source.dtype), 1))
    piece = [*shape[:cut], shape[cut] // size, *shape[cut + 1 :]]
    sent = recorder.joined(parts, 0, [1, *piece], source.dtype)
    got = recorder.add(
        "_c10d_functional.all_to_all_single.default",
        [sent, None, None, group],
        [size, *piece],
        source.dtype,
        known=False,
    )
    pieces = [
        (
            recorder.reshaped(
                recorder.cut(got, 0, number, number + 1, [size, *piece], source.dtype), piece, source.dtype
            ),
            piece[gather],
        )
        for number in range(size)
    ]
    recorder.define(result, recorder.joined(pieces, gather, piece, source.dtype))


def _nothing(recorder: Recorder, given: dict[str, Any], result: Any) -> None:
    pass


COLLECTIVES: dict[str, Handler] = {
    "_c10d_functional.wait_tensor": _wait,
    "_c10d_functional._wrap_tensor_autograd": _nothing,
    "_c10d_functional.all_reduce": _functional("all_reduce", "reduce_op"),
    "_c10d_functional.all_reduce_": _functional("all_reduce", "reduce_op"),
    "_c10d_functional.all_reduce_coalesced": _functional("all_reduce", "reduce_op"),
    "_c10d_functional.all_reduce_coalesced_": _functional("all_reduce", "reduce_op"),
    "_c10d_functional.all_gather_into_tensor": _functional("all_gather_into_tensor", "group_size"),
    "_c10d_functional.all_gather_into_tensor_coalesced": _functional(
        "all_gather_into_tensor", "group_size"
    ),
    "_c10d_functional.reduce_scatter_tensor": _functional(
        "reduce_scatter_tensor", "reduce_op", "group_size"
    ),
    "_c10d_functional.reduce_scatter_tensor_coalesced": _functional(
        "reduce_scatter_tensor", "reduce_op", "group_size"
    ),
    "_c10d_functional.all_to_all_single": _all_to_all,
    "_c10d_functional.broadcast": _functional("broadcast", "src"),
    "_c10d_functional.broadcast_": _functional("broadcast", "src"),
    "_dtensor.shard_dim_alltoall": _shard_dim_alltoall,
    "c10d.allreduce_": _in_place("all_reduce", "reduce_op"),
    "c10d.allreduce_coalesced_": _in_place("all_reduce", "reduce_op"),
    "c10d._allgather_base_": _gather_base,
    "c10d.allgather_into_tensor_coalesced_": _gather_base,
    "c10d._reduce_scatter_base_": _scatter_base,
    "c10d.reduce_scatter_tensor_coalesced_": _scatter_base,
    "c10d.allgather_": _gather_lists,
    "c10d.reduce_scatter_": _scatter_lists,
    "c10d.alltoall_base_": _all_to_all_base,
    "c10d.broadcast_": _broadcast,
    "c10d.barrier": _nothing,
    "c10d.monitored_barrier_": _nothing,
}
SPECIAL["_dtensor.shard_dim_alltoall"] = lambda recorder, func, args, kwargs: collective(
    recorder, func, "_dtensor.shard_dim_alltoall", args, kwargs
)
