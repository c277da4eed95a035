"""Collectives of PyTorch, functional and of c10d, as a Recorder writes them down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def started(recorder: Recorder, name: str, args: Sequence[Any], like: Any) -> Ref:
    op = f"_c10d_functional.{name}.default"
    return recorder.add(op, args, like.shape, like.dtype, known=False)


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
