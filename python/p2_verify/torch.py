"""Steps of PyTorch: what all ranks compute, compared with the step on one device.

trace(), check_step() and check_module() need torch (2.5 or newer, `pip install torch`), but neither
accelerators nor several processes; check_graphs() compares graphs that were recorded without it.
Operations of ATen that are known keep their meaning; all others are functions of their operands by name,
so that `valid` holds whatever they compute.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from ._call import CallOptions
from ._torch_graph import IndexRange, Node, RankGraph, Ref, difference, index_ranges, ordered
from ._torch_hlo import module_of, to_hlo
from .checking import CheckEngine, compare_programs, compare_texts
from .errors import InputError
from .verdict import Counterexample, Verdict

if TYPE_CHECKING:
    from ._torch_record import Recorder

#: How an array is held, by dimension of the mesh: "R" (every rank has it), "S0" (cut along dimension 0),
#: "P" (the sum over the ranks), "avg" (their mean), or a placement of torch.distributed.tensor.
Placements = Sequence[Any]
REDUCTIONS = {"P": "sum", "max": "max", "min": "min", "product": "product"}


def placement_text(placement: Any, rank: int | None = None) -> str:
    """A placement of torch.distributed.tensor as a text; texts as they are. rank: of the array."""
    if isinstance(placement, str):
        return placement
    name = type(placement).__name__
    if name == "Replicate":
        return "R"
    if name in ("Shard", "_StridedShard"):
        dim = placement.dim
        if dim < 0:
            if rank is None:
                raise InputError(f"{placement}, expected a dimension from 0")
            dim += rank
        factor = getattr(placement, "split_factor", 1) if name == "_StridedShard" else 1
        return f"S{dim}" if factor == 1 else f"S{dim}/{factor}"
    if name == "Partial":
        return {"sum": "P"}.get(placement.reduce_op, str(placement.reduce_op))
    raise InputError(f"{placement} of a tensor, expected Replicate, Shard or Partial")


def _texts(placements: Placements, mesh: Mapping[str, int], rank: int | None = None) -> list[str]:
    if isinstance(placements, str) or len(placements) != len(mesh):
        raise InputError(f"{placements!r}, expected a placement for each of {list(mesh)}")
    return [placement_text(each, rank) for each in placements]


def cuts_of(placements: Sequence[str], mesh: Mapping[str, int]) -> dict[int, list[str]]:
    """By dimension of an array, the dimensions of the mesh that cut it, outermost first."""
    axes = list(mesh)
    cuts: dict[int, list[str]] = {}
    strided: list[tuple[int, int, str]] = []
    for axis, placement in zip(axes, placements, strict=True):
        if placement == "R" or placement == "avg" or placement in REDUCTIONS:
            continue
        dim, _, factor = placement[1:].partition("/")
        if not placement.startswith("S") or not dim.isdigit() or (factor and not factor.isdigit()):
            raise InputError(f"'{placement}', expected R, S<dimension>, P, avg, max, min or product")
        if factor:
            strided.append((int(dim), int(factor), axis))
        else:
            cuts.setdefault(int(dim), []).append(axis)
    for dimension, parts, axis in strided:  # cut first by the dimensions of the mesh that follow
        later = [each for each in cuts.get(dimension, []) if axes.index(each) > axes.index(axis)]
        if math.prod(mesh[each] for each in later) != parts:
            raise InputError(f"a strided placement S{dimension}/{parts} on {list(mesh)} is not understood")
        cuts[dimension] = [*cuts[dimension], axis]
    return cuts


def box_of(
    shape: Sequence[int], placements: Sequence[str], mesh: Mapping[str, int], rank: int
) -> list[list[int]]:
    """The part of an array that a rank holds, as half-open ranges; chunks as torch.chunk makes them."""
    sizes = list(mesh.values())
    place = {
        axis: rank // math.prod(sizes[i + 1 :]) % sizes[i] for i, axis in enumerate(mesh)
    }
    box = [[0, extent] for extent in shape]
    for dimension, axes in cuts_of(placements, mesh).items():
        if dimension >= len(shape):
            raise InputError(f"S{dimension} of an array of shape {list(shape)}")
        begin, end = box[dimension]
        for axis in axes:
            chunk = -(-(end - begin) // mesh[axis])
            start = min(begin + place[axis] * chunk, end)
            begin, end = start, min(start + chunk, end)
        box[dimension] = [begin, end]
    return box


def relation_of(
    shape: Sequence[int], placements: Sequence[str], mesh: Mapping[str, int]
) -> dict[str, Any] | str:
    """How the ranks hold an array, as docs/partition.md has it."""
    cuts = cuts_of(placements, mesh)
    kinds = {placement for placement in placements if placement in REDUCTIONS}
    if "avg" in placements:
        kinds.add("P")
    if len(kinds) > 1:
        raise InputError(f"{list(placements)}: two reductions of one array are not understood")
    if not cuts and not kinds:
        return "replicated"
    even = True
    for dimension, axes in cuts.items():
        even = even and dimension < len(shape) and shape[dimension] % math.prod(mesh[x] for x in axes) == 0
    value: dict[str, Any]
    if even:
        value = {"dims": [cuts.get(i, []) for i in range(len(shape))]}
        reduced = [x for x, each in zip(mesh, placements, strict=True) if each in REDUCTIONS or each == "avg"]
        if kinds:
            value[REDUCTIONS[kinds.pop()]] = reduced
        return value
    boxes = []
    for rank in range(math.prod(mesh.values())):
        box = box_of(shape, placements, mesh, rank)
        boxes.append({"device": rank, "of": box, "at": [[0, end - begin] for begin, end in box]})
    value = {"boxes": boxes}
    if kinds:
        value[REDUCTIONS[kinds.pop()]] = True
    return value


def check_graphs(
    graphs: Sequence[RankGraph],
    reference: RankGraph,
    *,
    mesh: Mapping[str, int],
    inputs: Sequence[Placements],
    outputs: Sequence[Placements],
    ranges: Mapping[int, tuple[int, int]] | None = None,
    engine: CheckEngine = "explicit",
    **call: Unpack[CallOptions],
) -> Verdict:
    """Whether the ranks' graphs compute the shards of what `reference`, on one device, does.

    mesh: the dimensions of the device mesh, outermost first; ranks are numbered row-major. inputs,
    outputs: the placements of each array. ranges: by number of an input of integers, its least and its
    greatest value; without, all that PyTorch accepts as an index, and ignored targets (-100), which
    `assumed` says. Ranks may run different programs. Raises InputError.
    """
    several = ordered(graphs)
    world = several[0].world_size
    if math.prod(mesh.values()) != world:
        raise InputError(f"the mesh {dict(mesh)} has not {world} devices")

    def placed(shapes: Sequence[Sequence[int]], given: Sequence[Placements]) -> dict[str, Any]:
        if len(shapes) != len(given):
            raise InputError(f"{len(given)} placements, expected {len(shapes)}: one per array")
        return {
            str(number): {
                "after": number,
                "relation": relation_of(shape, _texts(placements, mesh, len(shape)), mesh),
            }
            for number, (shape, placements) in enumerate(zip(shapes, given, strict=True))
        }

    averaged = {
        number: math.prod(
            mesh[axis]
            for axis, each in zip(mesh, _texts(placements, mesh, 0), strict=True)
            if each == "avg"
        )
        for number, placements in enumerate(outputs)
        if any(placement_text(each, 0) == "avg" for each in placements)
    }
    if averaged:
        several = [_with_shares(graph, averaged) for graph in several]
    document: dict[str, Any] = {
        "format": "p2-relation/1",
        "devices": world,
        "mesh": dict(mesh),
        "inputs": placed(_input_shapes(reference), inputs),
        "outputs": placed(_output_shapes(reference), outputs),
    }
    allowed = index_ranges(reference)
    for number, (first, last) in (ranges or {}).items():
        if not -(1 << 31) <= first <= last < 1 << 31:
            raise InputError(f"a range of {first} to {last}, expected numbers of 32 bits in order")
        allowed[number] = IndexRange(first, last)
    before = to_hlo([reference], allowed)
    if difference(several) is None:
        after = to_hlo(several, allowed)
        verdict = compare_texts(before, after, relate=json.dumps(document), engine=engine, **call)
    else:
        texts = {str(graph.rank): module_of(graph, allowed) for graph in several}
        verdict = compare_programs(before, texts, document, engine=engine, **call)
    verdict.assumed = (*verdict.assumed, *(f"input {number} {each}" for number, each in allowed.items()))
    return verdict


def _with_shares(graph: RankGraph, counts: Mapping[int, int]) -> RankGraph:
    """The graph with outputs whose mean is meant divided by the number of ranks: their sum is it."""
    nodes = list(graph.nodes[:-1])
    output = graph.nodes[-1]
    types = {node.name: node for node in nodes}
    flat = list(output.args[0])
    for number, count in counts.items():
        ref = flat[number]
        node = types[ref.node]
        name = f"share{number}"
        index = ref.index or 0
        nodes.append(
            Node(name, "aten.div.Tensor", [ref, count], {}, [node.shapes[index]], [node.dtypes[index]])
        )
        flat[number] = Ref(name)
    nodes.append(Node(output.name, "output", [flat]))
    return RankGraph(graph.rank, graph.world_size, nodes, graph.groups)


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


@contextlib.contextmanager
def _fake_rank(mesh: Mapping[str, int], rank: int) -> Iterator[Any]:
    """A fake process group as one rank of the mesh; yields the DeviceMesh."""
    _torch()
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if dist.is_initialized():
        raise InputError("a process group exists already, expected none: a fake one is made")
    world = math.prod(mesh.values())
    if not 0 <= rank < world:
        raise InputError(f"rank {rank}, expected 0 to {world - 1}")
    _forget_meshes()
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)
    try:
        yield init_device_mesh("cpu", tuple(mesh.values()), mesh_dim_names=tuple(mesh))
    finally:
        dist.destroy_process_group()
        _forget_meshes()


def _forget_meshes() -> None:
    """DTensor keeps what it derived for a mesh, with the names of the groups of one rank."""
    import torch.distributed.tensor as tensor

    holders = [module for name, module in sys.modules.items() if name.startswith(tensor.__name__)]
    propagator = tensor.DTensor._op_dispatcher.sharding_propagator
    for holder in [*holders, propagator]:
        for name, found in list(vars(holder).items()):
            if hasattr(found, "cache_clear") and not isinstance(found, type):
                found.cache_clear()
    native = getattr(_torch()._C, "_clear_DTensor_sharding_propagator_cache", None)
    if native is not None:
        native()


def _is_dtensor(value: Any) -> bool:
    from torch.distributed.tensor import DTensor

    return isinstance(value, DTensor)


def _leaves(value: Any) -> list[Any]:
    """The tensors of what a step returns, in order. Raises InputError for anything else but None."""
    torch = _torch()
    leaves = torch.utils._pytree.tree_leaves(value)
    for each in leaves:
        if each is not None and not isinstance(each, torch.Tensor):
            raise InputError(f"the step returns a {type(each).__name__}, expected tensors")
    return [each for each in leaves if each is not None]


def _zeros(recorder: Recorder, like: Any) -> Ref:
    from ._torch_tensors import local_of

    local = local_of(like)
    return recorder.add("aten.full.default", [list(local.shape), 0], local.shape, local.dtype)


def _tangent(recorder: Recorder, output: Any) -> Any:
    """An input of the shape of an output: what is known of the loss by it."""
    torch = _torch()
    from ._torch_tensors import local_of

    local = torch.ones_like(local_of(output).detach())
    recorder.input(local)
    if not _is_dtensor(output):
        return local
    from torch.distributed.tensor import DTensor, Replicate

    placements = [Replicate() if each.is_partial() else each for each in output.placements]
    return DTensor.from_local(
        local, output.device_mesh, placements, run_check=False, shape=output.shape, stride=output.stride()
    )


class _Traced:
    """A graph with what its inputs and outputs are, and how they are placed, where that is known."""

    def __init__(self) -> None:
        self.graph: Any = None
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.placements: dict[str, list[str] | None] = {}
        self.unchanged: set[str] = set()  # outputs that the step does not make


def _placements_of(tensor: Any, mesh: Mapping[str, int]) -> list[str] | None:
    """How a DTensor is held on the whole mesh; None for other tensors."""
    if not _is_dtensor(tensor):
        return None
    names = tensor.device_mesh.mesh_dim_names
    if names is None or not set(names) <= set(mesh):
        raise InputError(f"a DTensor on the mesh {names}, expected dimensions of {list(mesh)}")
    given = dict(zip(names, tensor.placements, strict=True))
    return [placement_text(given[axis], tensor.dim()) if axis in given else "R" for axis in mesh]


def _recorder(args: Sequence[Any], rank: int, sizes: Mapping[str, int]) -> tuple[Recorder, _Traced]:
    """Of a rank whose first inputs are the tensors among the arguments."""
    from ._torch_record import Recorder

    recorder, found = Recorder(rank, math.prod(sizes.values())), _Traced()
    for number, each in enumerate(args):
        if isinstance(each, _torch().Tensor):
            recorder.input(each)
            found.inputs.append(f"argument {number}")
    return recorder, found


def _tangents(recorder: Recorder, found: _Traced, outputs: Sequence[tuple[int, Any]]) -> list[Any]:
    """An input for each of these outputs: what its backward is given."""
    found.inputs.extend(f"tangent of result {number}" for number, _ in outputs)
    return [_tangent(recorder, each) for _, each in outputs]


def _trace_function(
    fn: Callable[..., Any],
    args: Sequence[Any],
    rank: int,
    sizes: Mapping[str, int],
    mesh: Any,
    backward: bool,
) -> _Traced:
    """Outputs, then gradients of the inputs that require them; tangents are the last inputs."""
    torch = _torch()
    from ._torch_tensors import local_of

    recorder, found = _recorder(args, rank, sizes)
    named = {"mesh": mesh} if mesh is not None and _takes_mesh(fn) else {}
    with recorder.running():
        outputs = _leaves(fn(*args, **named))
        refs = [recorder.read(local_of(each)) for each in outputs]
        for number, each in enumerate(outputs):
            found.outputs.append(f"result {number}")
            found.placements[f"result {number}"] = _placements_of(each, sizes)
        leaves = [
            (number, each)
            for number, each in enumerate(args)
            if isinstance(each, torch.Tensor) and each.requires_grad
        ]
        ends = [(number, each) for number, each in enumerate(outputs) if each.requires_grad]
        if backward and leaves:
            tangents = _tangents(recorder, found, ends)
            gradients = (
                torch.autograd.grad(
                    [each for _, each in ends], [each for _, each in leaves], tangents, allow_unused=True
                )
                if ends
                else [None] * len(leaves)
            )
            for (number, leaf), gradient in zip(leaves, gradients, strict=True):
                name = f"gradient of argument {number}"
                found.outputs.append(name)
                if gradient is None:
                    refs.append(_zeros(recorder, leaf))
                    found.placements[name] = _placements_of(leaf, sizes)
                else:
                    refs.append(recorder.read(local_of(gradient)))
                    found.placements[name] = _placements_of(gradient, sizes)
    found.graph = recorder.graph(refs)
    return found


def _takes_mesh(fn: Callable[..., Any]) -> bool:
    try:
        return "mesh" in inspect.signature(fn).parameters
    except (TypeError, ValueError):
        return False


def trace(fn: Callable[..., Any], *args: Any, mesh: Mapping[str, int], rank: int) -> RankGraph:
    """The graph of one rank, forward and backward, under a fake process group.

    `fn` gets the rank's own, local tensors, and the DeviceMesh if it has a parameter `mesh`. It is run
    once; its numbers mean nothing. Inputs are the tensors, then what is given to the backward of each
    output; outputs are those of `fn`, then the gradients of the arguments that require them. Raises
    InputError where torch is absent or a process group exists already, for random operations, and
    where Python looks at numbers that depend on inputs.
    """
    with _fake_rank(mesh, rank) as device_mesh:
        return _trace_function(fn, args, rank, mesh, device_mesh, True).graph  # type: ignore[no-any-return]


def check_step(
    fn: Callable[..., Any],
    reference: Callable[..., Any],
    *args: Any,
    mesh: Mapping[str, int],
    placements: Sequence[Placements] | None = None,
    outputs: Sequence[Placements | None] | None = None,
    backward: bool = True,
    ranges: Mapping[int, tuple[int, int]] | None = None,
    **call: Unpack[CallOptions],
) -> Verdict:
    """Whether a parallel step computes what `reference` does on one device, with its gradients.

    args: the whole tensors. placements: how `fn` gets each of them: of texts ("R", "S0") it gets its
    rank's part, of placements of torch.distributed.tensor a DTensor; without, the whole. outputs: how
    each result of `fn` is held; without, as its DTensor says, a plain tensor on every rank. None in
    their place: that result is not compared. ranges: by number of an argument of integers, its least
    and greatest value (see check_graphs). Gradients are placed as DTensors say, others as their
    arguments. `fn` gets the DeviceMesh if it has a parameter `mesh`. Raises InputError.
    """
    torch = _torch()
    world = math.prod(mesh.values())
    given: list[Any] = [["R"] * len(mesh)] * len(args) if placements is None else list(placements)
    if len(given) != len(args):
        raise InputError(f"{len(given)} placements, expected {len(args)}: one per argument")
    traced = []
    for rank in range(world):
        with _fake_rank(mesh, rank) as device_mesh:
            local = [
                _local(each, placement, mesh, rank, device_mesh)
                for each, placement in zip(args, given, strict=True)
            ]
            traced.append(_trace_function(fn, local, rank, mesh, device_mesh, backward))
    whole = [
        each.detach().clone().requires_grad_(each.requires_grad) if isinstance(each, torch.Tensor) else each
        for each in args
    ]
    one = _trace_function(reference, whole, 0, {}, None, backward)
    placed = {
        f"argument {number}": placement
        for number, (each, placement) in enumerate(zip(args, given, strict=True))
        if isinstance(each, torch.Tensor)
    }
    return _compare(traced, one, mesh, placed, outputs, ranges, **call)


def _compare(
    traced: Sequence[_Traced],
    one: _Traced,
    mesh: Mapping[str, int],
    placed: Mapping[str, Placements],
    outputs: Sequence[Placements | None] | None,
    ranges: Mapping[int, tuple[int, int]] | None,
    **call: Unpack[CallOptions],
) -> Verdict:
    """Compares what ranks and one device compute, by the names of inputs and outputs."""
    every = ["R"] * len(mesh)
    shapes = dict(zip(one.outputs, _output_shapes(one.graph), strict=True))
    for each in traced:
        if each.inputs != one.inputs or each.outputs != one.outputs:
            theirs = set(each.inputs + each.outputs)
            ours = set(one.inputs + one.outputs)
            raise InputError(
                f"rank {each.graph.rank} has {sorted(theirs - ours)}, one device {sorted(ours - theirs)}, "
                "expected the same results and gradients"
            )
    results = [name for name in one.outputs if name.startswith("result ")]
    if outputs is not None and len(outputs) != len(results):
        raise InputError(f"{len(outputs)} placements of outputs, expected {len(results)}: one per result")
    held: dict[str, Placements | None] = {}
    for name in one.outputs:
        known = [each.placements.get(name) for each in traced]
        rank = len(shapes[name])
        if any(each != known[0] for each in known):
            raise InputError(f"{name} is placed {known[0]} on rank 0, and otherwise on others")
        if known[0] is not None:
            held[name] = known[0]
        elif name.startswith("gradient of "):
            of = name.removeprefix("gradient of ")
            texts = _texts(placed.get(of, every), mesh, rank)
            held[name] = ["R" if each in REDUCTIONS else each for each in texts]
        else:
            held[name] = placed.get(name.removeprefix("new "), every) if name.startswith("new ") else every
        if name in results and outputs is not None:
            asked = outputs[results.index(name)]
            if asked is not None and known[0] is not None and _texts(asked, mesh, rank) != held[name]:
                raise InputError(f"{name} is placed {known[0]}, not {list(asked)}")
            held[name] = asked
    idle = set.intersection(one.unchanged, *(each.unchanged for each in traced))
    compared = [name for name in one.outputs if held[name] is not None and name not in idle]
    inputs: list[Placements] = []
    for name, shape in zip(one.inputs, _input_shapes(one.graph), strict=True):
        if name.startswith("tangent of "):
            held_by = held[name.removeprefix("tangent of ")]
            texts = _texts(held_by or every, mesh, len(shape))
            inputs.append(["R" if each == "avg" or each in REDUCTIONS else each for each in texts])
        else:
            inputs.append(placed.get(name, every))
    verdict = check_graphs(
        [_only(each, compared) for each in traced],
        _only(one, compared),
        mesh=mesh,
        inputs=inputs,
        outputs=[held[name] or every for name in compared],
        ranges={one.inputs.index(f"argument {number}"): each for number, each in (ranges or {}).items()},
        **call,
    )
    return _in_users_terms(verdict, compared)


def _only(traced: _Traced, compared: Sequence[str]) -> RankGraph:
    """The graph with the outputs that are compared."""
    graph: RankGraph = traced.graph
    flat = graph.nodes[-1].args[0]
    chosen = [flat[traced.outputs.index(name)] for name in compared]
    output = Node("output", "output", [chosen])
    return RankGraph(graph.rank, graph.world_size, [*graph.nodes[:-1], output], graph.groups)


def _in_users_terms(verdict: Verdict, names: Sequence[str]) -> Verdict:
    """The verdict with the name of the output that differs."""
    found = verdict.counterexample
    if not isinstance(found, Counterexample):
        return verdict
    output = found.facts.get("output")
    if isinstance(output, int) and output < len(names):
        found.facts = {**found.facts, "output_name": names[output]}
        found.explanation += f" Output {output} is the {names[output]}."
        verdict.reason = found.explanation
    return verdict


def _local(
    tensor: Any, placements: Placements, mesh: Mapping[str, int], rank: int, device_mesh: Any
) -> Any:
    """What a rank gets of a whole tensor: its part, or a DTensor of it."""
    torch = _torch()
    if not isinstance(tensor, torch.Tensor):
        return tensor
    texts = _texts(placements, mesh, tensor.dim())
    part = tensor.detach()
    for dimension, (begin, end) in enumerate(box_of(tensor.shape, texts, mesh, rank)):
        part = part.narrow(dimension, begin, end - begin)
    part = part.clone(memory_format=torch.contiguous_format)
    if all(isinstance(each, str) for each in placements):
        if any(each in REDUCTIONS or each == "avg" for each in texts):
            raise InputError(f"{list(placements)} of an argument, expected R or S<dimension>, or a DTensor")
        return part.requires_grad_(tensor.requires_grad)
    from torch.distributed.tensor import DTensor

    result = DTensor.from_local(
        part, device_mesh, list(placements), run_check=False, shape=tensor.shape, stride=tensor.stride()
    )
    return result.requires_grad_(tensor.requires_grad)


def check_module(
    model: Any,
    parallelize: Callable[..., Any],
    *args: Any,
    mesh: Mapping[str, int],
    step: Callable[..., Any] | None = None,
    placements: Sequence[Placements] | None = None,
    outputs: Sequence[Placements | None] | None = None,
    parameters: Mapping[str, Placements] | None = None,
    ranges: Mapping[int, tuple[int, int]] | None = None,
    **call: Unpack[CallOptions],
) -> Verdict:
    """Whether a parallelized torch.nn.Module trains as it does on one device.

    parallelize: is given a copy of `model` and the DeviceMesh, and changes or returns it, with
    fully_shard, parallelize_module or by hand. step: is given the model and the arguments; it may call
    backward() and an optimizer that it makes. Without, the model is called and its result's backward
    runs. Compared are the results, the gradients of all parameters, and all parameters and buffers that
    the step changes, by name. placements, outputs, ranges: as of check_step. parameters: how parameters that
    are no DTensors are held, where not every rank has them whole. Raises InputError.
    """
    world = math.prod(mesh.values())
    given: list[Any] = [["R"] * len(mesh)] * len(args) if placements is None else list(placements)
    if len(given) != len(args):
        raise InputError(f"{len(given)} placements, expected {len(args)}: one per argument")
    one = _trace_module(copy.deepcopy(model), step, [_copied(each) for each in args], 0, {})
    traced = []
    placed: dict[str, Placements] = dict(parameters or {})
    for rank in range(world):
        with _fake_rank(mesh, rank) as device_mesh:
            local = [
                _local(each, placement, mesh, rank, device_mesh)
                for each, placement in zip(args, given, strict=True)
            ]
            changed = copy.deepcopy(model)
            returned = parallelize(changed, device_mesh)
            changed = changed if returned is None else returned
            found = _trace_module(changed, step, local, rank, mesh)
            for name, tensor in _state(changed).items():
                if _is_dtensor(tensor):
                    placed[name] = _placements_of(tensor, mesh) or []
            traced.append(found)
    torch = _torch()
    for number, (each, placement) in enumerate(zip(args, given, strict=True)):
        if isinstance(each, torch.Tensor):
            placed[f"argument {number}"] = placement
    return _compare(traced, one, mesh, placed, outputs, ranges, **call)


def _copied(value: Any) -> Any:
    torch = _torch()
    if not isinstance(value, torch.Tensor):
        return value
    return value.detach().clone().requires_grad_(value.requires_grad)


def _state(model: Any) -> dict[str, Any]:
    """Parameters, then buffers, by name; of two names for one, the first."""
    result = dict(model.named_parameters())
    for name, buffer in model.named_buffers():
        result.setdefault(name, buffer)
    return result


def _trace_module(
    model: Any,
    step: Callable[..., Any] | None,
    args: Sequence[Any],
    rank: int,
    sizes: Mapping[str, int],
) -> _Traced:
    torch = _torch()
    from ._torch_tensors import local_of

    recorder, found = _recorder(args, rank, sizes)
    state = _state(model)
    before = {}
    for name in sorted(state):
        before[name] = recorder.input(state[name])
        found.inputs.append(name)
    refs = []

    def output(name: str, tensor: Any, ref: Ref) -> None:
        found.outputs.append(name)
        found.placements[name] = _placements_of(tensor, sizes)
        refs.append(ref)

    with recorder.running():
        if step is not None:
            results = _leaves(step(model, *args))
        else:
            results = _leaves(model(*args))
            ends = [(number, each) for number, each in enumerate(results) if each.requires_grad]
            tangents = _tangents(recorder, found, ends)
            torch.autograd.backward([each for _, each in ends], tangents)
        for number, each in enumerate(results):
            output(f"result {number}", each, recorder.read(local_of(each)))
        # All gradients and all of the state; what neither side has or changes is not compared.
        leaves = {f"argument {number}": each for number, each in enumerate(args)}
        after = _state(model)
        leaves.update((name, after[name]) for name in sorted(after))
        for name, tensor in leaves.items():
            if not isinstance(tensor, torch.Tensor) or not tensor.requires_grad:
                continue
            gradient = tensor.grad
            if gradient is None:
                output(f"gradient of {name}", tensor, _zeros(recorder, tensor))
                found.unchanged.add(f"gradient of {name}")
            else:
                output(f"gradient of {name}", gradient, recorder.read(local_of(gradient)))
        for name in sorted(after):
            ref = recorder.read(local_of(after[name]))
            output(f"new {name}", after[name], ref)
            if ref == before.get(name):
                found.unchanged.add(f"new {name}")
    found.graph = recorder.graph(refs)
    return found


__all__ = [
    "Node",
    "RankGraph",
    "Ref",
    "check_graphs",
    "check_module",
    "check_step",
    "to_hlo",
    "trace",
]
