"""Random single operations of XLA with concrete operands, as JAX functions.

Every family covers an operation with all its attributes. Operands are small numbers and the limits of their
types; results are exact in the types they have, so that XLA's own execution of them is the truth. What XLA
leaves to the implementation is avoided: division of integers by 0, overflow of a quotient, initial values
that are not neutral.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

SIGNED = [np.int8, np.int16, np.int32, np.int64]
UNSIGNED = [np.uint8, np.uint16, np.uint32, np.uint64]
INTEGERS = SIGNED + UNSIGNED
FLOATS = [np.float32, np.float64, jnp.bfloat16, np.float16]
SPECIAL = [
    float("nan"),
    float("inf"),
    -float("inf"),
    -0.0,
    0.0,
    1e10,
    -1e10,
    300.0,
    -300.0,
    70000.0,
    5e9,
    -5e9,
    1e19,
    -1e19,
]


@dataclass
class Operation:
    name: str
    function: Callable[..., Any]
    operands: list[np.ndarray]


class Draw(random.Random):
    """Shapes and operands."""

    def shape(self, most: int = 3, size: int = 4, least: int = 0) -> tuple[int, ...]:
        return tuple(self.randint(1, size) for _ in range(self.randint(least, most)))

    def array(self, one: Callable[[], Any], shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        values = [one() for _ in range(int(np.prod(shape)))]
        return np.array(values, dtype=object).reshape(shape).astype(dtype)

    def integers(
        self, dtype: Any, shape: tuple[int, ...], low: int | None = None, high: int | None = None
    ) -> np.ndarray:
        limits = jnp.iinfo(dtype)
        first = max(int(limits.min), low) if low is not None else int(limits.min)
        last = min(int(limits.max), high) if high is not None else int(limits.max)

        def one() -> int:
            kind = self.random()
            if kind < 0.3:
                return first if kind < 0.15 else last
            return max(first, min(last, self.randint(-5, 5))) if kind < 0.7 else self.randint(first, last)

        return self.array(one, shape, dtype)

    def floats(self, dtype: Any, shape: tuple[int, ...], special: bool = False, fractions: bool = True) -> np.ndarray:
        def one() -> float:
            if special and self.random() < 0.25:
                return self.choice(SPECIAL)
            return self.randint(-8, 8) / (self.choice([1, 2, 4]) if fractions else 1)

        return self.array(one, shape, dtype)

    def booleans(self, shape: tuple[int, ...]) -> np.ndarray:
        return self.array(lambda: self.random() < 0.5, shape, np.bool_)

    def numbers(self, dtype: Any, shape: tuple[int, ...], **limits: Any) -> np.ndarray:
        """Small ones, without fractions."""
        whole = jnp.issubdtype(dtype, jnp.integer)
        return self.integers(dtype, shape, -4, 4) if whole else self.floats(dtype, shape, fractions=False, **limits)

    def any(self, shape: tuple[int, ...], fractions: bool = True) -> np.ndarray:
        kind = self.random()
        if kind < 0.55:
            return self.integers(self.choice(INTEGERS), shape)
        return self.floats(self.choice(FLOATS), shape, fractions=fractions) if kind < 0.9 else self.booleans(shape)

    def subset(self, rank: int, least: int = 1) -> tuple[int, ...]:
        return tuple(sorted(self.sample(range(rank), self.randint(least, rank))))


def flipped(array: np.ndarray) -> np.ndarray:
    return np.flip(array).copy()


def integer_binary(draw: Draw) -> Operation:
    dtype, shape = draw.choice(INTEGERS), draw.shape(2, least=1)
    name = draw.choice(
        [
            "add",
            "sub",
            "mul",
            "max",
            "min",
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
            "div",
            "rem",
            "shift_left",
            "shift_right_logical",
            "shift_right_arithmetic",
            "eq",
            "ne",
            "lt",
            "le",
            "gt",
            "ge",
        ]
    )
    a, b = draw.integers(dtype, shape), draw.integers(dtype, shape)
    if name in ("div", "rem"):
        b = np.where(b == 0, np.array(3, dtype), b)
        b = np.where(b == np.array(-1).astype(dtype), np.array(5, dtype), b)
    if name.startswith("shift") and draw.random() < 0.8:
        b = (np.abs(b.astype(np.int64)) % (8 * b.dtype.itemsize)).astype(dtype)
    return Operation(name, getattr(lax, name), [a, b])


def integer_unary(draw: Draw) -> Operation:
    name = draw.choice(["neg", "abs", "sign", "bitwise_not", "population_count", "clz", "square"])
    dtype = draw.choice(SIGNED if name == "abs" else INTEGERS)
    return Operation(name, getattr(lax, name), [draw.integers(dtype, draw.shape(2))])


def integer_power(draw: Draw) -> Operation:
    exponent = draw.randint(0, 6)
    return Operation(
        "integer_pow", lambda x: lax.integer_pow(x, exponent), [draw.integers(draw.choice(INTEGERS), draw.shape(1))]
    )


def boolean_binary(draw: Draw) -> Operation:
    shape = draw.shape(2)
    name = draw.choice(["bitwise_and", "bitwise_or", "bitwise_xor", "max", "min", "eq", "ne", "lt", "le", "gt", "ge"])
    return Operation(name, getattr(lax, name), [draw.booleans(shape), draw.booleans(shape)])


def float_unary(draw: Draw) -> Operation:
    name = draw.choice(
        ["neg", "abs", "sign", "floor", "ceil", "is_finite", "square", "AWAY_FROM_ZERO", "TO_NEAREST_EVEN"]
    )
    operand = draw.floats(draw.choice(FLOATS), draw.shape(2), special=True)
    if name.isupper():
        method = lax.RoundingMethod[name]
        return Operation("round " + name.lower(), lambda x: lax.round(x, method), [operand])
    return Operation(name, getattr(lax, name), [operand])


def float_binary(draw: Draw) -> Operation:
    dtype, shape = draw.choice(FLOATS), draw.shape(2)
    name = draw.choice(["add", "sub", "mul", "max", "min", "eq", "ne", "lt", "le", "gt", "ge", "rem", "div"])
    special = draw.random() < 0.5
    a, b = draw.floats(dtype, shape, special), draw.floats(dtype, shape, special)
    if name == "div":
        b = draw.array(lambda: draw.choice([1, 2, 4, -2, 0.5]), shape, dtype)
    if name == "rem":
        b = np.where(b == 0, np.array(3, dtype), b).astype(dtype)
    return Operation(name, getattr(lax, name), [a, b])


def conversion(draw: Draw) -> Operation:
    shape = draw.shape(2, least=1)
    operand = draw.choice(
        [
            lambda: draw.integers(draw.choice(INTEGERS), shape),
            lambda: draw.booleans(shape),
            lambda: draw.floats(draw.choice(FLOATS), shape, special=True),
        ]
    )()
    dtype = draw.choice([*INTEGERS, *FLOATS, np.bool_])
    return Operation(
        f"convert {operand.dtype} {np.dtype(dtype)}", lambda x: lax.convert_element_type(x, dtype), [operand]
    )


def bitcast(draw: Draw) -> Operation:
    shape = (draw.randint(1, 3), 4)
    operand = (
        draw.integers(draw.choice(INTEGERS), shape) if draw.random() < 0.5 else draw.floats(draw.choice(FLOATS), shape)
    )
    dtype = np.dtype(draw.choice([np.int8, np.uint8, np.int16, np.int32, np.int64, *FLOATS]))
    ratio = dtype.itemsize // operand.dtype.itemsize
    if ratio > 1:
        operand = operand.reshape(-1)[: operand.size // ratio * ratio].reshape(-1, ratio)
    return Operation(f"bitcast {operand.dtype} {dtype}", lambda x: lax.bitcast_convert_type(x, dtype), [operand])


def clamp(draw: Draw) -> Operation:
    dtype, shape = draw.choice(INTEGERS + FLOATS), draw.shape(2)
    whole = jnp.issubdtype(dtype, jnp.integer)

    def operand(of: tuple[int, ...]) -> np.ndarray:
        return draw.integers(dtype, of) if whole else draw.floats(dtype, of, special=True)

    limits = () if draw.random() < 0.5 else shape
    return Operation("clamp", lax.clamp, [operand(limits), operand(shape), operand(limits)])


def select(draw: Draw) -> Operation:
    operand = draw.any(draw.shape(2))
    condition = draw.booleans(() if draw.random() < 0.3 else operand.shape)
    return Operation("select", lax.select, [condition, operand, flipped(operand)])


def reduction(draw: Draw) -> Operation:
    operand = draw.any(draw.shape(3, least=1), fractions=False)
    axes = draw.subset(operand.ndim)
    boolean, whole = operand.dtype == np.bool_, operand.dtype.kind in "iu"
    name = draw.choice(
        ["and", "or", "max", "min"]
        if boolean
        else ["sum", "prod", "max", "min", "argmax", "argmin", *(["and", "or", "xor"] if whole else [])]
    )
    if name.startswith("arg"):
        dtype = draw.choice([np.int32, np.int64, np.uint8])
        return Operation(name, lambda x: getattr(lax, name)(x, axes[0], dtype), [operand])
    if name == "prod" and not whole:
        operand = np.clip(operand, -2, 2).astype(operand.dtype)
    combine = {
        "sum": lax.add,
        "prod": lax.mul,
        "max": lax.max,
        "min": lax.min,
        "and": lax.bitwise_and,
        "or": lax.bitwise_or,
        "xor": lax.bitwise_xor,
    }[name]
    neutral = {"sum": 0, "prod": 1, "and": True if boolean else -1, "or": 0, "xor": 0}.get(name)
    if neutral is None:
        least = False if boolean else jnp.iinfo(operand.dtype).min if whole else -np.inf
        greatest = True if boolean else jnp.iinfo(operand.dtype).max if whole else np.inf
        neutral = least if name == "max" else greatest
    initial = np.array(neutral).astype(operand.dtype)
    return Operation("reduce " + name, lambda x: lax.reduce(x, initial, combine, axes), [operand])


def reduction_of_pairs(draw: Draw) -> Operation:
    shape, axis = (draw.randint(1, 4), draw.randint(1, 5)), draw.randint(0, 1)
    keys, values = draw.integers(draw.choice(INTEGERS), shape), draw.integers(np.int32, shape)
    least = [np.array(jnp.iinfo(each.dtype).min, each.dtype) for each in (keys, values)]

    def larger(p: Any, q: Any) -> Any:
        return jnp.where(q[0] >= p[0], q[0], p[0]), jnp.where(q[0] >= p[0], q[1], p[1])

    return Operation("reduce of pairs", lambda x, y: lax.reduce((x, y), tuple(least), larger, (axis,)), [keys, values])


def cumulative(draw: Draw) -> Operation:
    operand = draw.any(draw.shape(2, 5, 1), fractions=False)
    if operand.dtype == np.bool_:
        operand = operand.astype(np.int32)
    name = draw.choice(["cumsum", "cummax", "cummin", "cumprod"])
    if name == "cumprod" and operand.dtype.kind not in "iu":
        operand = np.clip(operand, -2, 2)
    axis, reverse = draw.randrange(operand.ndim), draw.random() < 0.5
    return Operation(name, lambda x: getattr(lax, name)(x, axis=axis, reverse=reverse), [operand])


def reduce_window(draw: Draw) -> Operation:
    shape = tuple(draw.randint(1, 6) for _ in range(draw.randint(1, 3)))
    operand = draw.any(shape, fractions=False)
    if operand.dtype == np.bool_:
        operand = operand.astype(np.int8)
    window, strides, base, dilation = (tuple(draw.randint(1, most) for _ in shape) for most in (3, 3, 2, 2))
    padding = tuple((draw.randint(0, 2), draw.randint(0, 2)) for _ in shape)
    combine, value = draw.choice([(lax.add, 0), (lax.max, -3), (lax.min, 2)])
    initial = np.array(value).astype(operand.dtype)
    return Operation(
        "reduce_window",
        lambda x: lax.reduce_window(x, initial, combine, window, strides, padding, base, dilation),
        [operand],
    )


def convolution(draw: Draw) -> Operation:
    spatial = draw.randint(1, 2)
    features, batches = draw.choice([(1, 1), (1, 1), (2, 1), (1, 2)])
    dtype = draw.choice([np.float32, np.float64, np.int8, np.int32, jnp.bfloat16])
    per_group = draw.randint(1, 2)
    left = draw.numbers(
        dtype,
        (batches * draw.choice([1, 2, 18]), features * per_group, *(draw.randint(1, 5) for _ in range(spatial))),
    )
    right = draw.numbers(
        dtype,
        (features * batches * draw.choice([1, 2, 9]), per_group, *(draw.randint(1, 3) for _ in range(spatial))),
    )
    rank = spatial + 2
    orders = [draw.sample(range(rank), rank) for _ in range(3)]
    numbers = lax.ConvDimensionNumbers(
        *(tuple(order.index(i) for i in range(rank)) for order in orders[:2]), tuple(orders[2])
    )
    strides, base, dilation = (tuple(draw.randint(1, 2) for _ in range(spatial)) for _ in range(3))
    padding = tuple((draw.randint(0, 2), draw.randint(-1, 2)) for _ in range(spatial))
    wide = np.int32 if dtype == np.int8 and draw.random() < 0.5 else None

    def function(x: Any, y: Any) -> Any:
        return lax.conv_general_dilated(
            x, y, strides, padding, base, dilation, numbers, features, batches, preferred_element_type=wide
        )

    return Operation(
        "convolution", function, [np.transpose(left, orders[0]).copy(), np.transpose(right, orders[1]).copy()]
    )


def dot(draw: Draw) -> Operation:
    sizes = {kind: [draw.randint(1, 3) for _ in range(draw.randint(0, 2))] for kind in "bclr"}
    for kind, size in (("l", 18), ("r", 9)):
        if draw.random() < 0.3:
            sizes[kind] = [size]

    def side(kinds: str) -> list[tuple[str, int]]:
        labels = [(kind, i) for kind in kinds for i in range(len(sizes[kind]))]
        return draw.sample(labels, len(labels))

    left, right = side("bcl"), side("bcr")
    numbers = tuple(
        tuple(tuple(labels.index((kind, i)) for i in range(len(sizes[kind]))) for labels in (left, right))
        for kind in "cb"
    )
    dtype = draw.choice([np.float32, np.int32, np.int8, np.float64, jnp.bfloat16])
    wide = np.int32 if dtype == np.int8 and draw.random() < 0.5 else None
    operands = [draw.numbers(dtype, tuple(sizes[kind][i] for kind, i in labels)) for labels in (left, right)]
    return Operation("dot", lambda x, y: lax.dot_general(x, y, numbers, preferred_element_type=wide), operands)


def _windows(draw: Draw) -> tuple[np.ndarray, tuple[int, ...], tuple[int, ...], tuple[int, ...], np.ndarray]:
    """An operand; of windows in it: the dimensions that indices give, sizes, dimensions left out; indices."""
    shape = tuple(draw.randint(1, 5) for _ in range(draw.randint(1, 3)))
    operand = np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(draw.choice([np.int32, np.float32, np.uint8]))
    dimensions = tuple(draw.sample(range(len(shape)), draw.randint(1, len(shape))))
    sizes = tuple(draw.randint(1, size) for size in shape)
    left_out = tuple(i for i, size in enumerate(sizes) if size == 1 and draw.random() < 0.6)
    dtype = draw.choice([np.int32, np.int64, np.int8, np.uint8, np.uint32])
    return (operand, dimensions, sizes, left_out, draw.integers(dtype, (*draw.shape(2, 3), len(dimensions)), -3, 7))


def gather(draw: Draw) -> Operation:
    operand, dimensions, sizes, collapsed, indices = _windows(draw)
    rank = indices.ndim - 1 + operand.ndim - len(collapsed)
    offsets = tuple(sorted(draw.sample(range(rank), operand.ndim - len(collapsed))))
    mode = draw.choice(["clip", "fill", "promise_in_bounds"])
    if mode == "promise_in_bounds":
        most = [operand.shape[i] - sizes[i] for i in dimensions]
        indices = np.clip(indices.astype(np.int64), 0, most).astype(indices.dtype)
    numbers = lax.GatherDimensionNumbers(offsets, collapsed, dimensions)
    return Operation("gather " + mode, lambda x, i: lax.gather(x, i, numbers, sizes, mode=mode), [operand, indices])


def scatter(draw: Draw) -> Operation:
    operand, dimensions, sizes, inserted, indices = _windows(draw)
    window = [size for i, size in enumerate(sizes) if i not in inserted]
    rank = indices.ndim - 1 + len(window)
    update_window = tuple(sorted(draw.sample(range(rank), len(window))))
    inside, outside = iter(window), iter(indices.shape)
    shape = tuple(next(inside if i in update_window else outside) for i in range(rank))
    name = draw.choice(["scatter_add", "scatter_min", "scatter_max", "scatter_mul"])
    updates = draw.numbers(operand.dtype, shape)
    if name == "scatter_mul":
        operand, updates = np.clip(operand, 1, 2), np.clip(updates, 0, 2)
    mode = draw.choice(["clip", "fill"])
    numbers = lax.ScatterDimensionNumbers(update_window, inserted, dimensions)
    return Operation(
        f"{name} {mode}", lambda x, i, u: getattr(lax, name)(x, i, u, numbers, mode=mode), [operand, indices, updates]
    )


def update_at(draw: Draw) -> Operation:
    rows = draw.randint(1, 6)
    operand = draw.any((rows, 3))
    indices = np.array(draw.sample(range(-1, rows + 1), draw.randint(1, rows))).astype(np.int32)
    updates = flipped(operand)[: len(indices)]
    return Operation("scatter of updates", lambda x, i, u: x.at[i].set(u), [operand, indices, updates])


def dynamic_slice(draw: Draw) -> Operation:
    operand = draw.any(draw.shape(3, 5, 1))
    sizes = tuple(draw.randint(1, size) for size in operand.shape)
    dtype = draw.choice([np.int32, np.int8, np.uint8, np.int64, np.uint32])
    starts = [draw.integers(dtype, (), -4, 8) for _ in sizes]
    if draw.random() < 0.5:
        return Operation(
            "dynamic_slice", lambda x, *i: lax.dynamic_slice_p.bind(x, *i, slice_sizes=sizes), [operand, *starts]
        )
    update = flipped(operand)[tuple(slice(0, size) for size in sizes)].copy()
    return Operation(
        "dynamic_update_slice", lambda x, u, *i: lax.dynamic_update_slice_p.bind(x, u, *i), [operand, update, *starts]
    )


def pad(draw: Draw) -> Operation:
    operand = draw.any(draw.shape(3, 5))
    padding = []
    for size in operand.shape:
        inner, low, high = draw.randint(0, 2), draw.randint(-2, 3), draw.randint(-2, 3)
        fits = size + max(0, size - 1) * inner + low + high >= 0
        padding.append((low, high, inner) if fits else (0, 1, inner))
    value = np.array(1).astype(operand.dtype)
    return Operation("pad", lambda x: lax.pad(x, value, padding), [operand])


def movement(draw: Draw) -> Operation:
    operand = draw.any(draw.shape(3, least=1))
    rank, shape = operand.ndim, operand.shape
    axis, axes = draw.randrange(rank), tuple(draw.sample(range(rank), rank))
    name = draw.choice(["rev", "transpose", "concatenate", "slice", "reshape", "broadcast", "iota"])
    if name == "rev":
        return Operation(name, lambda x: lax.rev(x, axes[: axis + 1]), [operand])
    if name == "transpose":
        return Operation(name, lambda x: lax.transpose(x, axes), [operand])
    if name == "concatenate":
        return Operation(name, lambda x, y: lax.concatenate([x, y, x], axis), [operand, flipped(operand)])
    if name == "slice":
        low = [draw.randint(0, size) for size in shape]
        high = [draw.randint(first, size) for first, size in zip(low, shape)]
        strides = [draw.randint(1, 3) for _ in shape]
        return Operation(name, lambda x: lax.slice(x, low, high, strides), [operand])
    if name == "reshape":
        rows = draw.choice([n for n in range(1, operand.size + 1) if operand.size % n == 0])
        return Operation(name, lambda x: lax.reshape(x, (rows, operand.size // rows)), [operand])
    if name == "broadcast":
        kept = tuple(sorted(draw.sample(range(rank + 1), rank)))
        sizes = [draw.randint(1, 3) for _ in range(rank + 1)]
        for size, at in zip(shape, kept):
            sizes[at] = size if size != 1 else sizes[at]
        return Operation(name, lambda x: lax.broadcast_in_dim(x, tuple(sizes), kept), [operand])
    dtype = draw.choice(INTEGERS + FLOATS[:2])
    return Operation(
        name,
        lambda x: lax.broadcasted_iota(dtype, shape, axis) + x.astype(dtype),
        [draw.integers(np.int8, shape, 0, 9)],
    )


def sort(draw: Draw) -> Operation:
    shape = draw.shape(2, 6, 1)
    axis, count = draw.randrange(len(shape)), draw.randint(1, 3)
    operands = [
        (
            draw.integers(draw.choice(INTEGERS), shape, -2, 2)
            if draw.random() < 0.6
            else draw.floats(np.float32, shape, special=draw.random() < 0.3)
        )
        for _ in range(count)
    ]
    keys = draw.randint(1, count)
    return Operation("sort", lambda *x: lax.sort(x, dimension=axis, is_stable=True, num_keys=keys), operands)


def top_k(draw: Draw) -> Operation:
    shape = draw.shape(2, 6, 1)
    operand = draw.integers(np.int32, shape, -3, 3) if draw.random() < 0.6 else draw.floats(np.float32, shape)
    count = draw.randint(1, shape[-1])
    return Operation("top_k", lambda x: lax.top_k(x, count), [operand])


def loop(draw: Draw) -> Operation:
    operand, start, limit = (draw.integers(draw.choice(INTEGERS), (3,)), draw.randint(0, 6), draw.randint(0, 40))

    def body(state: Any) -> Any:
        count, x = state
        return count * 2 + 1, x * jnp.array(3, x.dtype) + count.astype(x.dtype)

    return Operation(
        "while", lambda x: lax.while_loop(lambda state: state[0] < limit, body, (jnp.int32(start), x)), [operand]
    )


def scan(draw: Draw) -> Operation:
    operand, reverse = (draw.integers(draw.choice(INTEGERS), (draw.randint(1, 5), 2)), draw.random() < 0.5)
    return Operation(
        "scan",
        lambda x: lax.scan(lambda c, y: (c * 2 + y, c - y), jnp.zeros(2, x.dtype), x, reverse=reverse),
        [operand],
    )


def branch(draw: Draw) -> Operation:
    operand, index = draw.integers(draw.choice(INTEGERS), (3,)), np.array(draw.randint(-2, 5), np.int32)
    if draw.random() < 0.6:
        return Operation(
            "case", lambda i, x: lax.switch(i, [lambda y: y, lambda y: y + y, lambda y: -y], x), [index, operand]
        )
    return Operation("if", lambda i, x: lax.cond(i > 1, lambda y: y, lambda y: y * y, x), [index, operand])


def complex_numbers(draw: Draw) -> Operation:
    a, b = ((draw.floats(np.float32, (3,)) + 1j * draw.floats(np.float32, (3,))).astype(np.complex64) for _ in range(2))
    name = draw.choice(["add", "sub", "mul", "eq", "conj", "real", "imag", "neg"])
    return Operation("complex " + name, getattr(lax, name), [a, b] if name in ("add", "sub", "mul", "eq") else [a])


def reduce_precision(draw: Draw) -> Operation:
    operand = draw.floats(np.float32, (4,), special=True) * np.float32(1.37)
    exponent, mantissa = draw.randint(2, 8), draw.randint(1, 23)
    return Operation("reduce_precision", lambda x: lax.reduce_precision(x, exponent, mantissa), [operand])


def four_bits(draw: Draw) -> Operation:
    shape, dtype = draw.shape(2), draw.choice([jnp.int4, jnp.uint4])
    operands = [draw.integers(np.int8, shape, -8, 7) for _ in range(2)]
    name = draw.choice(["add", "mul", "sub", "max"])
    return Operation(
        "int4 " + name, lambda x, y: getattr(lax, name)(x.astype(dtype), y.astype(dtype)).astype(np.int32), operands
    )


FAMILIES = [
    integer_binary,
    integer_unary,
    integer_power,
    boolean_binary,
    float_unary,
    float_binary,
    conversion,
    bitcast,
    clamp,
    select,
    reduction,
    reduction_of_pairs,
    cumulative,
    reduce_window,
    convolution,
    dot,
    gather,
    scatter,
    update_at,
    dynamic_slice,
    pad,
    movement,
    sort,
    top_k,
    loop,
    scan,
    branch,
    complex_numbers,
    reduce_precision,
    four_bits,
]


def text(function: Callable[[], Any], dialect: str) -> str:
    """A module without inputs, in the text form of `hlo` or `stablehlo`."""
    return jax.jit(function).lower().as_text(dialect)


def with_one_change(draw: Draw, results: list[np.ndarray]) -> tuple[list[np.ndarray], int, list[int]] | None:
    """The results with another value of one element, of which output, where; nothing if there are no elements."""
    candidates = [k for k, each in enumerate(results) if each.size]
    if not candidates:
        return None
    output = draw.choice(candidates)
    changed = results[output].copy()
    place = np.unravel_index(draw.randrange(changed.size), changed.shape)
    value = changed[place]
    if changed.dtype == np.bool_:
        changed[place] = not value
    elif changed.dtype.kind in "iu":
        bit = 1 << draw.randrange(8 * changed.dtype.itemsize)
        unsigned = np.dtype(f"u{changed.dtype.itemsize}")
        changed.view(unsigned)[place] ^= np.array(bit).astype(unsigned)
    else:
        other = np.array(1.25 * value + 1 if value == value else 1).astype(changed.dtype)
        changed[place] = other if other != value else 3
    return ([changed if k == output else each for k, each in enumerate(results)], output, [int(i) for i in place])
