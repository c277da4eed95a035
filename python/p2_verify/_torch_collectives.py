"""Collectives of PyTorch, functional and of c10d, as a Recorder writes them down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch.distributed as dist

from .errors import InputError
from ._torch_graph import Ref

if TYPE_CHECKING:
    from ._torch_record import Recorder

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


def started(recorder: Recorder, name: str, args: Sequence[Any], shape: Sequence[int], dtype: Any) -> Ref:
    return recorder.add(f"_c10d_functional.{name}.default", args, shape, dtype, known=False)


def write_flat(recorder: Recorder, target: Any, ref: Ref) -> None:
    """Elements in row-major order, whatever the shape of the target."""
    recorder.write(target, recorder.reshaped(ref, target.shape, target.dtype))


def members(recorder: Recorder, given: Mapping[str, Any], key: str = "process_group") -> tuple[str, int]:
    """The name of a group, and how many ranks it has."""
    name = group_name(recorder, given[key])
    return name, len(recorder.groups[name])


Handler = Callable[["Recorder", dict[str, Any], Any], None]


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
            started(recorder, name, [recorder.read(source), *rest, group], target.shape, target.dtype)
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
            started(recorder, name, [recorder.read(each), *rest, group], each.shape, each.dtype)
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


def tensors(given: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """What a collective over whole tensors writes, and from what."""
    targets = given.get("output_tensor", given.get("outputs"))
    return pairs(targets, given.get("input_tensor", given.get("inputs")))


def gathered(recorder: Recorder, source: Any, group: str, size: int) -> Ref:
    """The elements of all ranks, one rank after the other."""
    args = [flattened(recorder, source), size, group]
    return started(recorder, "all_gather_into_tensor", args, [source.numel() * size], source.dtype)


def _gather_base(recorder: Recorder, given: dict[str, Any], result: Any) -> None:
    group, size = members(recorder, given)
    for target, source in tensors(given):
        write_flat(recorder, target, gathered(recorder, source, group, size))


def _gather_lists(recorder: Recorder, given: dict[str, Any], result: Any) -> None:
    group, size = members(recorder, given)
    for targets, source in zip(given["output_tensors"], given["input_tensors"], strict=True):
        count = source.numel()
        ref = gathered(recorder, source, group, size)
        for number, target in enumerate(targets):
            part = recorder.cut(ref, 0, number * count, (number + 1) * count, [count * size], source.dtype)
            write_flat(recorder, target, part)


def scatter(recorder: Recorder, given: Mapping[str, Any], target: Any, flat: Ref, dtype: Any) -> None:
    """Writes this rank's part of the sum of all ranks' elements."""
    group, size = members(recorder, given)
    args = [flat, reduction(given["reduce_op"]), size, group]
    write_flat(recorder, target, started(recorder, "reduce_scatter_tensor", args, [target.numel()], dtype))


def _scatter_base(recorder: Recorder, given: dict[str, Any], result: Any) -> None:
    for target, source in tensors(given):
        scatter(recorder, given, target, flattened(recorder, source), source.dtype)


def _scatter_lists(recorder: Recorder, given: dict[str, Any], result: Any) -> None:
    for target, sources in zip(given["output_tensors"], given["input_tensors"], strict=True):
        count = target.numel()
        parts = [(flattened(recorder, each), count) for each in sources]
        joined = recorder.joined(parts, 0, [count], target.dtype)
        scatter(recorder, given, target, joined, target.dtype)


def even(sizes: Any, total: int, count: int, what: str) -> None:
    if sizes and (len(set(sizes)) != 1 or len(sizes) != count):
        raise InputError(f"{what}: parts of {list(sizes)}, expected parts of one size")
    if total % count:
        raise InputError(f"{what}: {total} elements over {count} ranks, expected parts of one size")


def exchanged(recorder: Recorder, given: Mapping[str, Any], source: Any, key: str) -> Ref:
    """The parts of equal size that all ranks have for this one."""
    group, size = members(recorder, given, key)
    for sizes in ("output_split_sizes", "input_split_sizes"):
        even(given[sizes], source.shape[0], size, "all_to_all_single")
    args = [recorder.read(source), None, None, group]
    return started(recorder, "all_to_all_single", args, source.shape, source.dtype)


def _all_to_all(recorder: Recorder, given: dict[str, Any], result: Any) -> None:
    recorder.define(result, exchanged(recorder, given, given["input"], "group_name"))


def _all_to_all_base(recorder: Recorder, given: dict[str, Any], result: Any) -> None:
    write_flat(recorder, given["output"], exchanged(recorder, given, given["input"], "process_group"))


def _broadcast(recorder: Recorder, given: dict[str, Any], result: Any) -> None:
    group = group_name(recorder, given["process_group"])
    for tensor in given["tensors"]:
        args = [recorder.read(tensor), given["root_rank"], group]
        recorder.write(tensor, started(recorder, "broadcast", args, tensor.shape, tensor.dtype))


def _shard_dim_alltoall(recorder: Recorder, given: dict[str, Any], result: Any) -> None:
    """DTensor: from cut along one dimension to cut along another."""
    group, size = members(recorder, given, "group_name")
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
    args = [sent, None, None, group]
    got = started(recorder, "all_to_all_single", args, [size, *piece], source.dtype)
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
