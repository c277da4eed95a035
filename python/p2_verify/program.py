"""Reduction programs: reading, synthesis, states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, Unpack, overload

from . import _core
from ._call import CallOptions, Sources, TextOrPath, options
from .errors import InputError
from .system import Placement
from .verdict import Kind, Verdict, verdict_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Engine = Literal["explicit", "z3", "cnf", "all"]


class Program:
    """A reduction program: steps of collectives on groups of devices.

    Made by parse(), load() and synthesize(). `text` is the program in the notation of
    docs/languages.md; `placement`, where given, is what it leaves out.
    """

    def __init__(
        self,
        source: TextOrPath,
        *,
        placement: Placement | None = None,
        reduce: Sequence[str | int] | None = None,
        hierarchy: str | None = None,
        dialect: str | None = None,
        collectives: Sequence[TextOrPath] = (),
        goal: TextOrPath | None = None,
    ) -> None:
        self.source = source
        self.placement = placement
        self.reduce = tuple(reduce) if reduce is not None else None
        self._hierarchy = hierarchy
        self._dialect = dialect
        self._collectives = tuple(collectives)
        self._goal = goal

    @classmethod
    def parse(
        cls,
        text: str,
        *,
        placement: Placement | None = None,
        reduce: Sequence[str | int] | None = None,
        dialect: str | None = None,
    ) -> Program:
        """A program from its text (`.p2` notation or JSON).

        `placement` and `reduce` complete what the text leaves out. Raises InputError with line and
        column.

        >>> Program.parse("devices 2\\nAllReduce{0,1}").steps
        ['AllReduce{0,1}']
        """
        program = cls(text, placement=placement, reduce=reduce, dialect=dialect)
        program._states()
        return program

    @classmethod
    def load(
        cls,
        path: TextOrPath,
        *,
        placement: Placement | None = None,
        reduce: Sequence[str | int] | None = None,
        dialect: str | None = None,
    ) -> Program:
        """A program from a file. Raises InputError with file, line and column."""
        program = cls(path, placement=placement, reduce=reduce, dialect=dialect)
        program._states()
        return program

    @property
    def text(self) -> str:
        """The program in one line."""
        return "; ".join(self.steps) or "skip"

    @property
    def steps(self) -> list[str]:
        """The steps, each in the notation of programs."""
        return list(self._states().steps)

    @property
    def devices(self) -> int:
        """The number of devices."""
        return self._states().devices

    def states(self) -> NDArray[np.bool_]:
        """What every device holds, a bool array of shape [state, device, chunk, contributor].

        State 0 is the one before the first step; there is one after every legal step. An entry is
        true where the device's chunk contains the contribution of the contributor.

        >>> Program.parse("devices 2\\nAllReduce{0,1}").states()[:, 0, 0].tolist()
        [[True, False], [True, True]]
        """
        return self._states().held()

    def check(self, engine: Engine = "explicit", **call: Unpack[CallOptions]) -> Verdict:
        """Whether the program is valid: as p2.check(program)."""
        with Sources() as sources:
            request = _core.CheckRequest()
            request.files = [self.path(sources)]
            request.instance = self.spec(sources)
            request.engine = engine
            return verdict_of(_core.check(request, options(call)))

    def path(self, sources: Sources) -> str:
        """Where the library reads the program."""
        return sources.path(self.source, "<program>")

    def spec(self, sources: Sources) -> _core.InstanceSpec:
        """What the text leaves out, in the form of the extension."""
        spec = _core.InstanceSpec()
        if self.placement is not None:
            self.placement.fill(spec, sources)
        if self.reduce is not None:
            spec.reduce = ",".join(str(axis) for axis in self.reduce)
        spec.synthesis_hierarchy = self._hierarchy
        spec.dialect = self._dialect
        spec.collectives = [sources.path(each, "<collective>.p2c") for each in self._collectives]
        spec.goal = goal_text(self._goal, sources)
        return spec

    def _states(self) -> _core.StatesAnswer:
        with Sources() as sources:
            request = _core.StatesRequest()
            request.file = self.path(sources)
            request.instance = self.spec(sources)
            return _core.program_states(request, options({}))

    def __repr__(self) -> str:
        return f"Program({self.text!r})"

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from ._display import states_html

        answer = self._states()
        return states_html(answer.held(), answer.steps)


def goal_text(goal: TextOrPath | None, sources: Sources) -> str | None:
    """A goal: the name of one, or a definition."""
    if isinstance(goal, str) and not goal.lstrip().startswith("collective"):
        return goal
    return None if goal is None else sources.path(goal, "<goal>.p2c")


class Programs(Sequence[Program]):
    """The valid programs of a placement, by number of steps.

    `complete`: all programs up to `settled_size` steps are there and every engine asked confirms
    it; `size` was asked for. `verdict` says what each engine found.
    """

    def __init__(
        self,
        programs: Sequence[Program],
        texts: Sequence[str],
        complete: bool,
        settled_size: int,
        verdict: Verdict,
    ) -> None:
        self._programs = programs
        self.texts = list(texts)
        self.complete = complete
        self.settled_size = settled_size
        self.verdict = verdict

    @overload
    def __getitem__(self, index: int) -> Program: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Program]: ...
    def __getitem__(self, index: int | slice) -> Program | Sequence[Program]:
        return self._programs[index]

    def __len__(self) -> int:
        return len(self._programs)

    def __iter__(self) -> Iterator[Program]:
        return iter(self._programs)

    def __repr__(self) -> str:
        return f"Programs({len(self)}, {'complete' if self.complete else 'incomplete'} up to size {self.settled_size})"


def synthesize(
    placement: Placement,
    *,
    reduce: Sequence[str | int],
    size: int = 5,
    hierarchy: str = "collapsed",
    dialect: str = "published",
    engine: Engine = "explicit",
    goal: TextOrPath = "allreduce",
    collectives: Sequence[TextOrPath] = (),
    certify: str | None = None,
    **call: Unpack[CallOptions],
) -> Programs:
    """All valid programs of at most `size` steps (0 to 32) that reduce over the axes `reduce`.

    A limit makes the list incomplete (`.complete`, `.settled_size`). `certify` is a folder for a
    certificate that the list is complete. Raises InputError, and DisagreementError where engines
    differ.

    >>> from p2_verify import Placement, System
    >>> system = System({"node": 2, "gpu": 2})
    >>> placement = Placement(system, {"data": 4}, [[2, 2]])
    >>> found = synthesize(placement, reduce=["data"], size=2)
    >>> found.complete, found[0].text
    (True, 'AllReduce(root, InsideGroup)')
    """
    with Sources() as sources:
        request = _core.SynthesizeRequest()
        spec = _core.InstanceSpec()
        placement.fill(spec, sources)
        spec.reduce = ",".join(str(axis) for axis in reduce)
        spec.synthesis_hierarchy = hierarchy
        spec.dialect = dialect
        spec.collectives = [sources.path(each, "<collective>.p2c") for each in collectives]
        spec.goal = goal_text(goal, sources)
        request.instance = spec
        request.size = size
        request.engine = engine
        request.certify = certify
        request.text = False
        request.json = False
        answer = _core.synthesize(request, options(call))
    verdict = verdict_of(answer)
    if not answer.placements:
        raise InputError(verdict.reason or "the terms are not known to be sound")
    found = answer.placements[0]
    programs = [
        Program(
            text,
            placement=placement,
            reduce=reduce,
            hierarchy=hierarchy,
            dialect=dialect,
            collectives=collectives,
            goal=goal,
        )
        for text in found.programs
    ]
    complete = answer.complete and verdict.kind is Kind.valid
    return Programs(programs, found.programs, complete, found.settled_size, verdict)


__all__ = ["Program", "Programs", "synthesize"]
