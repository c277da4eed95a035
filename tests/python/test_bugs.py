"""Bugs that users met, in their own framework's terms: each is refuted, and its fix accepted.

The issues are named in the docstrings; the programs are ours, as small as the mistake allows.
"""

import re

import pytest

import p2_verify as p2

jax = pytest.importorskip("jax", reason="JAX is not installed")
jax.config.update("jax_num_cpu_devices", 8)

import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

from p2_verify import _jax  # noqa: E402


def array(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def sharded(body, in_specs, out_specs, shape=(4,), axes=("x",)):
    mesh = jax.make_mesh(shape, axes, axis_types=(AxisType.Auto,) * len(axes))
    return jax.shard_map(
        body, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False
    )


def on_x(body):
    return sharded(body, (P("x"),), P("x"))


def test_permute_with_two_cycles():
    """openxla/xla #45222: the second cycle is lost, its devices get 0."""
    before = on_x(lambda x: lax.ppermute(x, "x", [(0, 1), (1, 0), (2, 3), (3, 2)]))
    wrong = on_x(lambda x: lax.ppermute(x, "x", [(0, 1), (1, 0)]))
    right = on_x(
        lambda x: lax.ppermute(x, "x", [(0, 1), (1, 0)]) + lax.ppermute(x, "x", [(2, 3), (3, 2)])
    )
    assert p2.check_equal(before, wrong, array(8)).rule is not None
    assert p2.check_equal(before, right, array(8))


def test_self_pairs_of_a_permute():
    """openxla/xla PR #45218: pairs of a device with itself are dropped, it gets 0."""
    before = on_x(lambda x: lax.ppermute(x, "x", [(0, 1), (1, 0), (2, 2), (3, 3)]))
    wrong = on_x(lambda x: lax.ppermute(x, "x", [(0, 1), (1, 0)]))
    right = on_x(
        lambda x: lax.ppermute(x, "x", [(0, 1), (1, 0)])
        + jnp.where(lax.axis_index("x") >= 2, x, 0.0)
    )
    assert p2.check_equal(before, wrong, array(8)).rule is not None
    assert p2.check_equal(before, right, array(8))


def test_scale_of_a_device_hoisted_over_an_all_gather():
    """openxla/xla PR #18330."""

    def scale():
        return 1.0 + lax.axis_index("x").astype(jnp.float32)

    def gathered(x):
        return lax.all_gather(x, "x", tiled=True)

    before = sharded(lambda x: gathered(x * scale())[None], (P("x"),), P("x"))
    wrong = sharded(lambda x: (gathered(x) * scale())[None], (P("x"),), P("x"))
    right = sharded(
        lambda x: (gathered(x) * gathered(jnp.full(x.shape, scale())))[None], (P("x"),), P("x")
    )
    assert p2.check_equal(before, wrong, array(8)).rule is not None
    assert p2.check_equal(before, right, array(8))


def test_row_of_an_uneven_shard():
    """pytorch PR #194457: a flattened all-gather of uneven shards loses a row."""
    text = """{"format": "transfer-plan/1",
 "tensors": {"w": {"shape": [5, 2],
   "source": [{"rank": 0, "box": [[0, 3], [0, 2]]}, {"rank": 1, "box": [[3, 5], [0, 2]]}],
   "destination": [{"rank": 2, "box": [[0, 5], [0, 2]]}]}},
 "transfers": [
  {"tensor": "w", "from": 0, "to": 2, "box": [[0, ROWS], [0, 2]]},
  {"tensor": "w", "from": 1, "to": 2, "box": [[3, 5], [0, 2]]}]}"""
    verdict = p2.check(text.replace("ROWS", "2"))
    assert verdict.rule == "missing" and verdict.counterexample.facts["box"] == [[2, 3], [0, 2]]
    assert p2.check(text.replace("ROWS", "3"))


def test_epsilon_on_every_rank():
    """pytorch #149768: epsilon is added on every rank, then summed."""

    def reference(x):
        return jnp.sum(x * x) + 1e-3

    wrong = sharded(lambda x: lax.psum(jnp.sum(x * x) + 1e-3, "x"), (P("x"),), P())
    right = sharded(lambda x: lax.psum(jnp.sum(x * x), "x") + 1e-3, (P("x"),), P())
    assert p2.check_equal(reference, wrong, array(8)).rule == "value"
    assert p2.check_equal(reference, right, array(8))


def test_all_reduce_left_out_by_the_partitioner():
    """openxla/xla #40034: what the partitioner writes has no all-reduce."""
    mesh = jax.make_mesh((4,), ("x",), axis_types=(AxisType.Auto,))
    jitted = jax.jit(
        lambda x, w: x @ w,
        in_shardings=(NamedSharding(mesh, P(None, "x")), NamedSharding(mesh, P("x"))),
        out_shardings=NamedSharding(mesh, P()),
    )
    arguments = (array(4, 8), array(8, 4))
    before = jax.jit(lambda x, w: x @ w).lower(*arguments).as_text(dialect="hlo")
    after = _jax.partitioned_module(jitted.lower(*arguments))
    relation = _jax.relation_of(after)
    assert p2.check_equal(before, after.text, relate=relation)
    broken = re.sub(
        r"ROOT (%\S+) = (\S+) all-reduce\((%\S+?)\), .*?(metadata)", r"ROOT \1 = \2 copy(\3), \4",
        after.text,
    )
    assert broken != after.text
    verdict = p2.check_equal(before, broken, relate=relation)
    assert verdict.rule == "value"
    assert verdict.counterexample.source[0].startswith(__file__)


def embedding_loss(table, ids):
    return jnp.sum(table[ids] ** 2)


def test_all_reduce_missing_in_the_backward_of_an_embedding():
    """openxla/xla #42481: the gradient of the table lacks the other devices' tokens."""
    reference = jax.grad(embedding_loss)

    def local(table, ids):
        return jax.grad(embedding_loss)(table, ids)

    specs = (P(), P("x"))
    wrong = sharded(local, specs, P())
    right = sharded(lambda table, ids: lax.psum(local(table, ids), "x"), specs, P())
    arguments = (array(6, 2), array(8, dtype=jnp.int32))
    assert p2.check_equal(reference, wrong, *arguments).rule == "value"
    assert p2.check_equal(reference, right, *arguments).kind is not p2.Kind.invalid


def test_concatenation_doubles_values():
    """jax #24576: sharded operands are concatenated by a sum over too many devices."""

    def reference(a, b):
        return jnp.concatenate([a, b])

    def placed(a, b, width):
        whole = jnp.zeros(16)
        index = lax.axis_index("x")
        whole = lax.dynamic_update_slice(whole, a, (index * width,))
        whole = lax.dynamic_update_slice(whole, b, (8 + index * width,))
        return whole

    specs = (P("x"), P("x"))
    right = sharded(lambda a, b: lax.psum(placed(a, b, 2), "x"), specs, P())
    wrong = sharded(
        lambda a, b: lax.psum(placed(a, b, 2), ("x", "y")), specs, P(), (4, 2), ("x", "y")
    )
    assert p2.check_equal(reference, right, array(8), array(8))
    assert p2.check_equal(reference, wrong, array(8), array(8)).rule == "value"


def test_logarithm_of_a_tensor_parallel_loss():
    """NVIDIA/Megatron-LM #7452: the logarithm is taken before the reduction."""

    def reference(x):
        return jnp.log(jnp.sum(jnp.exp(x)))

    wrong = sharded(lambda x: lax.psum(jnp.log(jnp.sum(jnp.exp(x))), "x"), (P("x"),), P())
    right = sharded(lambda x: jnp.log(lax.psum(jnp.sum(jnp.exp(x)), "x")), (P("x"),), P())
    assert p2.check_equal(reference, wrong, array(8)).rule == "value"
    assert p2.check_equal(reference, right, array(8))


def test_data_parallel_group_of_size_one():
    """VeOmni PR #1115: gradients are reduced over a group of one rank, which does nothing."""

    def loss(w, x):
        return jnp.sum((x @ w) ** 2)

    def body(axis):
        return lambda w, x: lax.psum(jax.grad(loss)(w, x), axis)

    specs = (P(), P("data"))
    shape, axes = (4, 1), ("data", "replica")
    arguments = (array(3), array(8, 3))
    reference = jax.grad(loss)
    assert p2.check_equal(
        reference, sharded(body("replica"), specs, P(), shape, axes), *arguments
    ).rule == "value"
    assert p2.check_equal(reference, sharded(body("data"), specs, P(), shape, axes), *arguments)


def test_order_of_point_to_point_calls():
    """NVIDIA/Megatron-LM #5100: the first message of a stage is not the first of its neighbour."""
    first = "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
    wrong = first + "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n"
    right = first + "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n"
    verdict = p2.check(wrong)
    assert verdict.rule == "p2p-order" and "1RECV_F1" in verdict.reason
    assert p2.check(right)


def test_pipeline_that_waits_in_a_circle():
    """pytorch #172668: each rank of three waits for another one's message first."""
    rows = [
        ["0F0", "0SEND_F0", "3RECV_F0", "3F0"],
        ["1RECV_F0", "1F0", "1SEND_F0"],
        ["2RECV_F0", "2F0", "2SEND_F0"],
    ]

    def text(rows):
        return "\n".join(",".join(row) for row in rows) + "\n"

    assert p2.check(text(rows))
    rows[0] = ["3RECV_F0", "0F0", "0SEND_F0", "3F0"]
    verdict = p2.check(text(rows))
    assert verdict.rule == "deadlock"
    assert verdict.reason.startswith("The schedule stops for ever")
