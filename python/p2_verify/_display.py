"""Device states as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: More devices are not drawn one by one.
MAX_DRAWN_DEVICES = 8
CELL = 8


def states_svg(held: NDArray[np.bool_]) -> str:
    """The state of every device: a matrix each, rows chunks, columns contributors."""
    devices, chunks, contributors = held.shape
    width = devices * (contributors * CELL + CELL)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{chunks * CELL + 2}">'
    ]
    for device in range(devices):
        left = device * (contributors * CELL + CELL)
        for chunk in range(chunks):
            for contributor in range(contributors):
                fill = "#2f6fb0" if held[device, chunk, contributor] else "#eeeeee"
                parts.append(
                    f'<rect x="{left + contributor * CELL}" y="{chunk * CELL}" '
                    f'width="{CELL - 1}" height="{CELL - 1}" fill="{fill}"/>'
                )
    return "".join(parts) + "</svg>"


def states_html(held: NDArray[np.bool_], steps: Sequence[str]) -> str:
    """All states of a program, with the steps between them."""
    names = ["before the first step", *steps]
    parts = []
    for name, state in zip(names, held, strict=False):
        parts.append(f"<div><code>{html.escape(name)}</code></div>")
        if held.shape[1] <= MAX_DRAWN_DEVICES:
            parts.append(states_svg(state))
    if held.shape[1] > MAX_DRAWN_DEVICES:
        parts.append(f"<div>{held.shape[1]} devices, not drawn</div>")
    return "<div>" + "".join(parts) + "</div>"
