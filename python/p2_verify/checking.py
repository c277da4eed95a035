"""Is it right? Questions that are answered by a Verdict."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Unpack

from . import _core, flight
from ._call import CallOptions, Sources, TextOrPath, options
from .errors import InputError, LimitReached
from .program import Program
from .system import Placement
from .verdict import Kind, Verdict, verdict_of, verdicts_of

CheckEngine = Literal["explicit", "z3", "cnf", "symbolic", "interpreter", "all"]
Numbers = Literal["real", "reassociated", "bitwise"]


def check(
    subject: Any,
    *args: Any,
    engine: CheckEngine = "explicit",
    certify: str | None = None,
    placement: Placement | None = None,
    reduce: Sequence[str | int] | None = None,
    explain: bool = False,
    relate: str | None = None,
    **call: Unpack[CallOptions],
) -> Verdict:
    """Whether `subject` is right.

    A Program, or a text (`str`) or file (`os.PathLike`) of a program, an algorithm as MSCCL XML, a
    one-sided plan, a module of XLA or StableHLO (well-formed), a plan of a resharding, a definition
    of a collective, a pipeline schedule (CSV of torch.distributed.pipelining), a flight recorder
    dump or a transfer plan: recognized by its content. A list of paths is one question, as are the
    dumps of all ranks; `.parts` has each.

    What jax.jit returned, with its arguments (arrays or jax.ShapeDtypeStruct), or what its lower()
    or compile() returned, or a jax.export.Exported: whether the partitioned module computes what
    the program does without shardings. Nothing is run.

    engine: which engines decide. certify: a folder for a certificate that p2-check accepts.
    placement, reduce: complete a program that names none. relate: a relation (docs/partition.md)
    instead of the shardings of the jitted function.

    A limit (timeout=, …) gives an unknown verdict. Raises InputError, DisagreementError,
    InternalError, KeyboardInterrupt.

    >>> check("devices 2\\nAllReduce{0,1}").kind
    <Kind.valid: 'valid'>
    >>> print(check("devices 4\\nAllReduce{0,1}").rule)
    goal-lacks
    """
    if isinstance(subject, Program):
        if args:
            raise TypeError("a program takes no arguments")
        return subject.check(engine=_program_engine(engine), **call)
    if isinstance(subject, (str, os.PathLike, list, tuple)):
        if args:
            raise TypeError("a text or a file takes no arguments")
        subjects = list(subject) if isinstance(subject, (list, tuple)) else [subject]
        if all(isinstance(each, os.PathLike) and flight.is_pickle(each) for each in subjects):
            return flight.check(flight.load(subjects), **call)
        with Sources() as sources:
            request = _core.CheckRequest()
            request.files = [sources.path(each, "<text>") for each in subjects]
            spec = _core.InstanceSpec()
            if placement is not None:
                placement.fill(spec, sources)
            if reduce is not None:
                spec.reduce = ",".join(str(axis) for axis in reduce)
            request.instance = spec
            request.engine = engine
            request.certify = certify
            request.explain = explain
            answer = _core.check(request, options(call))
            return verdict_of(answer) if len(answer.results) < 2 else verdicts_of(answer)
    from . import _jax

    return _jax.check_partitioning(subject, args, engine=engine, relate=relate, **call)


def _program_engine(engine: CheckEngine) -> Literal["explicit", "z3", "cnf", "all"]:
    if engine == "symbolic" or engine == "interpreter":
        raise InputError(f"engine '{engine}' is for modules, expected explicit, z3, cnf or all")
    return engine


def compare_texts(
    before: TextOrPath,
    after: TextOrPath,
    *,
    relate: TextOrPath | None = None,
    numbers: Numbers = "real",
    order: bool = False,
    replicated_inputs: bool = False,
    engine: CheckEngine = "explicit",
    replicas: int | None = None,
    partitions: int | None = None,
    **call: Unpack[CallOptions],
) -> Verdict:
    """Two modules of XLA or StableHLO, as `p2-verify check --before --after` compares them."""
    with Sources() as sources:
        request = _core.CheckRequest()
        request.before = sources.path(before, "<before>")
        request.after = sources.path(after, "<after>")
        if relate is not None:
            request.relate = sources.path(relate, "<relation>")
        request.numbers = numbers
        request.ordered = order
        request.replicated_inputs = replicated_inputs
        request.engine = engine
        request.replicas = replicas
        request.partitions = partitions
        return verdict_of(_core.check(request, options(call)))


def compare_programs(
    before: str,
    programs: Mapping[str, str],
    relation: Mapping[str, Any],
    *,
    engine: CheckEngine = "explicit",
    **call: Unpack[CallOptions],
) -> Verdict:
    """A module of one device, and modules of devices that run different programs.

    programs: device → module. relation: a relation (docs/partition.md) without its `modules`.
    """
    with tempfile.TemporaryDirectory(prefix="p2-programs-") as folder:
        modules = {}
        for device, text in programs.items():
            modules[device] = f"device{device}.hlo"
            (Path(folder) / modules[device]).write_text(text)
        relate = Path(folder) / "relation.json"
        relate.write_text(json.dumps({**relation, "modules": modules}))
        with Sources() as sources:
            request = _core.CheckRequest()
            request.before = sources.path(before, "<before>")
            request.relate = os.fspath(relate)
            request.engine = engine
            return verdict_of(_core.check(request, options(call)))


def check_equal(
    before: Any,
    after: Any,
    *args: Any,
    in_shardings: Any = None,
    out_shardings: Any = None,
    numbers: Numbers = "real",
    order: bool = False,
    replicated_inputs: bool = False,
    relate: TextOrPath | None = None,
    engine: CheckEngine = "explicit",
    **call: Unpack[CallOptions],
) -> Verdict:
    """Whether `after` computes what `before` does, for all inputs.

    Each is a module as text or path, a function or jax.jit of one (then `args` are its arguments),
    a Lowered, a Compiled or a jax.export.Exported. Functions may be partitioned: `in_shardings` and
    `out_shardings` are those of `after`, a function that is not jitted yet. `numbers`: in which
    sense floating-point numbers have to be equal: as real numbers, with the same operations but
    sums in any order, or bit for bit. `order`: sums must also be added in the same order.
    `replicated_inputs`: of two partitioned modules, inputs are the same on all devices where
    `before` says so, by sharding={replicated} or parameter_replication={true}.

    Raises InputError, DisagreementError, KeyboardInterrupt.
    """
    if isinstance(before, (str, os.PathLike)) and isinstance(after, (str, os.PathLike)) and not args:
        return compare_texts(
            before,
            after,
            relate=relate,
            numbers=numbers,
            order=order,
            replicated_inputs=replicated_inputs,
            engine=engine,
            **call,
        )
    from . import _jax

    return _jax.check_equal(
        before,
        after,
        args,
        in_shardings=in_shardings,
        out_shardings=out_shardings,
        numbers=numbers,
        order=order,
        replicated_inputs=replicated_inputs,
        relate=relate,
        engine=engine,
        **call,
    )


def check_passes(subject: Any, *args: Any, **call: Unpack[CallOptions]) -> Verdict:
    """Whether each pass of XLA keeps what the module computes; `.parts` has a verdict per pass.

    `subject` is what jax.jit returned, with its arguments, or a folder that XLA wrote with
    `--xla_dump_to` and `--xla_dump_hlo_pass_re=.*`. Raises InputError.
    """
    if isinstance(subject, os.PathLike):
        return _check_dump(os.fspath(subject), **call)
    from . import _jax

    with _jax.dump_of_all_passes(subject, args) as folder:
        return _check_dump(folder, **call)


def _check_dump(folder: str, **call: Unpack[CallOptions]) -> Verdict:
    request = _core.CheckRequest()
    request.dump = folder
    return verdicts_of(_core.check(request, options(call)))


def check_reduces(
    module: TextOrPath,
    axes: Sequence[str | int],
    *,
    placement: Placement | None = None,
    goal: Literal["allreduce", "reducescatter", "allgather", "broadcast", "alltoall"] = "allreduce",
    **call: Unpack[CallOptions],
) -> Verdict:
    """Whether a module of XLA or StableHLO is `goal` over `axes`.

    Without `placement` all devices are axis 0. Raises InputError.
    """
    with Sources() as sources:
        request = _core.CheckRequest()
        request.files = [sources.path(module, "<module>")]
        request.reduces = ",".join(str(axis) for axis in axes)
        spec = _core.InstanceSpec()
        if placement is not None:
            placement.fill(spec, sources)
        spec.goal = goal
        request.instance = spec
        return verdict_of(_core.check(request, options(call)))


class DefinitionProperty(NamedTuple):
    """A property of a definition: `name` holds or not, and who settled it."""

    name: str
    kind: Kind
    detail: str
    settled_by: str
    every_size: bool


class Definition:
    """What is known of a definition of a collective.

    sound: bool; raises UndecidedError where a limit was reached. counterexample: of the first
    property that does not hold. equal_to: collectives, or pairs of them, that it is equal to.
    sizes: for which groups. checks: property by property.
    """

    def __init__(self, report: _core.DefinitionReport, verdict: Verdict) -> None:
        self.name = report.collective
        self.verdict = verdict
        self.counterexample = verdict.counterexample
        self.sizes = report.sizes
        self.equal_to = list(report.relations)
        self.checks = [
            DefinitionProperty(
                each.name, Kind(each.outcome), each.detail, each.settled_by, each.every_size
            )
            for each in report.checks
        ]

    @property
    def sound(self) -> bool:
        return bool(self.verdict)

    def __repr__(self) -> str:
        return f"Definition({self.name}: {self.verdict.kind}, {self.sizes})"


def define(text: TextOrPath, *, max_group: int = 4, **call: Unpack[CallOptions]) -> Definition:
    """Examines whether a definition of a collective (`.p2c`) is sound.

    Groups of 2 to `max_group` devices (at most 8) are examined. Raises InputError with line and
    column.
    """
    with Sources() as sources:
        request = _core.DefineRequest()
        request.files = [sources.path(text, "<definition>.p2c")]
        request.max_group = max_group
        answer = _core.define(request, options(call))
    verdict = verdict_of(answer)
    if not answer.definitions:
        raise LimitReached(verdict.reason or "nothing was settled")
    return Definition(answer.definitions[0], verdict)


class ClaimResult(NamedTuple):
    """A statement, over all systems that were examined."""

    claim: str
    kind: Kind
    hierarchy: str
    other_hierarchy: str | None
    dialect: str
    systems: int
    refuted: int
    undecided: int


def prove(
    claim: str,
    *,
    max_devices: int = 8,
    dialect: Literal["printed", "published", "both"] = "published",
    size: int = 5,
    **call: Unpack[CallOptions],
) -> list[ClaimResult]:
    """Settles a statement of the papers (docs/theorem.md) on all systems up to `max_devices`.

    Raises InputError for a name that is none; p2.claims() lists them.
    """
    request = _core.ProveRequest()
    request.claims = [claim]
    request.max_devices = max_devices
    request.dialect = dialect
    request.size = size
    answer = _core.prove(request, options(call))
    return [
        ClaimResult(
            each.claim,
            Kind(each.outcome),
            each.hierarchy,
            each.other_hierarchy,
            each.dialect,
            each.systems,
            each.refuted,
            each.undecided,
        )
        for each in answer.summary
    ]


def claims() -> list[str]:
    """The names of the statements that prove() settles."""
    return list(_core.claim_names())


class CertificateVerdict(NamedTuple):
    """What p2-check says of a certificate. `reason`: the claim that is proved, or why it is not.

    `bool()` is true for accepted only.
    """

    kind: Literal["accepted", "rejected", "not-a-certificate", "incomplete"]
    reason: str

    def __bool__(self) -> bool:
        return self.kind == "accepted"


def check_certificate(
    folder: str | os.PathLike[str], *, question: str | None = None
) -> CertificateVerdict:
    """Checks a certificate with the code of p2-check: no solver, nothing of the engine.

    `question` is a JSON text; only a certificate that answers it is accepted. Never raises for what
    is in the folder.
    """
    result = _core.check_certificate(os.fspath(folder), question)
    kinds: dict[_core.CertificateKind, Literal["accepted", "rejected", "not-a-certificate", "incomplete"]] = {
        _core.CertificateKind.accepted: "accepted",
        _core.CertificateKind.rejected: "rejected",
        _core.CertificateKind.not_a_certificate: "not-a-certificate",
        _core.CertificateKind.incomplete: "incomplete",
    }
    return CertificateVerdict(kinds[result.kind], result.reason)
