"""What single operations mean, against XLA's own execution of them.

An operation on constants and a module of XLA's results are equal; with one element of the results changed, they
are not. The engines may leave either open, and must not say the opposite, in HLO and in StableHLO. Neither may the
checker: it is asked the same in certificates that claim it, right and wrong.
P2_EXECUTIONS: how many operations, 150 unless told.
"""

import hashlib
import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")
jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402
import xla_operations as xla  # noqa: E402

import p2_verify as p2  # noqa: E402

COUNT = int(os.environ.get("P2_EXECUTIONS", "150"))
ENGINES = ["symbolic", "interpreter", "z3", "all"]


class Sample:
    """An operation, what XLA computes, and that with one change."""

    def __init__(self, seed: int) -> None:
        draw = xla.Draw(seed)
        self.operation = xla.FAMILIES[seed % len(xla.FAMILIES)](draw)
        self.dialect = draw.choice(["hlo", "stablehlo"])
        self.engine = draw.choice(ENGINES)
        operands = self.operation.operands
        results = jax.tree.leaves(jax.jit(self.operation.function)(*operands))
        self.results = [np.asarray(each) for each in results]
        self.whole = all(each.dtype.kind in "iub" for each in [*operands, *self.results])
        # Operands as arrays of JAX, lest numpy computes what it can by itself.
        self.text = xla.text(
            lambda: jax.tree.leaves(self.operation.function(*map(jax.numpy.asarray, operands))), self.dialect
        )
        self.right = self.constants(self.results)
        self.changed = xla.with_one_change(draw, self.results)
        self.wrong = self.constants(self.changed[0]) if self.changed else None

    def constants(self, values: list[np.ndarray]) -> str:
        return xla.text(lambda: [jax.numpy.asarray(each) for each in values], self.dialect)

    def problem(self, after: str) -> dict[str, object]:
        return {"before": self.text, "after": after, "replicas": 1, "partitions": 1, "relation": {"kind": "devices"}}


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    return [Sample(seed) for seed in range(COUNT)]


def test_the_engines_know_what_xla_computes(samples: list[Sample]) -> None:
    verdicts = Counter()
    for seed, sample in enumerate(samples):

        def kind(after: str) -> str:
            return p2.check_equal(sample.text, after, engine=sample.engine).kind

        right = kind(sample.right)
        assert right in ("valid", "unknown"), (seed, sample.operation.name, sample.engine, sample.text, sample.right)
        verdicts[sample.engine, "right", right] += 1
        if sample.wrong is not None:
            wrong = kind(sample.wrong)
            assert wrong in ("invalid", "unknown"), (
                seed,
                sample.operation.name,
                sample.engine,
                sample.text,
                sample.wrong,
            )
            verdicts[sample.engine, "wrong", wrong] += 1
    print(
        *(f"{engine}, {result}: {verdict.value} {count}" for (engine, result, verdict), count in verdicts.items()),
        sep="\n",
    )
    for engine in ("interpreter", "z3", "all"):
        assert verdicts[engine, "right", "valid"] > 3 * verdicts[engine, "right", "unknown"], verdicts
        assert verdicts[engine, "wrong", "invalid"] > 3 * verdicts[engine, "wrong", "unknown"], verdicts


def seal(folder: Path, claim: str, files: dict[str, object]) -> None:
    folder.mkdir()
    texts = {name: json.dumps(value).encode() for name, value in files.items()}
    manifest = {
        "schema": "p2-certificate/1",
        "claim": claim,
        "tools": {},
        "options": {},
        "seed": 1,
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in texts.items()},
        "seal": "0" * 64,
    }
    zeroed = json.dumps(manifest)
    texts["manifest.json"] = zeroed.replace("0" * 64, hashlib.sha256(zeroed.encode()).hexdigest()).encode()
    for name, data in texts.items():
        (folder / name).write_bytes(data)


def test_the_checker_knows_what_xla_computes(samples: list[Sample], tmp_path: Path) -> None:
    folders = []
    for seed, sample in enumerate(samples):
        if sample.dialect != "hlo" or not sample.changed:
            continue
        _, output, index = sample.changed
        run = {"device": 0, "draw": 0, "index": index, "output": output, "seed": 1}
        claims = {
            "equal-right": ("modules-equal", {"problem.json": sample.problem(sample.right)}),
            "equal-wrong": ("modules-equal", {"problem.json": sample.problem(sample.wrong)}),
            "different-wrong": ("modules-different", {"problem.json": sample.problem(sample.wrong), "run.json": run}),
        }
        if sample.whole:  # rounding is a difference of real numbers
            claims["different-right"] = (
                "modules-different",
                {"problem.json": sample.problem(sample.right), "run.json": run},
            )
        for name, (claim, files) in claims.items():
            folders.append(f"{seed}-{name}")
            seal(tmp_path / folders[-1], claim, files)
    checker = Path(os.environ["P2_VERIFY"]).with_name("p2-check")
    verdicts = Counter()
    for first in range(0, len(folders), 100):
        checked = subprocess.run([checker, *folders[first : first + 100]], cwd=tmp_path, capture_output=True, text=True)
        for line in checked.stdout.splitlines():
            folder, verdict, *_ = line.split(": ")
            seed, name = folder.split("-", 1)
            verdicts[name, verdict] += 1
            true = name in ("equal-right", "different-wrong")
            assert true or verdict != "accepted", (line, samples[int(seed)].text)
    print(*(f"{name}: {verdict} {count}" for (name, verdict), count in verdicts.items()), sep="\n")
    assert sum(verdicts.values()) == len(folders)
    assert verdicts["equal-right", "accepted"] > 5 * verdicts["equal-right", "incomplete"], verdicts
