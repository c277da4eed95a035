"""Programs of JAX, right and wrong, on eight host devices; nothing is run."""

import inspect

import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")
jax.config.update("jax_num_cpu_devices", 8)

import jax.numpy as jnp  # noqa: E402
from jax import export  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import p2_verify as p2  # noqa: E402


@pytest.fixture
def mesh():
    return jax.make_mesh((2, 4), ("data", "model"), axis_types=(AxisType.Auto,) * 2)


def array(*shape, sharding=None):
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=sharding)


def mlp(x, w1, w2):
    hidden = jax.nn.relu(x @ w1)
    return hidden @ w2


def weights():
    return array(16, 32), array(32, 16)


def megatron(mesh):
    """The MLP with columns of w1 and rows of w2 over the model axis."""
    sharding = [NamedSharding(mesh, P(*each)) for each in (["data"], [None, "model"], ["model"])]
    return jax.jit(mlp, in_shardings=tuple(sharding), out_shardings=NamedSharding(mesh, P("data")))


def by_hand(mesh, body):
    """The same with explicit collectives."""
    return jax.shard_map(
        body,
        mesh=mesh,
        in_specs=(P("data"), P(None, "model"), P("model")),
        out_specs=P("data"),
        check_vma=False,
    )


def line_of(function, text):
    lines, start = inspect.getsourcelines(function)
    return next(start + i for i, each in enumerate(lines) if text in each)


class TestPartitioning:
    def test_megatron_mlp_is_right(self, mesh):
        verdict = p2.check(megatron(mesh), array(8, 16), *weights())
        assert verdict and verdict.kind is p2.Kind.valid

    def test_a_training_step_with_pytrees_and_unused_arguments(self, mesh):
        def step(params, batch, unused):
            def loss(params):
                return jnp.mean((mlp(batch, params["w1"], params["w2"]) - 1.0) ** 2)

            value, gradient = jax.value_and_grad(loss)(params)
            return {"loss": value, "params": jax.tree.map(lambda w, g: w - 0.5 * g, params, gradient)}

        params = {
            "w1": array(16, 32, sharding=NamedSharding(mesh, P(None, "model"))),
            "w2": array(32, 16, sharding=NamedSharding(mesh, P("model", None))),
        }
        batch = array(8, 16, sharding=NamedSharding(mesh, P("data", None)))
        assert p2.check(jax.jit(step), params, batch, array(3))

    def test_static_arguments_and_constants(self, mesh):
        table = jnp.arange(64.0).reshape(16, 4)

        def repeated(x, times):
            for _ in range(times):
                x = x * 2
            return x @ table

        jitted = jax.jit(
            repeated, static_argnums=1, out_shardings=NamedSharding(mesh, P("data", "model"))
        )
        x = array(8, 16, sharding=NamedSharding(mesh, P("data", "model")))
        assert p2.check(jitted, x, 3)

    def test_lowered_and_exported(self, mesh):
        lowered = megatron(mesh).lower(array(8, 16), *weights())
        assert p2.check(lowered)
        assert p2.check(export.export(megatron(mesh))(array(8, 16), *weights()))

    def test_compiled_has_no_unpartitioned_side(self, mesh):
        compiled = megatron(mesh).lower(array(8, 16), *weights()).compile()
        with pytest.raises(p2.InputError, match="expected what jax.jit returned"):
            p2.check(compiled)
        assert p2.check_equal(mlp, compiled, array(8, 16), *weights())

    def test_abstract_meshes(self):
        abstract = jax.sharding.AbstractMesh((4,), ("model",))
        shardings = [NamedSharding(abstract, P(*each)) for each in ([], [None, "model"], ["model"])]
        arguments = [
            array(*shape, sharding=sharding)
            for shape, sharding in zip([(8, 16), (16, 32), (32, 16)], shardings, strict=True)
        ]
        assert p2.check(jax.jit(mlp), *arguments)

    def test_too_few_devices(self):
        abstract = jax.sharding.AbstractMesh((64,), ("model",))
        with pytest.raises(p2.InputError, match="jax_num_cpu_devices"):
            p2.check(jax.jit(lambda x: x), array(64, sharding=NamedSharding(abstract, P("model"))))

    def test_what_a_compiler_rounded_to_a_constant_is_assumed(self, mesh):
        rows = NamedSharding(mesh, P("data"))
        slope = jax.grad(lambda x: jnp.sum(jax.nn.gelu(x)))
        step = jax.jit(slope, in_shardings=rows, out_shardings=rows)
        x = array(4096, 1024)
        verdict = p2.check_equal(step, step.lower(x).compile(), x)
        assert verdict and any("044715" in each for each in verdict.assumed)
        assert "044715" in verdict._repr_html_()

    def test_every_pass(self, mesh):
        verdict = p2.check_passes(megatron(mesh), array(8, 16), *weights())
        assert verdict.kind is p2.Kind.valid
        assert any("spmd-partitioning" in each.subject for each in verdict.parts)


class TestByHand:
    def test_with_all_reduce(self, mesh):
        def body(x, w1, w2):
            return jax.lax.psum(jax.nn.relu(x @ w1) @ w2, "model")

        assert p2.check_equal(mlp, by_hand(mesh, body), array(8, 16), *weights())

    def test_without_all_reduce_names_the_users_line(self, mesh):
        def body(x, w1, w2):
            hidden = jax.nn.relu(x @ w1)
            return hidden @ w2

        verdict = p2.check_equal(mlp, by_hand(mesh, body), array(8, 16), *weights())
        assert verdict.rule == "value"
        file, line = verdict.counterexample.source[0].split(" ")[0].rsplit(":", 1)
        assert file == __file__
        assert int(line) == line_of(body, "return hidden @ w2")

    def test_the_output_is_named(self, mesh):
        def reference(x, w1, w2):
            return {"y": mlp(x, w1, w2), "x": x}

        def wrong(x, w1, w2):
            return {"y": by_hand(mesh, lambda x, w1, w2: mlp(x, w1, w2))(x, w1, w2), "x": x}

        verdict = p2.check_equal(reference, wrong, array(8, 16), *weights())
        assert verdict.counterexample.facts["output_path"] == "['y']"

    def test_summing_over_the_wrong_axis(self, mesh):
        def body(x, w1, w2):
            return jax.lax.psum(jax.nn.relu(x @ w1) @ w2, "data")

        assert p2.check_equal(mlp, by_hand(mesh, body), array(8, 16), *weights()).rule == "value"

    def test_nonlinearity_after_the_wrong_cut(self, mesh):
        """Rows of w1 cut, and relu before the sum."""

        def body(x, w1, w2):
            return jax.lax.psum(jax.nn.relu(x @ w1), "model") @ w2

        wrong = jax.shard_map(
            body,
            mesh=mesh,
            in_specs=(P("data", "model"), P("model"), P()),
            out_specs=P("data"),
            check_vma=False,
        )
        assert p2.check_equal(mlp, wrong, array(8, 16), *weights()).rule == "value"

    def test_shardings_of_a_function(self, mesh):
        shardings = tuple(
            NamedSharding(mesh, P(*each)) for each in (["data"], [None, "model"], ["model"])
        )
        assert p2.check_equal(mlp, mlp, array(8, 16), *weights(), in_shardings=shardings)
        with pytest.raises(p2.InputError, match="not to be jitted"):
            p2.check_equal(mlp, jax.jit(mlp), array(8, 16), *weights(), in_shardings=shardings)

    def test_partitioned_functions_need_the_same_shardings(self, mesh):
        def partitioned(spec):
            return jax.jit(lambda x: x * 2, in_shardings=NamedSharding(mesh, spec))

        x = array(8, 8)
        assert p2.check_equal(partitioned(P("data")), partitioned(P("data")), x)
        with pytest.raises(p2.InputError, match="same shardings"):
            p2.check_equal(partitioned(P("data")), partitioned(P(None, "data")), x)

    def test_meshes_in_another_order_of_devices(self):
        import numpy as np

        devices = np.array(jax.devices())[[3, 0, 2, 1]]
        mesh = jax.sharding.Mesh(devices, ("model",))

        def numbered(x):
            return x * (1.0 + jax.lax.axis_index("model").astype(jnp.float32))

        def reference(x, scale):
            return x * scale[:, None]

        def of(values):
            return lambda x: reference(x, jnp.array(values, jnp.float32))

        by_hand = jax.shard_map(numbered, mesh=mesh, in_specs=P("model"), out_specs=P("model"))
        x = array(4, 2)
        assert p2.check_equal(of([1, 2, 3, 4]), by_hand, x)
        assert p2.check_equal(of([4, 1, 3, 2]), by_hand, x).rule == "value"
        whole = jax.jit(of([1, 2, 3, 4]), in_shardings=NamedSharding(mesh, P("model")))
        assert p2.check(whole, x)
