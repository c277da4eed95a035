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
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from .errors import InputError
from . import _torch_hlo as _torch_hlo  # it knows the operations
from ._torch_collectives import collective
from ._torch_graph import Node, RankGraph, Ref
from ._torch_special import SPECIAL
from ._torch_tensors import Contents, Geometry, LAYOUT, Piece, decompositions, functional_of, geometry_of, is_collective, is_dense, is_fake, is_wrapper, local_of, refs_in, span_of, tensors_in, written_arguments
from ._torch_writer import OPERATIONS

#: Elements of a tensor from outside that is written into the graph as a constant.
MAX_CONSTANT = 1 << 16
INSIDE = (os.path.dirname(torch.__file__), os.path.dirname(__file__))


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
                f"a tensor of {list(tensor.shape)} is used that is not an argument, expected an argument, "
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
