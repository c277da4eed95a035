"""Bugs that users of PyTorch met, in PyTorch's terms: each is refuted, and its fix accepted.

The threads are named in the docstrings; the programs are ours, as small as the mistake allows.
"""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import torch.distributed as dist  # noqa: E402
import torch.nn.functional as F  # noqa: E402, N812
from torch import nn  # noqa: E402
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard  # noqa: E402

import p2_verify as p2  # noqa: E402
from p2_verify.torch import check_module, check_step  # noqa: E402

TP, DP = {"tp": 2}, {"dp": 2}
S0, S1 = ["S0"], ["S1"]
torch.set_num_threads(1)


def summed(x, mesh, axis=None):
    x = x.contiguous()
    dist.all_reduce(x, group=mesh.get_group(axis))
    return x


def refuted(verdict):
    return verdict.rule == "value" and bool(verdict.counterexample.source)


def test_epsilon_on_every_rank():
    """pytorch #149768: epsilon is added on every rank, then summed."""

    def ask(step):
        return check_step(
            step, lambda x: x.square().sum() + 1e-3, torch.randn(8), mesh=TP, placements=[S0]
        )

    assert refuted(ask(lambda x, mesh: summed(x.square().sum() + 1e-3, mesh)))
    assert ask(lambda x, mesh: summed(x.square().sum(), mesh) + 1e-3)


def test_mean_over_uneven_shards():
    """pytorch #162692: the mean of the ranks' means, of 2 rows and of 1."""

    def ask(step):
        return check_step(step, lambda x: x.mean(0), torch.randn(3, 2), mesh=TP, placements=[S0])

    assert refuted(ask(lambda x, mesh: summed(x.mean(0), mesh) / 2))
    assert ask(lambda x, mesh: summed(x.sum(0), mesh) / 3)


def test_view_without_redistribution():
    """pytorch #179502: every rank views its own shard, as if it had all."""

    def ask(step):
        return check_step(
            step, lambda x: x.view(2, 2, 4).sum(1), torch.randn(4, 4), mesh=TP, placements=[[Shard(1)]]
        )

    def wrong(x, mesh):
        local = x.to_local().reshape(1, 2, 4).sum(1)
        return DTensor.from_local(local, mesh, [Shard(0)], run_check=False)

    assert refuted(ask(wrong))
    assert ask(lambda x: x.redistribute(placements=[Replicate()]).view(2, 2, 4).sum(1))


def test_row_of_an_uneven_shard():
    """pytorch PR #194457: a flattened all-gather of uneven shards loses a row."""

    def gathered(x, mesh, rows):
        padded = torch.zeros(3, 2)
        padded[: x.shape[0]] = x
        whole = torch.empty(6, 2)
        dist.all_gather_into_tensor(whole, padded, group=mesh.get_group())
        lost = torch.zeros(3 - rows, 2)
        return torch.cat([whole[:rows], lost, whole[3:5]])

    def ask(rows):
        return check_step(
            lambda x, mesh: gathered(x, mesh, rows), lambda x: x * 1, torch.randn(5, 2), mesh=TP,
            placements=[S0],
        )  # fmt: skip

    assert refuted(ask(2))
    assert ask(3)


def test_reduce_scatter_before_the_sum_of_the_embedding():
    """NVIDIA/Megatron-LM #844: the sequence is scattered before the vocabulary's parts are summed."""

    def embedded(tokens, table, mesh):
        rank, rows = mesh.get_rank(), table.shape[0]
        outside = (tokens < rank * rows) | (tokens >= (rank + 1) * rows)
        local = torch.where(outside, 0, tokens - rank * rows)
        return F.embedding(local, table).masked_fill(outside.unsqueeze(-1), 0.0)

    def right(tokens, table, mesh):
        part = torch.empty(2, 3)
        dist.reduce_scatter_tensor(part, embedded(tokens, table, mesh), group=mesh.get_group())
        return part

    def wrong(tokens, table, mesh):
        rank = mesh.get_rank()
        return embedded(tokens, table, mesh)[2 * rank : 2 * rank + 2]

    def ask(step):
        tokens = torch.randint(0, 6, (4,))
        return check_step(
            step, lambda tokens, table: F.embedding(tokens, table), tokens, torch.randn(6, 3), mesh=TP,
            placements=[["R"], S0], outputs=[S0],
        )  # fmt: skip

    assert refuted(ask(wrong))
    assert ask(right)


def test_logarithm_of_a_tensor_parallel_loss():
    """NVIDIA/Megatron-LM #7452: the logarithm is taken before the reduction."""

    def ask(step):
        return check_step(
            step, lambda x: x.exp().sum().log(), torch.randn(8), mesh=TP, placements=[S0]
        )

    assert refuted(ask(lambda x, mesh: summed(x.exp().sum().log(), mesh)))
    assert ask(lambda x, mesh: summed(x.exp().sum(), mesh).log())


@pytest.mark.parametrize(("axis", "is_right"), [("replica", False), ("data", True)])
def test_data_parallel_group_of_size_one(axis, is_right):
    """VeOmni PR #1115: gradients are reduced over a group of one rank, which does nothing."""

    def parallel(model, mesh):
        model.mesh = mesh

    def step(model, x):
        loss = model(x).square().sum()
        loss.backward()
        if hasattr(model, "mesh"):
            for parameter in model.parameters():
                parameter.grad = summed(parameter.grad, model.mesh, axis)

    verdict = check_module(
        nn.Linear(3, 2), parallel, torch.randn(4, 3), mesh={"data": 2, "replica": 1}, step=step,
        placements=[["S0", "R"]],
    )  # fmt: skip
    assert bool(verdict) if is_right else refuted(verdict)


def test_gradient_of_a_tied_embedding():
    """openxla/xla #42481, in PyTorch: the gradient of the table lacks the other ranks' tokens."""

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Parameter(torch.randn(4, 2))

        def forward(self, tokens):
            return F.embedding(tokens, self.table) @ self.table.t()

    def step(model, tokens):
        model(tokens).square().sum().backward()
        if getattr(model, "mesh", None) is not None:
            model.table.grad = summed(model.table.grad, model.mesh)

    def ask(reduces):
        def parallel(model, mesh):
            model.mesh = mesh if reduces else None

        tokens = torch.randint(0, 4, (2,))
        return check_module(Tied(), parallel, tokens, mesh=DP, step=step, placements=[S0])

    assert refuted(ask(False))
    assert ask(True)


def test_fused_weight_cut_at_the_wrong_place():
    """nyu-systems/Entangle, tp2_layer1.broken: a fused weight is cut as a whole, not part by part."""

    class Fused(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(8, 4))

        def forward(self, x):
            gate, up = (x @ self.weight.t()).chunk(2, -1)
            return (gate.sigmoid() * up).sum(-1)

    def forward(model, x):
        result = model(x)
        return summed(result, model.mesh) if hasattr(model, "mesh") else result

    def ask(by_parts):
        def parallel(model, mesh):
            whole = model.weight.detach()
            if by_parts:  # each rank has all rows, and takes half of each part
                rank = mesh.get_rank()

                def own(x):
                    gate, up = model.weight.chunk(2)
                    rows = slice(2 * rank, 2 * rank + 2)
                    return ((x @ gate[rows].t()).sigmoid() * (x @ up[rows].t())).sum(-1)

                model.forward = own
            else:
                model.weight = nn.Parameter(whole.chunk(2)[mesh.get_rank()].clone())
            model.mesh = mesh

        return check_module(
            Fused(), parallel, torch.randn(2, 4), mesh=TP, step=forward,
            parameters={} if by_parts else {"weight": S0},
        )  # fmt: skip

    assert refuted(ask(False))
    assert ask(True)


def test_partial_sums_in_a_nonlinear_function():
    """A DTensor that is a partial sum goes through a function as it is (pytorch #179502's kin)."""

    def ask(step):
        return check_step(step, torch.relu, torch.randn(4), mesh=TP, placements=[[Partial()]])

    def wrong(x, mesh):
        return DTensor.from_local(torch.relu(x.to_local()), mesh, [Partial()], run_check=False)

    assert refuted(ask(wrong))
    assert ask(torch.relu)


def test_last_stage_of_a_schedule():
    """torch 2.15, Schedule1F1B._get_pipeline_order(): the last rank's forwards begin with microbatch 1."""
    from torch.distributed.pipelining import PipelineStage, schedules
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
    try:
        stage = PipelineStage(nn.Linear(4, 4), 0, 4, torch.device("cpu"))
        made = schedules.Schedule1F1B(stage, 8, loss_fn=F.mse_loss)
        if not hasattr(made, "_get_pipeline_order") or made._get_pipeline_order() is None:
            pytest.skip("this version of torch has no order of Schedule1F1B")
        order = made._get_pipeline_order()
    finally:
        dist.destroy_process_group()

    def text(order):
        rows = (",".join("" if each is None else str(each) for each in order[rank]) for rank in sorted(order))
        return "\n".join(rows) + "\n"

    forwards = [each.microbatch_index for each in order[3] if each is not None and str(each)[1] == "F"]
    assert (p2.check(text(order)).kind is p2.Kind.valid) == (forwards == list(range(8)))
    moved = text(order)
    if forwards == list(range(1, 9)):
        for number in range(1, 9):
            moved = moved.replace(f"3F{number}", f"3F{number - 1}")
        assert p2.check(moved)
