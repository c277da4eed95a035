"""Random training steps, against what several processes compute of them.

Steps that the processes compute as one process does are not `invalid`, others are not `valid`.
P2_STEPS: how many steps, 6 unless told.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import torch_steps  # noqa: E402

import p2_verify as p2  # noqa: E402
from p2_verify.torch import check_module  # noqa: E402

COUNT = int(os.environ.get("P2_STEPS", "6"))
torch.set_num_threads(1)


def ask(step: torch_steps.Step) -> p2.Verdict:
    return check_module(
        step.model(),
        step.parallelize,
        *step.args,
        mesh=step.mesh,
        step=step.train,
        placements=[step.batch] * len(step.args),
        outputs=[step.result],
        ranges=step.ranges,
        timeout=60,
    )


def test_verdicts_are_what_processes_compute(tmp_path: Path) -> None:
    steps = [torch_steps.draw_step(seed) for seed in range(COUNT)]
    verdicts, false = Counter(), []
    for seed, (step, different) in enumerate(zip(steps, torch_steps.differences(steps, tmp_path), strict=True)):
        truth = "wrong" if different else "right"
        try:
            verdict = ask(step)
        except Exception as error:
            error.add_note(f"seed {seed}, {truth}: {step}")
            raise
        verdicts[truth, verdict.kind] += 1
        if verdict.kind is (p2.Kind.valid if different else p2.Kind.invalid):
            false.append((seed, step, verdict.kind.value, different, verdict.reason))
        elif verdict.kind is p2.Kind.unknown:
            print(f"seed {seed}, {truth}, unknown: {step}: {verdict.reason}")
    print(*(f"{truth}: {kind.value} {count}" for (truth, kind), count in verdicts.items()), sep="\n")
    assert not false, false
    assert 9 * verdicts["right", p2.Kind.unknown] <= verdicts["right", p2.Kind.valid], verdicts
