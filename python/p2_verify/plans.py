"""Times, runs, test vectors, exports, pipelines, reshardings and strategies."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack, overload

from . import _core
from ._call import CallOptions, Sources, TextOrPath, options
from .errors import InputError
from .program import Program, Programs
from .system import Placement, System
from .verdict import verdict_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class StepTime(NamedTuple):
    """The predicted time of a step, and the link that it waits for."""

    seconds: float
    bottleneck: str


class Cost(NamedTuple):
    """A program and its predicted time.

    `baseline` is the single collective of the goal on the same groups (`AllReduce`),
    `baseline_seconds` its time and `speedup` the quotient; "" and None for a goal of your own that
    no single built-in collective reaches.
    """

    program: str
    seconds: float
    baseline: str
    baseline_seconds: float | None
    speedup: float | None
    steps: tuple[StepTime, ...]


class Costs(Sequence[Cost]):
    """Programs with their predicted times, fastest first."""

    def __init__(self, costs: Sequence[Cost], svg: str, json_text: str) -> None:
        self._costs = list(costs)
        self._svg = svg
        self._json = json_text

    @overload
    def __getitem__(self, index: int) -> Cost: ...
    @overload
    def __getitem__(self, index: slice) -> list[Cost]: ...
    def __getitem__(self, index: int | slice) -> Cost | list[Cost]:
        return self._costs[index]

    def __len__(self) -> int:
        return len(self._costs)

    def __iter__(self) -> Iterator[Cost]:
        return iter(self._costs)

    def to_numpy(self) -> NDArray[np.float64]:
        """Array of shape [programs, 2]: seconds, and seconds of the baseline (NaN without one)."""
        import numpy as np

        rows = [[each.seconds, each.baseline_seconds] for each in self._costs]
        return np.array(rows, dtype=np.float64).reshape(len(self._costs), 2)

    def to_json(self) -> str:
        """The JSON of `p2-verify cost --format json`."""
        return self._json

    def __repr__(self) -> str:
        if not self._costs:
            return "Costs(0 programs)"
        best = self._costs[0]
        return f"Costs({len(self)} programs, fastest {best.seconds * 1e6:.1f} us: {best.program})"

    def _repr_svg_(self) -> str:
        return self._svg


def cost(
    programs: Program | Programs | Placement,
    system: System | None = None,
    *,
    reduce: Sequence[str | int] | None = None,
    bytes: int | str = 2 << 30,
    algorithm: Literal["ring", "tree"] = "ring",
    top: int | None = None,
    **call: Unpack[CallOptions],
) -> Costs:
    """Predicts how long programs take on `system`, which has interconnects, fastest first.

    `programs`: one, the Programs of a placement, or a Placement (all of its programs; then `reduce`
    names the axes). `bytes` is per device, `algorithm` how an AllReduce runs. `system` may be left
    out where the placement's has interconnects. Raises InputError, LimitReached.
    """
    with Sources() as sources:
        request = _core.CostRequest()
        if isinstance(programs, Placement):
            spec = _core.InstanceSpec()
            programs.fill(spec, sources)
            if reduce is not None:
                spec.reduce = ",".join(str(axis) for axis in reduce)
        else:
            listed = [programs] if isinstance(programs, Program) else list(programs)
            if not listed:
                raise InputError("no programs, expected at least one")
            spec = listed[0].spec(sources)
            request.files = [
                sources.path(each.source, f"<program {number}>")
                for number, each in enumerate(listed, 1)
            ]
        if system is not None:
            spec.hierarchy = None
            system.fill(spec, sources)
        request.instance = spec
        request.algorithm = algorithm
        request.bytes = str(bytes)
        request.top = top
        request.plot = True
        answer = _core.cost(request, options(call))
    if not answer.programs:
        verdict_of(answer)  # raises
    costs = [
        Cost(
            each.text,
            each.seconds,
            each.baseline,
            each.baseline_seconds,
            each.speedup,
            tuple(StepTime(step.seconds, step.bottleneck) for step in each.steps),
        )
        for each in answer.programs
    ]
    return Costs(costs, answer.plot, answer.json())


class WrongElement(NamedTuple):
    """An element that differs from the reference; `got` is None where the rank holds nothing."""

    rank: int
    step: int
    element: int
    got: float | None
    expected: float


class Run(NamedTuple):
    """A program on real data, on threads of this process.

    wrong: elements that differ from the reference. time_us: mean over the timed runs of the slowest
    rank's microseconds. busbw, algbw: GB/s in the terms of nccl-tests. wrong_elements: the first.
    """

    wrong: int
    time_us: float
    algbw: float
    busbw: float
    step_times_us: tuple[float, ...]
    wrong_elements: tuple[WrongElement, ...]


def run(
    program: Program,
    *,
    bytes: int | str = "1M",
    type: Literal["float32", "float64", "int32", "bfloat16"] = "float32",
    warmup: int = 1,
    iterations: int = 5,
    force: bool = False,
    **call: Unpack[CallOptions],
) -> Run:
    """Runs a program on real data, a thread per device, and compares every element.

    `bytes` is per device. With `force` also a program that the rules refuse. Raises InputError for
    a refused program, and LimitReached.
    """
    with Sources() as sources:
        request = _core.RunRequest()
        request.files = [program.path(sources)]
        request.instance = program.spec(sources)
        request.bytes = str(bytes)
        request.type = type
        request.warmup = warmup
        request.iterations = iterations
        request.force = force
        answer = _core.run(request, options(call))
    if not answer.programs:
        verdict_of(answer)
    times = answer.programs[0]
    if times.skipped:
        raise InputError(f"the program is refused (expected force=True to run it): {times.refused}")
    if not times.sizes:
        reasons = "; ".join(each.message for each in answer.diagnostics)
        raise InputError(reasons or "the program did not run")
    size = times.sizes[0]
    return Run(
        size.wrong,
        size.total.seconds * 1e6,
        size.total.algbw,
        size.total.busbw,
        tuple(step.seconds * 1e6 for step in size.steps),
        tuple(
            WrongElement(each.rank, each.step, each.element, each.got, each.expected)
            for each in size.wrong_elements
        ),
    )


class Oracle:
    """Test vectors of a program.

    inputs, expected: rank → array of shape [elements]. index: what index.json of the folder of
    vectors says. wrong_programs: programs that must be refused, as JSON texts.
    """

    def __init__(self, files: dict[str, bytes]) -> None:
        import numpy as np

        self.index: dict[str, Any] = json.loads(files["index.json"])

        def arrays(kind: str) -> dict[int, NDArray[Any]]:
            return {
                int(each["rank"]): np.load(io.BytesIO(files[each[kind]]), allow_pickle=False)
                for each in self.index["ranks"]
            }

        self.inputs = arrays("input")
        self.expected = arrays("expected")
        self.wrong_programs = [
            files[each["file"]].decode() for each in self.index["wrong_programs"]
        ]

    def __repr__(self) -> str:
        return f"Oracle({len(self.inputs)} ranks, {len(self.wrong_programs)} wrong programs)"


def oracle(
    program: Program,
    *,
    type: Literal["float32", "float64", "int32"] = "float32",
    chunk_elements: int = 8,
    wrong_programs: int = 12,
    **call: Unpack[CallOptions],
) -> Oracle:
    """Test vectors for another implementation of the program; the same for the same `seed=`.

    Raises InputError for a program that the rules refuse or of more than 256 devices.
    """
    with Sources() as sources:
        request = _core.OracleRequest()
        request.file = program.path(sources)
        request.instance = program.spec(sources)
        request.type = type
        request.chunk_elements = chunk_elements
        request.wrong_programs = wrong_programs
        answer = _core.oracle(request, options(call))
    if answer.refused:
        raise InputError(f"the program is refused: {answer.refused}")
    return Oracle(answer.vectors)


ExportFormat = Literal["msccl", "hlo", "stablehlo", "json", "onesided", "onesided-text"]


def export(program: Program, to: ExportFormat, **call: Unpack[CallOptions]) -> str:
    """The program in another format; the text was parsed and checked again.

    Raises InputError for a program that is not valid, or that takes several texts (MSCCL has one
    per reduction class).
    """
    formats: dict[str, _core.ExportFormat] = {
        "msccl": _core.ExportFormat.msccl,
        "hlo": _core.ExportFormat.hlo,
        "stablehlo": _core.ExportFormat.stablehlo,
        "json": _core.ExportFormat.json,
        "onesided": _core.ExportFormat.onesided,
        "onesided-text": _core.ExportFormat.onesided_text,
    }
    if to not in formats:
        raise InputError(f"unknown format '{to}', expected {', '.join(formats)}")
    with Sources() as sources:
        request = _core.ExportRequest()
        request.file = program.path(sources)
        request.instance = program.spec(sources)
        request.format = formats[to]
        answer = _core.export_programs(request, options(call))
    verdict = verdict_of(answer)
    if len(answer.texts) != 1:
        raise InputError(f"the program is not valid: {verdict.reason}")
    return answer.texts[0].text


class Work(NamedTuple):
    """What a stage computes: `F0`, `B3`, `W3`; times in the unit of the request."""

    name: str
    start: int
    end: int


class Timeline:
    """A pipeline in time.

    stages: by stage, the work in order. makespan: the end of the last work. bubble_share: the idle
    share of all stages until then. peak_activations: by stage, microbatches.
    """

    def __init__(
        self,
        stages: list[list[Work]],
        makespan: int,
        bubble_share: float,
        peak_activations: list[int],
        svg: str,
    ) -> None:
        self.stages = stages
        self.makespan = makespan
        self.bubble_share = bubble_share
        self.peak_activations = peak_activations
        self._svg = svg

    def to_numpy(self) -> NDArray[np.int64]:
        """Array of shape [work, 3]: stage, start, end."""
        import numpy as np

        rows = [
            [stage, work.start, work.end]
            for stage, works in enumerate(self.stages)
            for work in works
        ]
        return np.array(rows, dtype=np.int64).reshape(len(rows), 3)

    def __repr__(self) -> str:
        return (
            f"Timeline({len(self.stages)} stages, makespan {self.makespan}, "
            f"idle {self.bubble_share:.1%}, peak activations {self.peak_activations})"
        )

    def _repr_svg_(self) -> str:
        return self._svg


def pipeline(
    schedule: Literal["gpipe", "1f1b", "eager-1f1b"] = "1f1b",
    *,
    stages: int = 4,
    microbatches: int = 8,
    forward: int = 1,
    backward: int = 2,
    weight: int = 0,
    latency: int = 0,
    link: Literal["delay", "link", "blocking"] = "delay",
    split_backward: bool = False,
    **call: Unpack[CallOptions],
) -> Timeline:
    """A pipeline schedule in time; times per microbatch in any integer unit.

    A schedule of your own, as CSV of torch.distributed.pipelining, is checked by p2.check.
    Raises InputError, LimitReached.

    >>> pipeline("1f1b", stages=2, microbatches=2).makespan
    9
    """
    schedules = {
        "gpipe": _core.PipelineSchedule.gpipe,
        "1f1b": _core.PipelineSchedule.one_forward_one_backward,
        "eager-1f1b": _core.PipelineSchedule.eager,
    }
    links = {
        "delay": _core.PipelineLink.delay,
        "link": _core.PipelineLink.link,
        "blocking": _core.PipelineLink.blocking,
    }
    if schedule not in schedules:
        raise InputError(f"unknown schedule '{schedule}', expected {', '.join(schedules)}")
    if link not in links:
        raise InputError(f"unknown link '{link}', expected {', '.join(links)}")
    request = _core.PipelineRequest()
    size = _core.PipelineSize()
    size.stages = stages
    size.microbatches = microbatches
    request.size = size
    times = _core.PipelineTimes()
    times.forward = forward
    times.backward = backward
    times.latency = latency
    times.weight = weight
    request.times = times
    request.schedule = schedules[schedule]
    request.link = links[link]
    request.split_backward = split_backward
    request.plot = True
    answer = _core.pipeline(request, options(call))
    if not answer.stages:
        verdict_of(answer)
    return Timeline(
        [[Work(each.work, each.start, each.end) for each in works] for works in answer.stages],
        answer.makespan,
        answer.bubble_share,
        answer.peak_activations,
        answer.plot,
    )


class Transfer(NamedTuple):
    """A unit task of a resharding: `size` elements from one host to several, from `start` on."""

    start: int
    size: int
    sender: int
    receivers: tuple[int, ...]


class Schedule:
    """When what is sent. Times are in elements.

    lower_bound: of all schedules, for `bound_reason`. optimal: the makespan equals it. plan: the
    text of a plan (`reshard-plan/1`) where one was asked for.
    """

    def __init__(self, answer: _core.ReshardAnswer) -> None:
        self.transfers = [
            Transfer(
                each.start,
                answer.tasks[each.task].size,
                each.sender,
                tuple(answer.tasks[each.task].receiver_hosts),
            )
            for each in answer.runs
        ]
        self.makespan = answer.makespan
        self.lower_bound = answer.lower_bound
        self.optimal = answer.optimal
        self.bound_reason = answer.bound_reason
        self.plan = answer.plan_text
        self._svg = answer.plot
        self._json = answer.json()

    def to_numpy(self) -> NDArray[np.int64]:
        """Array of shape [transfers, 3]: start, size, sender."""
        import numpy as np

        rows = [[each.start, each.size, each.sender] for each in self.transfers]
        return np.array(rows, dtype=np.int64).reshape(len(rows), 3)

    def to_json(self) -> str:
        """The JSON of `p2-verify reshard --format json`."""
        return self._json

    def __repr__(self) -> str:
        proved = "optimal" if self.optimal else f"lower bound {self.lower_bound}"
        return f"Schedule({len(self.transfers)} transfers, makespan {self.makespan}, {proved})"

    def _repr_svg_(self) -> str:
        return self._svg


def reshard(
    shape: Sequence[int],
    *,
    src: str,
    dst: str,
    strategy: Literal["exact", "naive", "load-balance", "greedy"] = "exact",
    plan: Literal["broadcast", "send-recv", "local-allgather", "global-allgather"] | None = None,
    pad: bool = False,
    certify: str | None = None,
    **call: Unpack[CallOptions],
) -> Schedule:
    """The shortest schedule of what one mesh sends to another.

    `src` and `dst` are `"2x4:S0,R"`: 2 hosts of 4 devices; per dimension R, S0, S1, S01 or S10.
    Raises InputError.

    >>> reshard((8, 8), src="2x2:S0,R", dst="2x2:R,S0").optimal
    True
    """
    strategies = {
        "exact": _core.ReshardStrategy.exact,
        "naive": _core.ReshardStrategy.naive,
        "load-balance": _core.ReshardStrategy.load_balance,
        "greedy": _core.ReshardStrategy.greedy,
    }
    plans = {
        "broadcast": _core.TransferStrategy.broadcast,
        "send-recv": _core.TransferStrategy.send_recv,
        "local-allgather": _core.TransferStrategy.local_allgather,
        "global-allgather": _core.TransferStrategy.global_allgather,
    }
    if strategy not in strategies:
        raise InputError(f"unknown strategy '{strategy}', expected {', '.join(strategies)}")
    if plan is not None and plan not in plans:
        raise InputError(f"unknown plan '{plan}', expected {', '.join(plans)}")
    request = _core.ReshardRequest()
    tensor = _core.ReshardTensor()
    tensor.shape = ",".join(str(extent) for extent in shape)
    tensor.src = src
    tensor.dst = dst
    tensor.pad = pad
    request.tensor = tensor
    request.strategy = strategies[strategy]
    request.certify = certify
    request.plot = True
    if plan is not None:
        spec = _core.ReshardPlanSpec()
        spec.strategy = plans[plan]
        request.plan = spec
    return Schedule(_core.reshard(request, options(call)))


class Strategy(NamedTuple):
    """The cheapest configurations of an operation graph.

    cost: None where nothing fits in memory. bound: of all strategies; optimal: the cost equals it.
    configurations: by vertex, in the file's order.
    """

    cost: int | None
    bound: int
    optimal: bool
    configurations: tuple[str, ...]


def parallelize(
    graph: TextOrPath,
    machine: System | None = None,
    *,
    memory_limit: int | None = None,
    engine: Literal["explicit", "z3", "cnf", "all"] = "explicit",
    certify: str | None = None,
    **call: Unpack[CallOptions],
) -> Strategy:
    """The cheapest configurations of an operation graph (docs/strategy.md), proved.

    `machine` replaces the levels of the file, `memory_limit` is in bytes per device. Raises
    InputError.
    """
    with Sources() as sources:
        request = _core.ParallelizeRequest()
        request.file = sources.path(graph, "<graph>")
        if machine is not None:
            spec = _core.InstanceSpec()
            machine.fill(spec, sources)
            if spec.system is None:
                raise InputError("the machine has no interconnects, expected System.load(…)")
            request.system = spec.system
        request.memory_limit = memory_limit
        request.engine = engine
        request.certify = certify
        answer = _core.parallelize(request, options(call))
    return Strategy(answer.cost, answer.bound, answer.optimal, tuple(answer.configurations))


__all__ = [
    "Cost",
    "Costs",
    "Oracle",
    "Run",
    "Schedule",
    "Strategy",
    "Timeline",
    "cost",
    "export",
    "oracle",
    "parallelize",
    "pipeline",
    "reshard",
    "run",
]
