"""Steps of PyTorch: graphs as aot_export_joint_simple writes them, and live ones where torch is."""

import pytest

import p2_verify as p2
from p2_verify.torch import Node, RankGraph, Ref, check_graphs, to_hlo

WORLD = 2
MESH = {"model": WORLD}
R, S0, S1 = ["R"], ["S0"], ["S1"]


class Graph:
    """Writes a graph, node by node."""

    def __init__(self, rank=0, world=1):
        self.rank, self.world, self.nodes, self.groups = rank, world, [], {}

    def add(self, op, shape, *args, dtype="torch.float32"):
        several = shape if shape and isinstance(shape[0], list) else [list(shape)]
        name = f"n{len(self.nodes)}"
        self.nodes.append(
            Node(name, op, list(args), {}, [list(each) for each in several], [dtype] * len(several))
        )
        return Ref(name)

    def input(self, *shape):
        return self.add("placeholder", shape)

    def wait(self, op, shape, *args):
        group = f"tp{self.rank}"  # a group has another name on every rank
        self.groups[group] = list(range(self.world))
        started = self.add(f"_c10d_functional.{op}.default", shape, *args, group)
        return self.add("_c10d_functional.wait_tensor.default", shape, started)

    def done(self, *results):
        self.nodes.append(Node("output", "output", [list(results)]))
        return RankGraph(self.rank, self.world, self.nodes, self.groups)


def mlp(rank=0, world=1, forward_reduce=True, backward_reduce=True):
    """Forward and backward of relu(x @ w1) @ w2; columns of w1 and rows of w2 are cut."""
    graph = Graph(rank, world)
    batch, width, hidden = 4, 6, 8 // world
    x, w1, w2 = graph.input(batch, width), graph.input(width, hidden), graph.input(hidden, width)
    tangent = graph.input(batch, width)
    before = graph.add("aten.mm.default", [batch, hidden], x, w1)
    after = graph.add("aten.relu.default", [batch, hidden], before)
    y = graph.add("aten.mm.default", [batch, width], after, w2)
    if world > 1 and forward_reduce:
        y = graph.wait("all_reduce", [batch, width], y, "sum")
    after_t = graph.add("aten.t.default", [hidden, batch], after)
    grad_w2 = graph.add("aten.mm.default", [hidden, width], after_t, tangent)
    w2_t = graph.add("aten.t.default", [width, hidden], w2)
    grad_after = graph.add("aten.mm.default", [batch, hidden], tangent, w2_t)
    grad_before = graph.add(
        "aten.threshold_backward.default", [batch, hidden], grad_after, before, 0
    )
    x_t = graph.add("aten.t.default", [width, batch], x)
    grad_w1 = graph.add("aten.mm.default", [width, hidden], x_t, grad_before)
    w1_t = graph.add("aten.t.default", [hidden, width], w1)
    grad_x = graph.add("aten.mm.default", [batch, width], grad_before, w1_t)
    if world > 1 and backward_reduce:
        grad_x = graph.wait("all_reduce", [batch, width], grad_x, "sum")
    return graph.done(y, grad_x, grad_w1, grad_w2)


def check_mlp(**options):
    return check_graphs(
        [mlp(rank, WORLD, **options) for rank in range(WORLD)],
        mlp(),
        mesh=MESH,
        inputs=[R, S1, S0, R],
        outputs=[R, R, S1, S0],
    )


class TestMegatron:
    def test_forward_and_backward(self):
        assert check_mlp()

    def test_all_reduce_of_the_forward_missing(self):
        verdict = check_mlp(forward_reduce=False)
        assert verdict.rule == "value" and verdict.counterexample.facts["output"] == 0

    def test_all_reduce_of_the_backward_missing(self):
        verdict = check_mlp(backward_reduce=False)
        assert verdict.rule == "value" and verdict.counterexample.facts["output"] == 1

    def test_wrong_placement_of_a_gradient(self):
        verdict = check_graphs(
            [mlp(rank, WORLD) for rank in range(WORLD)],
            mlp(),
            mesh=MESH,
            inputs=[R, S1, S0, R],
            outputs=[R, ["P"], S1, S0],
        )
        assert verdict.rule == "value"


def fsdp(rank=0, world=1, operation="sum"):
    """loss gradient of sum(x @ w): w is cut, gathered before use; the batch is cut too."""
    graph = Graph(rank, world)
    batch, width = 4 // world, 6
    x, w = graph.input(batch, width), graph.input(width // world, 2)
    whole = graph.wait("all_gather_into_tensor", [width, 2], w, world) if world > 1 else w
    y = graph.add("aten.mm.default", [batch, 2], x, whole)
    ones = graph.add("aten.ones_like.default", [batch, 2], y)
    x_t = graph.add("aten.t.default", [width, batch], x)
    gradient = graph.add("aten.mm.default", [width, 2], x_t, ones)
    if world > 1:
        shape = [width // world, 2]
        gradient = graph.wait("reduce_scatter_tensor", shape, gradient, operation, world)
    return graph.done(y, gradient)


class TestShardedParameters:
    @pytest.mark.parametrize(("operation", "rule"), [("sum", None), ("avg", "value")])
    def test_gradient_is_the_sum_over_the_batch(self, operation, rule):
        verdict = check_graphs(
            [fsdp(rank, WORLD, operation) for rank in range(WORLD)],
            fsdp(),
            mesh=MESH,
            inputs=[S0, S0],
            outputs=[S0, S0],
        )
        assert verdict.rule == rule
        assert verdict.kind is not p2.Kind.unknown


def attention(rank=0, world=1, opaque=False, reduce=True):
    """Heads cut over ranks: softmax(q k^T) v, then the output projection; normed before."""
    graph = Graph(rank, world)
    tokens, width, heads, head = 3, 4, 4 // world, 2
    x = graph.input(tokens, width)
    weights = [graph.input(width, heads * head) for _ in range(3)]
    out = graph.input(heads * head, width)
    normed = graph.add(
        "aten.native_layer_norm.default",
        [[tokens, width], [tokens, 1], [tokens, 1]],
        x,
        [width],
        None,
        None,
        1e-5,
    )
    normed = Ref(normed.node, 0)
    parts = []
    for weight in weights:
        projected = graph.add("aten.mm.default", [tokens, heads * head], normed, weight)
        split = graph.add("aten.view.default", [tokens, heads, head], projected, [])
        parts.append(graph.add("aten.permute.default", [heads, tokens, head], split, [1, 0, 2]))
    q, k, v = parts
    k_t = graph.add("aten.transpose.int", [heads, head, tokens], k, 1, 2)
    scores = graph.add("aten.bmm.default", [heads, tokens, tokens], q, k_t)
    scaled = graph.add("aten.div.Tensor", [heads, tokens, tokens], scores, 1.5)
    name = "aten.secret_activation.default" if opaque else "aten._softmax.default"
    chosen = graph.add(name, [heads, tokens, tokens], scaled, -1, False)
    mixed = graph.add("aten.bmm.default", [heads, tokens, head], chosen, v)
    back = graph.add("aten.permute.default", [tokens, heads, head], mixed, [1, 0, 2])
    flat = graph.add("aten._unsafe_view.default", [tokens, heads * head], back, [])
    y = graph.add("aten.mm.default", [tokens, width], flat, out)
    if world > 1 and reduce:
        y = graph.wait("all_reduce", [tokens, width], y, "sum")
    return graph.done(y)


class TestAttention:
    @pytest.mark.parametrize(("reduce", "rule"), [(True, None), (False, "value")])
    def test_heads_over_ranks(self, reduce, rule):
        verdict = check_graphs(
            [attention(rank, WORLD, reduce=reduce) for rank in range(WORLD)],
            attention(),
            mesh=MESH,
            inputs=[R, S1, S1, S1, S0],
            outputs=[R],
        )
        assert verdict.rule == rule
        assert verdict.kind is not p2.Kind.unknown

    def test_unknown_operations_prove_nothing_wrong(self):
        verdict = check_graphs(
            [attention(rank, WORLD, opaque=True) for rank in range(WORLD)],
            attention(opaque=True),
            mesh=MESH,
            inputs=[R, S1, S1, S1, S0],
            outputs=[R],
        )
        assert verdict.kind is not p2.Kind.valid  # softmax or not: heads may depend on each other


class TestGraphs:
    def test_json_round_trip(self):
        graph = mlp(1, WORLD)
        assert RankGraph.from_json(graph.to_json()) == graph

    def test_uninterpreted_operations_are_equal_on_equal_operands(self):
        def step(rank, world):
            graph = Graph(rank, world)
            x = graph.input(4)
            y = graph.add("mylib.activation.default", [4], x, 3)
            return graph.done(y)

        graphs = [step(rank, WORLD) for rank in range(WORLD)]
        verdict = check_graphs(graphs, step(0, 1), mesh=MESH, inputs=[R], outputs=[R])
        assert verdict and any("custom-call" in each for each in verdict.assumed)

    def test_integers_times_fractions(self):
        def step(factor, world=1, rank=0):
            graph = Graph(rank, world)
            x = graph.add("placeholder", (4,), dtype="torch.int64")
            return graph.done(graph.add("aten.mul.Tensor", [4], x, factor))

        graphs = [step(0.5, WORLD, rank) for rank in range(WORLD)]
        assert check_graphs(graphs, step(0.5), mesh=MESH, inputs=[R], outputs=[R])
        wrong = check_graphs(graphs, step(0.25), mesh=MESH, inputs=[R], outputs=[R])
        assert wrong.rule == "value"

    def test_unknown_operations_keep_their_keywords(self):
        def step(mode, world=1, rank=0):
            graph = Graph(rank, world)
            y = graph.add("mylib.activation.default", [4], graph.input(4))
            graph.nodes[-1].kwargs["mode"] = mode
            return graph.done(y)

        graphs = [step("exact", WORLD, rank) for rank in range(WORLD)]
        assert check_graphs(graphs, step("exact"), mesh=MESH, inputs=[R], outputs=[R])
        other = check_graphs(graphs, step("tanh"), mesh=MESH, inputs=[R], outputs=[R])
        assert other.kind is not p2.Kind.valid

    def test_ranks_that_run_different_programs(self):
        with pytest.raises(p2.InputError, match="different programs|operations"):
            to_hlo([mlp(0, WORLD), mlp(1, WORLD, backward_reduce=False)])

    def test_overlapping_groups(self):
        graphs = [mlp(rank, WORLD) for rank in range(WORLD)]
        graphs[1].groups["tp1"] = [1]
        with pytest.raises(p2.InputError, match="overlap"):
            to_hlo(graphs)

    def test_a_wrong_shape_is_refused(self):
        graph = Graph()
        x = graph.input(2, 3)
        with pytest.raises(p2.InputError, match="shape"):
            to_hlo([graph.done(graph.add("aten.t.default", [2, 3], x))])

    def test_placements_are_checked(self):
        with pytest.raises(p2.InputError, match="placements"):
            check_graphs([mlp()], mlp(), mesh={"model": 1}, inputs=[R], outputs=[R] * 4)

    def test_without_torch(self):
        try:
            import torch  # noqa: F401
        except ImportError:
            with pytest.raises(p2.InputError, match="pip install torch"):
                p2.torch.trace(lambda x: x, 1, mesh=MESH, rank=0)


def test_live_megatron_mlp():
    torch = pytest.importorskip("torch", reason="torch is not installed: recorded graphs only")
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Replicate, Shard

    def step(x, w1, w2):
        mesh = init_device_mesh("cpu", (WORLD,), mesh_dim_names=("model",))
        x = DTensor.from_local(x, mesh, [Replicate()])
        w1 = DTensor.from_local(w1, mesh, [Shard(1)])
        w2 = DTensor.from_local(w2, mesh, [Shard(0)])
        return (torch.relu(x @ w1) @ w2).redistribute(mesh, [Replicate()]).to_local()

    args = [torch.randn(*shape, requires_grad=True) for shape in ((4, 6), (6, 8), (8, 6))]
    verdict = p2.torch.check_step(
        step,
        lambda x, w1, w2: torch.relu(x @ w1) @ w2,
        *args,
        mesh=MESH,
        placements=[R, S1, S0],
        outputs=[R],
    )
    assert verdict
