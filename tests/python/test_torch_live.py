"""Steps of PyTorch, run by PyTorch itself: what is right is proved, what is wrong is refuted."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: recorded graphs only")

import torch.nn.functional as F  # noqa: E402, N812
from torch import nn  # noqa: E402
from torch.distributed.fsdp import fully_shard  # noqa: E402
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard  # noqa: E402
from torch.distributed.tensor.parallel import (  # noqa: E402
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)

import p2_verify as p2  # noqa: E402
from p2_verify.torch import check_module, check_step, trace  # noqa: E402

TP, DP = {"tp": 2}, {"dp": 2}
torch.set_num_threads(1)


def line_of(verdict):
    """The text of the user's line that a counterexample names."""
    file, number = verdict.counterexample.source[0].split(" ")[0].rsplit(":", 1)
    assert file == __file__
    with open(file) as source:
        return source.read().splitlines()[int(number) - 1]


class Mlp(nn.Module):
    def __init__(self, width=4, hidden=8):
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x):
        hidden = F.relu(self.up(x))
        return self.down(hidden)


class Attention(nn.Module):
    def __init__(self, width=4, heads=2):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.head = width // heads

    def forward(self, x):
        batch, tokens, _ = x.shape
        q, k, v = (
            each(x).view(batch, tokens, -1, self.head).transpose(1, 2) for each in (self.q, self.k, self.v)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(mixed.transpose(1, 2).reshape(batch, tokens, -1))


class Block(nn.Module):
    def __init__(self, width=4, norm=nn.LayerNorm):
        super().__init__()
        self.norm1, self.attention = norm(width), Attention(width)
        self.norm2, self.mlp = norm(width), Mlp(width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Language(nn.Module):
    def __init__(self, words=6, width=4):
        super().__init__()
        self.embedding, self.block = nn.Embedding(words, width), Block(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        return self.head(self.block(self.embedding(tokens)))


ATTENTION = {
    "attention.q": ColwiseParallel(),
    "attention.k": ColwiseParallel(),
    "attention.v": ColwiseParallel(),
    "attention.o": RowwiseParallel(),
}
MLP = {"mlp.up": ColwiseParallel(), "mlp.down": RowwiseParallel()}


def mlp_parallel(model, mesh, **row):
    parallelize_module(model, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel(**row)})


class TestTensorParallel:
    def test_mlp(self):
        verdict = check_module(Mlp(), mlp_parallel, torch.randn(3, 4), mesh=TP)
        assert verdict and not verdict.assumed

    def test_all_reduce_missing(self):
        def wrong(model, mesh):
            mlp_parallel(model, mesh, output_layouts=Partial())

        verdict = check_module(Mlp(), wrong, torch.randn(3, 4), mesh=TP)
        assert verdict.rule == "value"
        assert verdict.counterexample.facts["output_name"] == "result 0"
        assert "self.down(hidden)" in line_of(verdict)

    @pytest.mark.parametrize("norm", [nn.LayerNorm, nn.RMSNorm])
    def test_block(self, norm):
        def parallel(model, mesh):
            parallelize_module(model, mesh, {**ATTENTION, **MLP})

        assert check_module(Block(norm=norm), parallel, torch.randn(1, 3, 4), mesh=TP)

    @pytest.mark.parametrize("norms", [True, False])
    def test_sequence_parallel(self, norms):
        """Without SequenceParallel, gradients of a norm's weights lack the other ranks' tokens."""

        def parallel(model, mesh):
            plan = {
                "attention": PrepareModuleInput(
                    input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)
                ),
                **ATTENTION,
                "attention.o": RowwiseParallel(output_layouts=Shard(1)),
                "mlp.up": ColwiseParallel(input_layouts=Shard(1)),
                "mlp.down": RowwiseParallel(output_layouts=Shard(1)),
                "norm1": SequenceParallel(),
            }
            if norms:
                plan["norm2"] = SequenceParallel()
            parallelize_module(model, mesh, plan)

        verdict = check_module(
            Block(), parallel, torch.randn(1, 4, 4), mesh=TP, placements=[["S1"]], outputs=[["S1"]]
        )
        assert verdict.rule == (None if norms else "value")
        if not norms:
            assert "norm2" in verdict.counterexample.facts["output_name"]
        assert verdict.kind is not p2.Kind.unknown

    def test_vocabulary_parallel_loss(self):
        def parallel(model, mesh):
            parallelize_module(model.block, mesh, {**ATTENTION, **MLP})
            plan = {
                "embedding": RowwiseParallel(input_layouts=Replicate()),
                "head": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False),
            }
            parallelize_module(model, mesh, plan)

        def step(model, tokens, targets):
            logits = model(tokens).flatten(0, 1)
            if not isinstance(logits, DTensor):
                loss = F.cross_entropy(logits, targets.flatten())
                loss.backward()
                return loss
            with loss_parallel():
                loss = F.cross_entropy(logits, targets.flatten())
                loss.backward()
            return loss.full_tensor()

        tokens, targets = torch.randint(0, 6, (1, 3)), torch.randint(0, 6, (1, 3))
        verdict = check_module(Language(), parallel, tokens, targets, mesh=TP, step=step)
        assert verdict
        assert verdict.assumed == ("input 0 is 0 to 5", "input 1 is 0 to 5 or -100")


def shard(model, mesh):
    for each in (model.up, model.down):
        fully_shard(each, mesh=mesh)
    fully_shard(model, mesh=mesh)


def train(make_optimizer=None, total=torch.mean):
    def step(model, x):
        optimizer = make_optimizer(model.parameters()) if make_optimizer else None
        loss = total(model(x).square())
        loss.backward()
        if optimizer is not None:
            optimizer.step()
        return loss

    return step


class TestFullyShard:
    @pytest.mark.parametrize(
        "optimizer",
        [
            None,
            lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=0.01),
            lambda parameters: torch.optim.Adam(parameters, lr=0.01),
            lambda parameters: torch.optim.AdamW(parameters, lr=0.01),
        ],
        ids=["gradients", "SGD", "Adam", "AdamW"],
    )
    def test_training_step(self, optimizer):
        verdict = check_module(
            Mlp(), shard, torch.randn(4, 4), mesh=DP, step=train(optimizer), placements=[["S0"]],
            outputs=[["avg"]],
        )  # fmt: skip
        assert verdict

    @pytest.mark.parametrize(("width", "ranks"), [(5, 2), (2, 3)])
    def test_uneven_parameters(self, width, ranks):
        """Of 2 rows over 3 ranks, the last has none."""
        verdict = check_module(
            Mlp(width, 7), shard, torch.randn(ranks, width), mesh={"dp": ranks}, step=train(),
            placements=[["S0"]], outputs=[["avg"]],
        )  # fmt: skip
        assert verdict

    def test_sum_of_losses_with_averaged_gradients(self):
        verdict = check_module(
            Mlp(), shard, torch.randn(4, 4), mesh=DP, step=train(total=torch.sum), placements=[["S0"]],
            outputs=[["P"]],
        )  # fmt: skip
        assert verdict.rule == "value"
        assert verdict.counterexample.facts["output_name"].startswith("gradient of")

    def test_ignored_targets(self):
        """The mean of the ranks' means is not the mean where ranks ignore different numbers of targets."""

        def step(model, x, targets):
            loss = F.cross_entropy(model(x), targets)
            loss.backward()
            return loss

        def ask(**options):
            return check_module(
                nn.Linear(4, 6), lambda model, mesh: fully_shard(model, mesh=mesh), torch.randn(4, 4),
                torch.randint(0, 6, (4,)), mesh=DP, step=step, placements=[["S0"], ["S0"]],
                outputs=[["avg"]], **options,
            )  # fmt: skip

        assert ask().rule == "value"
        assert ask(ranges={1: (0, 5)})

    @pytest.mark.parametrize("total", [torch.mean, torch.sum], ids=["mean", "sum"])
    def test_relu_between_blocks(self, total):
        """Devices scale what comes back through ReLU and may be infinite: it is linear."""

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm, self.up, self.down = nn.RMSNorm(4), nn.Linear(4, 8), nn.Linear(8, 4)

            def forward(self, x):
                return x + self.down(F.relu(self.up(self.norm(x))))

        verdict = check_module(
            nn.Sequential(Block(), Block()), lambda model, mesh: fully_shard(model, mesh=mesh),
            torch.randn(4, 4), mesh=DP, step=train(total=total), placements=[["S0"]],
            outputs=[["avg"]] if total is torch.mean else [["P"]],
        )  # fmt: skip
        assert verdict if total is torch.mean else verdict.rule == "value"

    def test_optimizer_of_gathered_parameters(self):
        """Parameters of a module between forward and backward are not those that FSDP trains."""

        def step(model, x):
            loss = model(x).square().mean()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            loss.backward()
            optimizer.step()
            return loss

        def whole(model, mesh):
            fully_shard(model, mesh=mesh, reshard_after_forward=False)

        verdict = check_module(
            Mlp(), whole, torch.randn(4, 4), mesh=DP, step=step, placements=[["S0"]], outputs=[["avg"]]
        )
        assert verdict.rule == "value"
        assert verdict.counterexample.facts["output_name"].startswith("new ")

    def test_two_dimensions(self):
        def parallel(model, mesh):
            mlp_parallel(model, mesh["tp"])
            fully_shard(model, mesh=mesh["dp"])

        verdict = check_module(
            Mlp(), parallel, torch.randn(2, 4), mesh={"dp": 2, "tp": 2}, step=train(),
            placements=[["S0", "R"]], outputs=[["avg", "R"]],
        )  # fmt: skip
        assert verdict


class TestDTensor:
    PLACEMENTS = [Replicate(), Shard(0), Shard(1), Partial()]

    @pytest.mark.parametrize("source", PLACEMENTS, ids=str)
    @pytest.mark.parametrize("target", PLACEMENTS, ids=str)
    def test_redistribute(self, source, target):
        if source.is_replicate() and target.is_partial():
            pytest.skip("PyTorch does not redistribute from Replicate to Partial")
        verdict = check_step(
            lambda x: x.redistribute(placements=[target]),
            lambda x: x.clone(),
            torch.randn(4, 6),
            mesh=TP,
            placements=[[source]],
        )
        assert verdict

    @pytest.mark.parametrize(
        ("name", "operation", "placements"),
        [
            ("matmul", lambda a, b: a @ b, [[Shard(1)], [Shard(0)]]),
            ("columns", lambda a, b: a @ b, [[Replicate()], [Shard(1)]]),
            ("add", lambda a, b: a + b.t(), [[Partial()], [Replicate()]]),
            ("softmax", lambda a, b: a.softmax(1) @ b, [[Shard(1)], [Shard(0)]]),
            ("mean", lambda a, b: a.mean(0) + b.mean(1), [[Shard(0)], [Shard(1)]]),
            ("transpose", lambda a, b: a.t() * b, [[Shard(0)], [Shard(0)]]),
            ("norm", lambda a, b: F.layer_norm(a, (6,)) @ b, [[Shard(1)], [Replicate()]]),
            ("view", lambda a, b: a.view(2, 2, 6).sum(0) @ b, [[Shard(0)], [Replicate()]]),
            ("cat", lambda a, b: torch.cat([a, b.t()]), [[Shard(0)], [Shard(1)]]),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_sharding_rules(self, name, operation, placements):
        args = [torch.randn(4, 6, requires_grad=True), torch.randn(6, 4, requires_grad=True)]
        assert check_step(operation, operation, *args, mesh=TP, placements=placements)

    def test_wrong_placement(self):
        def step(x, mesh):
            return DTensor.from_local(x.t(), mesh, [Shard(0)], run_check=False)

        verdict = check_step(step, lambda x: x * 1, torch.randn(4, 4), mesh=TP, placements=[["S1"]])
        assert verdict.rule == "value"


def all_reduce(x, mesh, op=None):
    import torch.distributed as dist

    dist.all_reduce(x, op or dist.ReduceOp.SUM, group=mesh.get_group())
    return x


class TestByHand:
    """Calls of torch.distributed, which write to their arguments."""

    X, W = torch.randn(4, 6), torch.randn(6, 4)

    def ask(self, step, **options):
        return check_step(
            step, lambda x, w: x @ w, self.X, self.W, mesh=TP, placements=[["S1"], ["S0"]], **options
        )

    def test_row_parallel(self):
        assert self.ask(lambda x, w, mesh: all_reduce(x @ w, mesh))
        assert self.ask(lambda x, w, mesh: x @ w, outputs=[["P"]])
        assert self.ask(lambda x, w, mesh: x @ w).rule == "value"
        assert self.ask(lambda x, w, mesh: all_reduce(x @ w, mesh) / 2).rule == "value"
        assert self.ask(lambda x, w, mesh: all_reduce(all_reduce(x @ w, mesh), mesh)).rule == "value"

    def test_views_and_writes(self):
        def step(x, w, mesh):
            whole = torch.empty(4, 4)
            part = x @ w
            whole[:, 2:] = part[:, 2:]
            whole.t()[:2].copy_(part.t()[:2])
            all_reduce(whole, mesh)
            return whole

        assert self.ask(step)

    def test_gather(self):
        import torch.distributed as dist

        def step(x, mesh, order=1):
            parts = [torch.empty(2, 6) for _ in range(2)]
            dist.all_gather(parts, x, group=mesh.get_group())
            return torch.cat(parts[::order])

        def ask(fn):
            return check_step(fn, lambda x: x * 1, self.X, mesh=TP, placements=[["S0"]])

        assert ask(step)
        assert ask(lambda x, mesh: step(x, mesh, -1)).rule == "value"

    def test_ranks_that_do_different_things(self):
        """Rank 0 alone adds the bias before the sum; both of them, and it is added twice."""

        def step(x, w, mesh, everywhere=False):
            part = x @ w
            if everywhere or mesh.get_rank() == 0:
                part = part + 1
            return all_reduce(part, mesh)

        def ask(fn):
            return check_step(
                fn, lambda x, w: x @ w + 1, self.X, self.W, mesh=TP, placements=[["S1"], ["S0"]]
            )

        assert ask(step)
        assert ask(lambda x, w, mesh: step(x, w, mesh, True)).rule == "value"

    def test_a_rank_that_leaves_out_a_call(self):
        def step(x, w, mesh):
            part = x @ w
            return all_reduce(part, mesh) if mesh.get_rank() == 0 else part

        assert self.ask(step).kind is p2.Kind.invalid

    def test_mesh_is_made_inside(self):
        from torch.distributed.device_mesh import init_device_mesh

        assert self.ask(lambda x, w: all_reduce(x @ w, init_device_mesh("cpu", (2,))))


class TestRefusals:
    def test_random_numbers(self):
        def step(x):
            return F.dropout(x, 0.5)

        with pytest.raises(p2.InputError, match=r"random at .*test_torch_live.py:\d+ \(step\)"):
            trace(step, torch.randn(4), mesh=TP, rank=0)

    @pytest.mark.parametrize(
        "look", [lambda x: x.sum().item(), lambda x: x.tolist(), lambda x: bool(x[0] > 0), torch.nonzero]
    )
    def test_numbers_that_depend_on_inputs(self, look):
        with pytest.raises(p2.InputError, match="depends on inputs"):
            trace(lambda x: x * (1 if look(x) is not None else 2), torch.randn(4), mesh=TP, rank=0)

    def test_functions_that_are_not_known_keep_their_arguments(self):
        def step(x, p):
            return torch.special.zeta(x, torch.full_like(x, p))

        def ask(p):
            return check_step(lambda x: step(x, p), lambda x: step(x, 2.0), torch.rand(4) + 2, mesh=TP)

        assert any("zeta" in each for each in ask(2.0).assumed)
        assert ask(3.0).kind is not p2.Kind.valid

    def test_process_group_exists(self):
        import torch.distributed as dist
        from torch.testing._internal.distributed.fake_pg import FakeStore

        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
        try:
            with pytest.raises(p2.InputError, match="exists already"):
                trace(lambda x: x, torch.randn(4), mesh=TP, rank=0)
        finally:
            dist.destroy_process_group()


def test_trace_has_forward_and_backward():
    def step(x, w, mesh):
        x = DTensor.from_local(x, mesh, [Replicate()])
        w = DTensor.from_local(w, mesh, [Shard(1)])
        return (x @ w).to_local()

    args = [torch.randn(4, 6, requires_grad=True), torch.randn(6, 2, requires_grad=True)]
    graph = trace(step, *args, mesh=TP, rank=1)
    operations = [node.op for node in graph.nodes]
    assert operations.count("aten.mm.default") == 3
    assert operations.count("_c10d_functional.all_reduce.default") == 1  # of the gradient of x
    assert list(graph.groups.values()) == [[0, 1]]
    assert any(node.source.endswith("(step)") for node in graph.nodes)
    assert p2.torch.RankGraph.from_json(graph.to_json()) == graph


def test_assertions_of_the_plugin(pytester):
    pytester.makepyfile(
        """
        import torch

        def reference(x, w):
            return x @ w

        def missing(x, w, mesh):
            return x @ w                      # the all-reduce

        ARGS = torch.randn(4, 6), torch.randn(6, 4)
        HOW = dict(mesh={"tp": 2}, placements=[["S1"], ["S0"]])

        def test_right(p2):
            p2.assert_step(missing, reference, *ARGS, outputs=[["P"]], **HOW)
            linear = torch.nn.Linear(4, 4)
            p2.assert_module(linear, lambda model, mesh: model, torch.randn(2, 4), mesh={"tp": 2})

        def test_wrong(p2):
            p2.assert_step(missing, reference, *ARGS, **HOW)
        """
    )
    result = pytester.runpytest("-p", "p2_verify.pytest_plugin")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*Refuted: *invalid, value*", "*all-reduce (add) over axis tp*missing*"])


class TestRecords:
    """What PyTorch itself writes, read by check()."""

    @pytest.mark.parametrize(
        "name", ["Interleaved1F1B", "LoopedBFS", "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV"]
    )
    @pytest.mark.parametrize("kind", ["compute_only", "compute_comms"])
    def test_schedules(self, name, kind, tmp_path):
        import torch.distributed as dist
        from torch.distributed.pipelining import PipelineStage, schedules
        from torch.testing._internal.distributed.fake_pg import FakeStore

        schedule = getattr(schedules, f"Schedule{name}", None)
        if schedule is None:
            pytest.skip(f"this version of torch has no Schedule{name}")
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
        try:
            numbers = (0, 7) if "V" in name[-10:] and "Inter" not in name else (0, 4)
            device = torch.device("cpu")
            stages = [PipelineStage(nn.Linear(4, 4), number, 8, device) for number in numbers]
            made = schedule(stages, 8, loss_fn=F.mse_loss)
            made._dump_csv(str(tmp_path / "order.csv"), format=kind)
        finally:
            dist.destroy_process_group()
        text = (tmp_path / "order.csv").read_text()
        assert p2.check(tmp_path / "order.csv")
        assert p2.check(text.replace("0F0,", "", 1)).rule == "missing-work"
