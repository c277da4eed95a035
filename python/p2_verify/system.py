"""Systems and the placements of parallelism axes on them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Unpack



from . import _core
from ._call import CallOptions, Sources, TextOrPath, options

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class System:
    """A hierarchy of devices, outermost level first, with or without interconnects.

    >>> System({"node": 2, "gpu": 4})
    System(node=2, gpu=4)
    >>> System({"node": 2, "gpu": 4}).devices
    8
    """

    def __init__(self, levels: Mapping[str, int] | Sequence[int]) -> None:
        if isinstance(levels, Mapping):
            self._hierarchy: str | None = ",".join(f"{name}={size}" for name, size in levels.items())
            self.levels = dict(levels)
        else:
            self._hierarchy = ",".join(str(size) for size in levels)
            self.levels = {str(number): size for number, size in enumerate(levels)}
        self._source: str | None = None
        self.name = "system"

    @classmethod
    def load(cls, path: TextOrPath) -> System:
        """Reads a system file (docs/languages.md), or its text: with interconnects.

        Raises InputError where it is none.
        """
        with Sources() as sources:
            info = _core.read_system_file(sources.path(path, "<system>"))
        system = cls({each.name: each.size for each in info.levels})
        system._hierarchy = None
        system._source = info.text
        system.name = info.name
        return system

    @property
    def devices(self) -> int:
        """The number of devices."""
        count = 1
        for size in self.levels.values():
            count *= size
        return count

    def fill(self, spec: _core.InstanceSpec, sources: Sources) -> None:
        """Writes the system into an instance."""
        if self._source is not None:
            spec.system = sources.path(self._source, "<system>")
        else:
            spec.hierarchy = self._hierarchy

    def __repr__(self) -> str:
        return f"System({', '.join(f'{name}={size}' for name, size in self.levels.items())})"


def axes_text(axes: Mapping[str, int] | Sequence[int]) -> str:
    """Axes in the notation of the command line."""
    if isinstance(axes, Mapping):
        return ",".join(f"{name}={size}" for name, size in axes.items())
    return ",".join(str(size) for size in axes)


class Placement:
    """A parallelism matrix: a row per axis, a column per level of the system.

    Entry (i, j) is the number of parts into which level j cuts axis i.
    """

    def __init__(
        self,
        system: System,
        axes: Mapping[str, int] | Sequence[int],
        matrix: Sequence[Sequence[int]],
    ) -> None:
        self.system = system
        self.axes = axes
        self.rows = [list(row) for row in matrix]

    @property
    def matrix(self) -> NDArray[np.int64]:
        """The matrix as an array of shape [axes, levels]."""
        import numpy as np

        return np.array(self.rows, dtype=np.int64)

    def fill(self, spec: _core.InstanceSpec, sources: Sources) -> None:
        """Writes system, axes and placement into an instance."""
        self.system.fill(spec, sources)
        spec.axes = axes_text(self.axes)
        spec.placement = json.dumps(self.rows, separators=(",", ":"))

    def text(self) -> str:
        """The matrix and, for up to 64 devices, which device holds which part of every axis."""
        with Sources() as sources:
            request = _core.PlaceRequest()
            spec = _core.InstanceSpec()
            self.fill(spec, sources)
            request.instance = spec
            return _core.place(request, options({})).text()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Placement)
            and self.rows == other.rows
            and self.axes == other.axes
            and self.system.levels == other.system.levels
        )

    def __hash__(self) -> int:
        return hash(tuple(map(tuple, self.rows)))

    def __repr__(self) -> str:
        return f"Placement({self.system!r}, axes {axes_text(self.axes)}, {self.rows})"

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(self.text())}</pre>"


def placements(
    system: System,
    axes: Mapping[str, int] | Sequence[int],
    **call: Unpack[CallOptions],
) -> list[Placement]:
    """All placements of `axes` on `system`, in ascending lexicographic order of their rows.

    Raises InputError where the sizes of the axes do not multiply to the number of devices.

    >>> [each.rows for each in placements(System({"node": 2, "gpu": 2}), {"data": 2, "model": 2})]
    [[[1, 2], [2, 1]], [[2, 1], [1, 2]]]
    """
    with Sources() as sources:
        request = _core.PlaceRequest()
        spec = _core.InstanceSpec()
        system.fill(spec, sources)
        spec.axes = axes_text(axes)
        request.instance = spec
        request.max_drawn = 0
        answer = _core.place(request, options(call))
    return [Placement(system, axes, matrix) for matrix in answer.placements]
