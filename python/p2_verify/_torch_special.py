"""Operations of PyTorch that are recorded in a way of their own: new storages, copies, those of FSDP2."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from .errors import InputError
from ._torch_collectives import collective
from ._torch_tensors import is_fake

if TYPE_CHECKING:
    from ._torch_record import Recorder

Special = Callable[["Recorder", Any, tuple[Any, ...], dict[str, Any]], Any]


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


def _shard_dim(recorder: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return collective(recorder, func, "_dtensor.shard_dim_alltoall", args, kwargs)


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
    "_dtensor.shard_dim_alltoall": _shard_dim,
}
