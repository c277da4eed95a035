"""Answers to questions of right or wrong."""

from __future__ import annotations

import enum
import html
import json
from collections.abc import Mapping
from typing import Any

from . import _core
from .errors import DisagreementError, InputError, ToolError, UndecidedError


class Kind(str, enum.Enum):
    """How a question is answered."""

    valid = "valid"
    invalid = "invalid"
    unknown = "unknown"

    def __str__(self) -> str:
        return self.value


class Counterexample:
    """Evidence that something does not hold.

    `rule` is a stable name, `explanation` one paragraph, `file`, `line` and `column` where the
    mistake is (line 0: in no single place), `facts` the devices, element and values in question by
    name, `drawing` a text with line breaks, `source` the user's own lines (`model.py:14`), nearest
    first, where the module names them.
    """

    def __init__(self, inner: _core.Counterexample, source: tuple[str, ...] = ()) -> None:
        self.rule = inner.rule
        self.explanation = inner.explanation
        self.file = inner.file
        self.line = inner.line
        self.column = inner.column
        self.drawing = inner.drawing
        self.facts: Mapping[str, Any] = json.loads(inner.facts_json) or {}
        self.source = source

    def __repr__(self) -> str:
        return f"Counterexample({self.rule}: {self.explanation})"

    def __str__(self) -> str:
        lines = [self.explanation]
        lines += [f"  at {each}" for each in self.source]
        if self.drawing:
            lines.append(self.drawing.rstrip("\n"))
        return "\n".join(lines)


class Verdict:
    """The answer to a question of right or wrong.

    `bool(verdict)` is true for valid, false for invalid, and raises UndecidedError for unknown, so
    that `assert p2.check(f)` never passes undecided.

    kind: Kind. subject: what was checked. rule: the stable name of the broken rule, or None.
    reason: one paragraph, None if valid. counterexample: Counterexample or None. engines: what
    each engine says, by name. assumed: what was not looked into (operations that were compared as
    functions of their operands, constants without elements, those read as what was rounded to
    them). certificate: a folder that p2-check accepts, or None. model: over which model, e.g. real
    numbers.
    """

    def __init__(
        self,
        kind: Kind,
        *,
        subject: str = "",
        reason: str | None = None,
        counterexample: Counterexample | None = None,
        engines: Mapping[str, str] | None = None,
        assumed: tuple[str, ...] = (),
        certificate: str | None = None,
        model: str = "",
        json_text: str | None = None,
        text: str = "",
        parts: tuple[Verdict, ...] = (),
    ) -> None:
        self.kind = kind
        self.subject = subject
        self.reason = reason
        self.counterexample = counterexample
        self.engines: Mapping[str, str] = dict(engines or {})
        self.assumed = assumed
        self.certificate = certificate
        self.model = model
        self.parts = parts  #: of a check of several things, one verdict for each
        self._json = json_text
        self._text = text

    @property
    def rule(self) -> str | None:
        """The stable name of the broken rule; None unless invalid."""
        return self.counterexample.rule if self.counterexample else None

    def to_json(self) -> str:
        """The JSON of `p2-verify check --format json`."""
        if self._json is not None:
            return self._json
        return json.dumps(
            {"verdict": str(self.kind), "rule": self.rule, "reason": self.reason}, indent=None
        )

    def __bool__(self) -> bool:
        if self.kind is Kind.unknown:
            raise UndecidedError(
                f"{self.subject or 'the question'} is undecided: {self.reason or 'no reason given'}"
                " (look at .kind, or give it more time)"
            )
        return self.kind is Kind.valid

    def __repr__(self) -> str:
        parts = [str(self.kind)]
        if self.rule:
            parts.append(self.rule)
        if self.reason:
            parts.append(" ".join(self.reason.split()))
        source = self.counterexample.source if self.counterexample else ()
        where = f" (at {source[0]})" if source else ""
        return f"Verdict({': '.join(parts)}{where})"

    def __str__(self) -> str:
        lines = [self._text.rstrip("\n") or repr(self)]
        if self.counterexample:
            lines += [f"  at {each}" for each in self.counterexample.source]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        colour = {Kind.valid: "#1a7f37", Kind.invalid: "#cf222e", Kind.unknown: "#9a6700"}[self.kind]
        parts = [
            f'<div><b style="color:{colour}">{self.kind}</b> '
            f"{html.escape(self.subject)} {html.escape(self.rule or '')}"
        ]
        if self.reason:
            parts.append(f"<p>{html.escape(self.reason)}</p>")
        if self.counterexample:
            for each in self.counterexample.source:
                parts.append(f"<div><code>{html.escape(each)}</code></div>")
            if self.counterexample.drawing:
                parts.append(f"<pre>{html.escape(self.counterexample.drawing)}</pre>")
        if self.assumed:
            parts.append(f"<p>assumed: {html.escape(', '.join(self.assumed))}</p>")
        return "".join(parts) + "</div>"


def reason_of(result: _core.Result) -> str | None:
    """Why a result is not established."""
    if result.counterexample:
        return result.counterexample.explanation
    return result.undecided


def verdict_of(answer: _core.Answer, facts: str | None = None) -> Verdict:
    """The verdict of an answer about one subject. Raises what kept it from being given."""
    text = facts if facts is not None else answer.json()
    document: dict[str, Any] = json.loads(text) or {}
    for diagnostic in answer.diagnostics:
        if diagnostic.kind == _core.DiagnosticKind.BadInput:
            raise input_error(answer, diagnostic.message)
        if diagnostic.kind == _core.DiagnosticKind.ToolFailure:
            raise ToolError(diagnostic.message)
    if not answer.results:
        reasons = [each.message for each in answer.diagnostics]
        return Verdict(
            Kind.unknown, reason="; ".join(reasons) or None, json_text=text, text="\n".join(reasons)
        )
    found = document.get("results") or [{}]
    return verdict_of_result(answer.results[0], found[0], text, answer.text())


def verdict_of_result(
    result: _core.Result, entry: Mapping[str, Any], json_text: str, text: str
) -> Verdict:
    """The verdict of one result; `entry` is what the document says of it."""
    engines = {each.engine: each.outcome for each in result.engines}
    if result.outcome == "disagreement":
        raise DisagreementError(
            f"{result.subject}: the engines disagree, please report", engines, json_text
        )
    counterexample = None
    if result.counterexample:
        # Of several programs, the instruction at which they part ways alone has the user's line.
        source = entry.get("source") or (entry.get("explanation") or {}).get("source") or ()
        counterexample = Counterexample(result.counterexample, tuple(source))
    return Verdict(
        Kind(result.outcome),
        subject=result.subject,
        reason=reason_of(result),
        counterexample=counterexample,
        engines=engines,
        assumed=(
            *entry.get("uninterpreted", ()),
            *entry.get("assumed", ()),
            *(f"constant {each}" for each in entry.get("read_as", ())),
            *(f"{each} is finite" for each in entry.get("finite", ())),
        ),
        certificate=result.certificate,
        model=result.model,
        json_text=json_text,
        text=text,
    )


def input_error(answer: _core.Answer, message: str) -> InputError:
    """The error of a file that could not be read, with the position that its report has."""
    for report in answer.reports:
        for each in report.properties:
            if each.message and message.endswith(each.message):
                _, _, expected = each.message.partition("expected ")
                return InputError(
                    message, report.file, each.line, each.column, each.message, expected
                )
    return InputError(message)


def verdicts_of(answer: _core.Answer) -> Verdict:
    """One verdict of an answer about several subjects: the worst, with all of them as `parts`."""
    first = verdict_of(answer)
    entries = (json.loads(answer.json()) or {}).get("results", [])
    parts = tuple(
        verdict_of_result(result, entry, json.dumps(entry), "")
        for result, entry in zip(answer.results, entries, strict=True)
    )
    worst = first
    for kind in (Kind.unknown, Kind.invalid):
        worst = next((each for each in parts if each.kind is kind), worst)
    return Verdict(
        worst.kind,
        subject=worst.subject,
        reason=worst.reason,
        counterexample=worst.counterexample,
        engines=worst.engines,
        assumed=tuple(dict.fromkeys(each for part in parts for each in part.assumed)),
        json_text=answer.json(),
        text=answer.text(),
        parts=parts,
    )
