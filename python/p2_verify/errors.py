"""What the package raises. A refutation is an answer, not an error."""

from __future__ import annotations


class InputError(ValueError):
    """A mistake in the input.

    `file`, `line` and `column` say where (line 0: the whole file; a text is called `<program>`,
    `<before>`, …), `message` what, and `expected` what would be right.
    """

    def __init__(
        self,
        text: str,
        file: str = "",
        line: int = 0,
        column: int = 0,
        message: str = "",
        expected: str = "",
    ) -> None:
        super().__init__(text)
        self.file = file
        self.line = line
        self.column = column
        self.message = message or text
        self.expected = expected


class LimitReached(RuntimeError):
    """A limit was reached before anything was settled. Calls that return a Verdict return an
    unknown one instead."""


class UndecidedError(RuntimeError):
    """An undecided verdict was used as a truth value."""


class ToolError(RuntimeError):
    """A library, program or device that p2 uses failed."""


class InternalError(ToolError):
    """A bug in p2. No result computed after it can be trusted."""


class DisagreementError(RuntimeError):
    """Two engines decided differently: a bug in p2.

    `answers` is what each engine says, `reproducer` a JSON text with the question.
    """

    def __init__(self, text: str, answers: dict[str, str], reproducer: str) -> None:
        super().__init__(text)
        self.answers = answers
        self.reproducer = reproducer
