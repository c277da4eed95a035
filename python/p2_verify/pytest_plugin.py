"""pytest plugin: files as tests, assert_equivalent and its like, fixtures.

In pytest.ini: `p2_files = schedules/*.csv plans/*.xml` collects files, one test each; a refuted one
fails with the counterexample alone. `assert p2.check(…)` shows the counterexample too. An undecided
verdict fails, unless --p2-allow-unknown.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .plans import Oracle
    from .program import Program
    from .verdict import Verdict


class Refuted(AssertionError):
    """Carries a verdict that is not valid; its text is all that a failure prints."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("p2-verify")
    group.addoption(
        "--p2-allow-unknown",
        action="store_true",
        default=False,
        help="undecided verdicts of p2-verify skip their test instead of failing it",
    )
    group.addoption(
        "--p2-timeout", type=float, default=60.0, help="seconds for each check of p2-verify"
    )
    parser.addini(
        "p2_files",
        "patterns of files that p2-verify checks: .p2, .p2c, .hlo, .mlir, .xml, .csv, plans",
        type="args",
        default=[],
    )


def judge(verdict: Verdict, config: pytest.Config) -> None:
    """Fails the test with the counterexample, or skips it where undecided verdicts may be."""
    from .verdict import Kind

    if verdict.kind is Kind.valid:
        return
    if verdict.kind is Kind.unknown and config.getoption("--p2-allow-unknown"):
        pytest.skip(f"undecided: {verdict.reason}")
    raise Refuted(str(verdict))


class P2Item(pytest.Item):
    """The check of one file."""

    def runtest(self) -> None:
        from . import check

        timeout = self.config.getoption("--p2-timeout")
        judge(check(self.path, timeout=timeout), self.config)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from .errors import InputError

        if isinstance(excinfo.value, (Refuted, InputError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, 0, f"p2-verify: {self.name}"


class P2File(pytest.File):
    """A file that is one test."""

    def collect(self) -> Iterator[pytest.Item]:
        yield P2Item.from_parent(self, name="check")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    try:
        relative = file_path.relative_to(parent.config.rootpath).as_posix()
    except ValueError:
        relative = file_path.as_posix()
    for pattern in parent.config.getini("p2_files"):
        if fnmatch.fnmatch(relative, pattern) or fnmatch.fnmatch(file_path.name, pattern):
            return P2File.from_parent(parent, path=file_path)
    return None


def pytest_assertrepr_compare(
    config: pytest.Config, op: str, left: object, right: object
) -> list[str] | None:
    from .verdict import Kind, Verdict

    if isinstance(left, Verdict) and isinstance(right, (Kind, bool)):
        return [f"{left.kind} {op} {right}", *str(left).splitlines()]
    return None


def assert_equivalent(
    before: Any, after: Any, *args: Any, config: pytest.Config | None = None, **options: Any
) -> None:
    """Fails with the counterexample unless `after` computes what `before` does.

    Takes what p2.check_equal takes. An undecided comparison fails too.
    """
    __tracebackhide__ = True
    from . import check_equal
    from .verdict import Kind

    verdict = check_equal(before, after, *args, **options)
    if config is not None:
        judge(verdict, config)
    elif verdict.kind is not Kind.valid:
        raise Refuted(str(verdict))


class P2:
    """The fixture `p2`: the package, with checks that fail the test."""

    def __init__(self, config: pytest.Config, module: ModuleType) -> None:
        self._config = config
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def assert_valid(self, subject: Any, *args: Any, **options: Any) -> None:
        """Fails with the counterexample unless p2.check(subject, …) is valid."""
        __tracebackhide__ = True
        judge(self._module.check(subject, *args, **options), self._config)

    def assert_equivalent(self, before: Any, after: Any, *args: Any, **options: Any) -> None:
        """Fails with the counterexample unless `after` computes what `before` does."""
        __tracebackhide__ = True
        assert_equivalent(before, after, *args, config=self._config, **options)

    def assert_step(self, fn: Any, reference: Any, *args: Any, **options: Any) -> None:
        """Fails with the counterexample unless p2.torch.check_step(fn, reference, …) is valid."""
        __tracebackhide__ = True
        judge(self._module.torch.check_step(fn, reference, *args, **options), self._config)

    def assert_module(self, model: Any, parallelize: Any, *args: Any, **options: Any) -> None:
        """Fails with the counterexample unless p2.torch.check_module(model, parallelize, …) is valid."""
        __tracebackhide__ = True
        judge(self._module.torch.check_module(model, parallelize, *args, **options), self._config)

    def oracle(self, program: Program | str, **options: Any) -> Oracle:
        """Test vectors of a program, given as one or as its text."""
        if isinstance(program, str):
            program = self._module.Program.parse(program)
        found: Oracle = self._module.oracle(program, **options)
        return found


@pytest.fixture
def p2(request: pytest.FixtureRequest) -> P2:
    """The package p2_verify with assert_valid, assert_equivalent, assert_step, assert_module and oracle."""
    import p2_verify

    return P2(request.config, p2_verify)
