"""Verification and synthesis of communication strategies for distributed deep learning.

    import p2_verify as p2

    p2.check(jax.jit(f, in_shardings=…), *args)      # is the partitioned program the program?
    p2.check(pathlib.Path("allreduce.xml"))          # MSCCL, programs, plans, schedules, modules
    p2.check_equal(reference, sharded, *args)        # do two functions compute the same?

A `str` is a text, an `os.PathLike` a file. Verdicts are objects: refuted is an answer, and
`assert verdict` never passes undecided. Every call takes timeout= (seconds), memory= (bytes),
rlimit=, jobs=, seed= and progress= (a callable).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import _core, flight
from .checking import (
    CertificateVerdict,
    ClaimResult,
    Definition,
    check,
    check_certificate,
    check_equal,
    check_passes,
    check_reduces,
    claims,
    define,
    prove,
)
from .errors import (
    DisagreementError,
    InputError,
    InternalError,
    LimitReached,
    ToolError,
    UndecidedError,
)
from .plans import (
    Cost,
    Costs,
    Oracle,
    Run,
    Schedule,
    Strategy,
    Timeline,
    cost,
    export,
    oracle,
    parallelize,
    pipeline,
    reshard,
    run,
)
from .program import Program, Programs, synthesize
from .system import Placement, System, placements
from .verdict import Counterexample, Kind, Verdict

if TYPE_CHECKING:
    from . import torch as torch

__version__: str = _core.version()


def __getattr__(name: str) -> Any:
    if name == "torch":  # imported on use: it takes seconds
        return importlib.import_module(".torch", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


__all__ = [
    "CertificateVerdict",
    "ClaimResult",
    "Cost",
    "Costs",
    "Counterexample",
    "Definition",
    "DisagreementError",
    "InputError",
    "InternalError",
    "Kind",
    "LimitReached",
    "Oracle",
    "Placement",
    "Program",
    "Programs",
    "Run",
    "Schedule",
    "Strategy",
    "System",
    "Timeline",
    "ToolError",
    "UndecidedError",
    "Verdict",
    "check",
    "check_certificate",
    "check_equal",
    "check_passes",
    "check_reduces",
    "claims",
    "cost",
    "define",
    "export",
    "flight",
    "oracle",
    "parallelize",
    "pipeline",
    "placements",
    "prove",
    "reshard",
    "run",
    "synthesize",
]
