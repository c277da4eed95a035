"""Functions and modules of JAX as texts that the engine compares. Imported on use."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from ._call import CallOptions, TextOrPath
from .errors import InputError
from .verdict import Counterexample, Verdict

if TYPE_CHECKING:
    from .checking import CheckEngine, Numbers

#: The pass whose result is one device's program, before fusions make it unreadable.
PARTITIONER = "spmd-partitioning"


@dataclass
class ModuleText:
    """A module, and how the devices hold its inputs and outputs.

    inputs, outputs: the sharding and global shape of each array in order, None where it is not
    known; empty for an unpartitioned module. names: of the outputs, as pytree paths.
    """

    text: str
    partitioned: bool = False
    inputs: list[tuple[Any, tuple[int, ...]]] = field(default_factory=list)
    outputs: list[tuple[Any, tuple[int, ...]]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


def abstract(tree: Any, *, keep_sharding: bool) -> Any:
    """The arrays of a pytree as jax.ShapeDtypeStruct; all else as it is."""
    import jax

    def of(leaf: Any) -> Any:
        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            return leaf
        sharding = getattr(leaf, "sharding", None) if keep_sharding else None
        if keep_sharding and not isinstance(leaf, jax.ShapeDtypeStruct):
            # The devices of an array on one device are no choice of the user's.
            sharding = sharding if sharding is not None and len(sharding.device_set) > 1 else None
        if sharding is not None:
            sharding = on_devices(sharding)
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)

    return jax.tree_util.tree_map(of, tree)


def on_devices(sharding: Any) -> Any:
    """A sharding over an AbstractMesh as one over the first devices that there are."""
    import jax
    import numpy as np

    mesh = getattr(sharding, "mesh", None)
    if not isinstance(mesh, jax.sharding.AbstractMesh):
        return sharding
    devices = enough_devices(mesh.size, "the mesh")
    concrete = jax.sharding.Mesh(
        np.array(devices).reshape(mesh.axis_sizes), mesh.axis_names, axis_types=mesh.axis_types
    )
    return jax.sharding.NamedSharding(concrete, sharding.spec)


def enough_devices(count: int, what: str) -> list[Any]:
    """The first `count` devices. Raises InputError where there are fewer."""
    import jax

    devices: list[Any] = jax.devices()
    if len(devices) < count:
        raise InputError(
            f"{what} has {count} devices and there are {len(devices)}, expected "
            f"jax.config.update('jax_num_cpu_devices', {count}) before the first use of JAX"
        )
    return devices[:count]


def is_stage(subject: Any) -> bool:
    """Whether JAX has lowered or compiled it."""
    import jax

    return isinstance(subject, (jax.stages.Lowered, jax.stages.Compiled)) or is_exported(subject)


def is_exported(subject: Any) -> bool:
    from jax import export

    return isinstance(subject, export.Exported)


def lower(subject: Any, args: tuple[Any, ...]) -> Any:
    """What JAX lowers `subject` to, a jax.stages.Lowered."""
    import jax

    if isinstance(subject, jax.stages.Lowered):
        return subject
    if is_exported(subject):
        return lower_exported(subject)
    if not callable(subject):
        raise InputError(
            f"{type(subject).__name__}, expected a function, what jax.jit returned, a Lowered, a "
            "Compiled, a jax.export.Exported, a text or a path"
        )
    jitted = subject if hasattr(subject, "lower") else jax.jit(subject)
    return jitted.lower(*abstract(args, keep_sharding=True))


def lower_exported(exported: Any) -> Any:
    """An exported function on as many devices as it was exported for."""
    import jax
    import numpy as np

    used = np.array(enough_devices(exported.nr_devices, "the exported function"))
    mesh = jax.sharding.Mesh(used, ("devices",))
    for sharding in getattr(exported, "_in_named_shardings", None) or ():
        if sharding is not None:
            names = sharding.mesh.axis_names
            mesh = jax.sharding.Mesh(used.reshape(sharding.mesh.axis_sizes), names)
            break
    args = [
        jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding)
        for aval, sharding in zip(exported.in_avals, exported.in_shardings_jax(mesh), strict=True)
    ]
    positional, named = jax.tree_util.tree_unflatten(exported.in_tree, args)
    return jax.jit(exported.call).lower(*positional, **named)


@contextlib.contextmanager
def dump_folder(lowered: Any, passes: str) -> Iterator[tuple[str, Any]]:
    """Compiles with a dump of `passes`; yields the folder and the jax.stages.Compiled."""
    with tempfile.TemporaryDirectory(prefix="p2-xla-") as folder:
        flags: dict[str, str | bool] = {
            "xla_dump_to": folder,
            "xla_dump_hlo_pass_re": passes,
            "xla_dump_large_constants": True,
        }
        yield folder, compile_on_devices(lowered, flags)


def compile_on_devices(lowered: Any, flags: dict[str, str | bool]) -> Any:
    """A jax.stages.Compiled; what was lowered for an AbstractMesh goes on the first devices."""
    try:
        return lowered.compile(compiler_options=flags)
    except (RuntimeError, ValueError) as error:
        if "device_assignment" not in str(error) and "AbstractMesh" not in str(error):
            raise
        count = re.search(r"mhlo\.num_partitions = (\d+)", lowered.as_text())
        devices = enough_devices(int(count[1]) if count else 1, "the mesh")
        try:
            return lowered.compile(compiler_options=flags, device_assignment=tuple(devices))
        except TypeError:
            raise InputError(
                "the program is lowered for an AbstractMesh, which this version of JAX does not "
                "compile, expected a mesh of devices"
            ) from error


def partitioned_text(lowered: Any) -> tuple[str, Any]:
    """One device's program after partitioning, and the jax.stages.Compiled."""
    with dump_folder(lowered, PARTITIONER) as (folder, compiled):
        found = sorted(Path(folder).glob(f"*.after_{PARTITIONER}*"))
        # Modules that JAX compiles on the way are smaller: the program is the last one.
        if found:
            return found[-1].read_text(), compiled
    return compiled.as_text(), compiled


def shapes_of(tree: Any) -> list[tuple[int, ...]]:
    import jax

    return [tuple(leaf.shape) for leaf in jax.tree_util.tree_leaves(tree)]


def partitioned_module(lowered: Any) -> ModuleText:
    """The program of one device, with how the devices hold its inputs and outputs."""
    text, compiled = partitioned_text(lowered)
    return compiled_module(compiled, text, lowered.out_info)


def compiled_module(compiled: Any, text: str, out_info: Any) -> ModuleText:
    """`text` with the shardings of `compiled`; `out_info` has the global shapes of its outputs."""
    import jax

    def is_absent(leaf: Any) -> bool:
        return leaf is None

    in_shardings = jax.tree_util.tree_leaves(compiled.input_shardings, is_leaf=is_absent)
    in_shapes = shapes_of(compiled.args_info)
    out_shardings = jax.tree_util.tree_leaves(compiled.output_shardings)
    paths = jax.tree_util.tree_flatten_with_path(out_info)[0]
    out_shapes = [tuple(leaf.shape) for _, leaf in paths]
    if len(in_shardings) != len(in_shapes) or len(out_shardings) != len(out_shapes):
        raise InputError("JAX names different numbers of shardings and arrays")
    # An argument without sharding is not used, and left out of the module.
    inputs = [
        (sharding, shape)
        for sharding, shape in zip(in_shardings, in_shapes, strict=True)
        if sharding is not None
    ]
    outputs = list(zip(out_shardings, out_shapes, strict=True))
    devices = max((len(each.device_set) for each, _ in inputs + outputs), default=1)
    names = [jax.tree_util.keystr(path) for path, _ in paths]
    return ModuleText(text, devices > 1, inputs, outputs, names)


def device_order(sharding: Any) -> list[Any]:
    """The devices in the order of the module's partitions."""
    mesh = getattr(sharding, "mesh", None)
    if mesh is not None and hasattr(mesh, "devices"):
        return list(mesh.devices.flat)
    return list(sharding._device_assignment)


def placement_json(
    sharding: Any, shape: tuple[int, ...], devices: Sequence[Any]
) -> dict[str, Any] | str:
    """Which part of an array each device holds, as the value of `relation`."""
    if sharding.is_fully_replicated:
        return "replicated"
    indices = sharding.devices_indices_map(shape)
    boxes = []
    for number, device in enumerate(devices):
        ranges = [
            [each.start or 0, extent if each.stop is None else each.stop]
            for each, extent in zip(indices[device], shape, strict=True)
        ]
        at = [[0, end - begin] for begin, end in ranges]
        boxes.append({"device": number, "of": ranges, "at": at})
    return {"boxes": boxes}


def relation_of(module: ModuleText) -> str:
    """The relation of an unpartitioned module to a partitioned one, as docs/partition.md has it."""
    arrays = module.inputs + module.outputs
    devices = next(
        (device_order(each) for each, _ in arrays if len(each.device_set) > 1), [None]
    )

    def placed(several: list[tuple[Any, tuple[int, ...]]]) -> dict[str, Any]:
        return {
            str(number): {"after": number, "relation": placement_json(sharding, shape, devices)}
            for number, (sharding, shape) in enumerate(several)
        }

    return json.dumps(
        {
            "format": "p2-relation/1",
            "devices": len(devices),
            "inputs": placed(module.inputs),
            "outputs": placed(module.outputs),
        }
    )


def without_shardings(traced: Any) -> Any:
    """What was traced, lowered for one device: its arguments have no shardings."""
    import jax
    from jax.extend import core

    arguments = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in traced.jaxpr.in_avals]
    return jax.jit(core.jaxpr_as_fun(traced.jaxpr)).lower(*arguments)


def check_partitioning(
    subject: Any,
    args: tuple[Any, ...],
    *,
    engine: CheckEngine,
    relate: TextOrPath | None,
    **call: Unpack[CallOptions],
) -> Verdict:
    """Whether the partitioned program computes what the program does without shardings."""
    import jax

    if isinstance(subject, jax.stages.Compiled):
        raise InputError(
            "a Compiled has one device's program only, expected what jax.jit returned with its "
            "arguments, a Lowered, or check_equal(f, compiled)"
        )
    if is_stage(subject):
        lowered = lower(subject, args)
        before = lowered.as_text(dialect="hlo")
    else:
        jitted = subject if hasattr(subject, "trace") else jax.jit(subject)
        traced = jitted.trace(*abstract(args, keep_sharding=True))
        lowered = traced.lower()
        before = without_shardings(traced).as_text(dialect="hlo")
    after = partitioned_module(lowered)
    return compare(
        ModuleText(before), after, relate=relate, numbers="real", order=False, engine=engine, **call
    )


def module_of(subject: Any, args: tuple[Any, ...]) -> ModuleText:
    """One side of a comparison: partitioned where it runs on several devices."""
    import jax

    if isinstance(subject, os.PathLike):
        return ModuleText(Path(subject).read_text())
    if isinstance(subject, str):
        return ModuleText(subject)
    if isinstance(subject, jax.stages.Compiled):
        return compiled_module(subject, subject.as_text(), subject.out_info)
    lowered = lower(subject, args)
    text = lowered.as_text(dialect="hlo")
    if not is_distributed(lowered, text):
        paths = jax.tree_util.tree_flatten_with_path(lowered.out_info)[0]
        return ModuleText(text, names=[jax.tree_util.keystr(path) for path, _ in paths])
    return partitioned_module(lowered)


def is_distributed(lowered: Any, text: str) -> bool:
    """Whether a lowered program runs on several devices."""
    return "xla.sdy." in text or "sharding=" in text or "num_partitions=" in text.split("\n", 1)[0]


def check_equal(
    before: Any,
    after: Any,
    args: tuple[Any, ...],
    *,
    in_shardings: Any,
    out_shardings: Any,
    numbers: Numbers,
    order: bool,
    replicated_inputs: bool,
    relate: TextOrPath | None,
    engine: CheckEngine,
    **call: Unpack[CallOptions],
) -> Verdict:
    """Two functions, modules or stages of JAX."""
    import jax

    if in_shardings is not None or out_shardings is not None:
        if hasattr(after, "lower") or not callable(after):
            raise InputError(
                "in_shardings and out_shardings are those of a function, expected `after` not to be "
                "jitted yet"
            )
        given = {"in_shardings": in_shardings, "out_shardings": out_shardings}
        after = jax.jit(after, **{key: value for key, value in given.items() if value is not None})
    plain = abstract(args, keep_sharding=False)
    first = module_of(before, plain if not hasattr(before, "lower") else args)
    second = module_of(after, args)
    return compare(
        first,
        second,
        relate=relate,
        numbers=numbers,
        order=order,
        replicated_inputs=replicated_inputs,
        engine=engine,
        **call,
    )


def compare(
    before: ModuleText,
    after: ModuleText,
    *,
    relate: TextOrPath | None,
    numbers: Numbers,
    order: bool,
    replicated_inputs: bool = False,
    engine: CheckEngine,
    **call: Unpack[CallOptions],
) -> Verdict:
    """Asks the engine, by the relation where one side alone is partitioned."""
    from .checking import compare_texts

    swapped = before.partitioned and not after.partitioned
    first, second = (after, before) if swapped else (before, after)
    if relate is None and second.partitioned and not first.partitioned:
        relate = relation_of(second)
    elif relate is None and first.partitioned and relation_of(first) != relation_of(second):
        raise InputError(
            "the devices hold different parts of the inputs or outputs before and after, expected the "
            "same shardings, or an unpartitioned function on one side"
        )
    verdict = compare_texts(
        first.text,
        second.text,
        relate=relate,
        numbers=numbers,
        order=order,
        replicated_inputs=replicated_inputs,
        engine=engine,
        **call,
    )
    return in_users_terms(verdict, second.names)


def in_users_terms(verdict: Verdict, names: Sequence[str]) -> Verdict:
    """The verdict with the pytree path of the output that differs, and the user's lines alone."""
    found = verdict.counterexample
    if not isinstance(found, Counterexample):
        return verdict
    package = os.path.dirname(__file__)
    found.source = tuple(each for each in found.source if not each.startswith(package))
    output = found.facts.get("output")
    if isinstance(output, int) and output < len(names):
        found.facts = {**found.facts, "output_path": names[output]}
        if names[output]:
            found.explanation += f" Output {output} is the result's {names[output]}."
            verdict.reason = found.explanation
    return verdict


@contextlib.contextmanager
def dump_of_all_passes(subject: Any, args: tuple[Any, ...]) -> Iterator[str]:
    """A folder with the program after every pass of XLA."""
    with dump_folder(lower(subject, args), ".*") as (folder, _):
        yield folder

