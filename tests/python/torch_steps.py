"""Random training steps of PyTorch, and what several processes compute of them.

A step is a small model, a way to spread it over 2 or 4 ranks, a loss and perhaps an optimizer. Half of the steps
have a mistake. What is right is measured: processes that communicate over gloo run the step in double precision,
and their loss, gradients and parameters after it are compared with those of a single process.
"""

import json
import math
import multiprocessing
import random
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.multiprocessing import start_processes

ACTIVATIONS = {
    "relu": F.relu,
    "gelu": F.gelu,
    "silu": F.silu,
    "tanh": torch.tanh,
    "gelu of tanh": lambda x: F.gelu(x, approximate="tanh"),
}
OPTIMIZERS = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.1),
    "SGD with momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=0.01),
    "Adam": lambda parameters: torch.optim.Adam(parameters, lr=0.01),
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=0.01),
}


@dataclass(frozen=True)
class Strategy:
    """A way to spread a step: where the batch lies, what the ranks' losses are, and mistakes that users make."""

    mesh: dict[str, int]
    batch: list[str]
    loss: list[str]
    mistakes: list[str]


STRATEGIES = {
    "tensor parallel": Strategy({"tp": 2}, ["R"], ["R"], ["unsummed block", "scaled loss", "unsummed head"]),
    "sequence parallel": Strategy({"tp": 2}, ["R"], ["R"], ["unsummed norm"]),
    "FSDP": Strategy({"dp": 2}, ["S0"], ["avg"], ["sum of losses", "scaled loss", "ignored head"]),
    "by hand": Strategy(
        {"dp": 2}, ["S0"], ["avg"], ["sum of gradients", "averaged twice", "skipped parameter", "no reduction"]
    ),
    "FSDP and tensor parallel": Strategy(
        {"dp": 2, "tp": 2}, ["S0", "R"], ["avg", "R"], ["sum of losses", "scaled loss", "unsummed block"]
    ),
    "HSDP": Strategy({"rep": 2, "dp": 2}, ["S0", "S0"], ["avg", "avg"], ["sum of losses", "scaled loss", "one axis"]),
}


@dataclass(frozen=True)
class Shape:
    """Of a transformer block, which may lack attention and biases."""

    width: int
    heads: int
    hidden: int
    norm: type[nn.Module]
    activation: str
    causal: bool
    bias: bool
    attention: bool


class Attention(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=shape.bias) for _ in range(4))
        self.head, self.causal = width // shape.heads, shape.causal

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, _ = x.shape
        q, k, v = (each(x).view(batch, tokens, -1, self.head).transpose(1, 2) for each in (self.q, self.k, self.v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.o(mixed.transpose(1, 2).reshape(batch, tokens, -1))


class Block(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.attends = shape.attention
        if self.attends:
            self.norm1, self.attention = shape.norm(shape.width), Attention(shape)
        self.norm2 = shape.norm(shape.width)
        self.up = nn.Linear(shape.width, shape.hidden, bias=shape.bias)
        self.down = nn.Linear(shape.hidden, shape.width, bias=shape.bias)
        self.activation = ACTIVATIONS[shape.activation]

    def forward(self, x: Tensor) -> Tensor:
        if self.attends:
            x = x + self.attention(self.norm1(x))
        return x + self.down(self.activation(self.up(self.norm2(x))))


class Model(nn.Module):
    """A block and a head; before it, an embedding of words, or nothing.

    group: over which the step itself reduces gradients. scale: of the loss. Both are set where the model is spread.
    """

    group: dist.ProcessGroup | None = None
    scale = 1.0

    def __init__(self, shape: Shape, words: int, embeds: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, shape.width) if embeds else nn.Identity()
        self.block = Block(shape)
        self.head = nn.Linear(shape.width, words, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.block(self.embedding(x)))


@dataclass(frozen=True)
class Step:
    """One training step, as check_module and the processes are given it.

    mistake: one of the strategy's. scale: of the loss, where that is the mistake. skipped: the number of the
    parameter that a skipped reduction leaves out.
    """

    strategy: str
    mistake: str | None
    mesh: dict[str, int]
    shape: Shape
    words: int
    embeds: bool
    loss: str
    optimizer: str | None
    scale: float
    skipped: int
    args: list[Tensor] = field(repr=False)

    @property
    def ranks(self) -> int:
        return math.prod(self.mesh.values())

    @property
    def batch(self) -> list[str]:
        """The placement of both arguments."""
        return STRATEGIES[self.strategy].batch

    @property
    def result(self) -> list[str] | None:
        """The placement of the loss; None where users know that the ranks' losses are not the loss."""
        if self.mistake in ("sum of losses", "scaled loss"):
            return None
        return STRATEGIES[self.strategy].loss

    @property
    def ranges(self) -> dict[int, tuple[int, int]]:
        """Words are smaller than their number."""
        return {number: (0, self.words - 1) for number, each in enumerate(self.args) if not each.is_floating_point()}

    def model(self) -> Model:
        """The same on every call."""
        torch.manual_seed(1)
        return Model(self.shape, self.words, self.embeds).double()

    def parallelize(self, model: Model, mesh: DeviceMesh) -> None:
        """Spreads a model over a mesh with the names of `self.mesh`."""
        model.scale = self.scale
        if self.strategy == "tensor parallel":
            self.split_tensors(model, mesh)
        elif self.strategy == "sequence parallel":
            self.split_tokens(model, mesh)
        elif self.strategy == "by hand":
            model.group = None if self.mistake == "no reduction" else mesh.get_group("dp")
        elif self.strategy == "FSDP and tensor parallel":
            self.split_tensors(model, mesh["tp"])
            self.shard_parameters(model, mesh["dp"])
        else:
            self.shard_parameters(model, mesh["dp"] if self.mistake == "one axis" else mesh)

    def split_tensors(self, model: Model, mesh: DeviceMesh) -> None:
        """Tensor parallelism, with the embedding's rows and the head's columns split, too."""
        down = {"output_layouts": Partial()} if self.mistake == "unsummed block" else {}
        plan = {"up": ColwiseParallel(), "down": RowwiseParallel(**down)}
        if self.shape.attention:
            plan |= {f"attention.{each}": ColwiseParallel() for each in "qkv"}
            plan["attention.o"] = RowwiseParallel()
        parallelize_module(model.block, mesh, plan)
        ends = {"head": ColwiseParallel(output_layouts=Replicate())}
        if self.mistake == "unsummed head":
            ends["head"] = RowwiseParallel(input_layouts=Replicate(), output_layouts=Partial())
        if self.embeds:
            ends["embedding"] = RowwiseParallel(input_layouts=Replicate())
        parallelize_module(model, mesh, ends)

    def split_tokens(self, model: Model, mesh: DeviceMesh) -> None:
        """Sequence parallelism: between attention and MLP, every rank has a part of the tokens."""
        tokens, replicated = Shard(1), Replicate()
        plan = {"up": ColwiseParallel(input_layouts=tokens), "down": RowwiseParallel(output_layouts=tokens)}
        if self.mistake != "unsummed norm":  # else gradients of its weights lack the other ranks' tokens
            plan["norm2"] = SequenceParallel()
        if self.shape.attention:
            plan["norm1"] = SequenceParallel()
            plan["attention"] = PrepareModuleInput(input_layouts=(tokens,), desired_input_layouts=(replicated,))
            plan |= {f"attention.{each}": ColwiseParallel() for each in "qkv"}
            plan["attention.o"] = RowwiseParallel(output_layouts=tokens)
        parallelize_module(model.block, mesh, plan)
        ends = {
            "block": PrepareModuleInput(
                input_layouts=(replicated,), desired_input_layouts=(tokens,), use_local_output=True
            ),
            "head": ColwiseParallel(input_layouts=tokens, output_layouts=replicated),
        }
        parallelize_module(model, mesh, ends)

    def shard_parameters(self, model: Model, mesh: DeviceMesh) -> None:
        """FSDP2; HSDP where the mesh has two axes."""
        fully_shard(model.block, mesh=mesh)
        ignored = set(model.head.parameters()) if self.mistake == "ignored head" else None
        fully_shard(model, mesh=mesh, ignored_params=ignored)

    def train(self, model: Model, x: Tensor, y: Tensor) -> Tensor:
        """The step itself, on one device and on several."""
        optimizer = OPTIMIZERS[self.optimizer](model.parameters()) if self.optimizer else None
        loss = self.loss_of(model(x), y)
        if model.scale != 1:
            loss = loss * model.scale
        loss.backward()
        if model.group is not None:
            self.reduce_gradients(model)
        if optimizer is not None:
            optimizer.step()
        return loss

    def loss_of(self, found: Tensor, wanted: Tensor) -> Tensor:
        reduction = "sum" if self.mistake == "sum of losses" else "mean"
        if self.loss == "cross entropy":
            return F.cross_entropy(found.flatten(0, 1), wanted.flatten(), reduction=reduction)
        squares = (found - wanted).square()
        return squares.sum() if reduction == "sum" else squares.mean()

    def reduce_gradients(self, model: Model) -> None:
        """Averages gradients over the ranks, as DistributedDataParallel does, but for the mistake."""
        ranks = dist.get_world_size(model.group)
        for number, parameter in enumerate(model.parameters()):
            if self.mistake == "skipped parameter" and number == self.skipped:
                continue
            dist.all_reduce(parameter.grad, group=model.group)
            if self.mistake != "sum of gradients":
                parameter.grad.div_(ranks)
            if self.mistake == "averaged twice":
                parameter.grad.div_(ranks)


def draw_shape(draw: random.Random) -> tuple[Shape, int]:
    """A block, and the number of words."""
    width = draw.choice([4, 8])
    heads = 2 if width == 4 else draw.choice([2, 4])
    hidden, words = draw.choice([4, 8]), draw.choice([4, 6, 8])
    norm, activation = draw.choice([nn.LayerNorm, nn.RMSNorm]), draw.choice(list(ACTIVATIONS))
    causal, bias, attention = draw.random() < 0.5, draw.random() < 0.5, draw.random() < 0.6
    return Shape(width, heads, hidden, norm, activation, causal, bias, attention), words


def draw_step(seed: int) -> Step:
    """The step of a seed, with a mistake in one of two."""
    draw = random.Random(seed)
    shape, words = draw_shape(draw)
    name = draw.choice(list(STRATEGIES))
    strategy = STRATEGIES[name]
    tokens, mesh = draw.choice([2, 4]), strategy.mesh
    if mesh == {"dp": 2} and draw.random() < 0.3:
        mesh = {"dp": 4}
    embeds = draw.random() < 0.5 and name != "sequence parallel"
    loss = "cross entropy" if embeds or draw.random() < 0.3 else "squares"
    optimizer = draw.choice([None, None, *OPTIMIZERS])
    mistake = draw.choice(strategy.mistakes) if draw.random() < 0.5 else None
    scale = draw.choice([0.5, 2.0]) if mistake == "scaled loss" else 1.0
    skipped = draw.randrange(3)

    numbers = torch.Generator().manual_seed(seed)

    def tensor(of_words: bool, width: int) -> Tensor:
        """One word per token, or `width` numbers per token."""
        sizes = zip(mesh.values(), strategy.batch, strict=True)
        batch = math.prod(size for size, placement in sizes if placement == "S0")
        if of_words:
            return torch.randint(0, words, (batch, tokens), generator=numbers)
        return torch.randn(batch, tokens, width, dtype=torch.float64, generator=numbers)

    args = [tensor(embeds, shape.width), tensor(loss == "cross entropy", words)]
    return Step(name, mistake, mesh, shape, words, embeds, loss, optimizer, scale, skipped, args)


def whole(tensor: Tensor) -> Tensor:
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def run(step: Step, model: Model, args: list[Tensor]) -> dict[str, Tensor]:
    """The loss, and every gradient and parameter after the step, gathered."""
    found = {"loss": step.train(model, *args).detach()}
    for name, parameter in model.named_parameters():
        found[f"gradient of {name}"] = whole(parameter.grad)
        found[f"new {name}"] = whole(parameter.detach())
    return found


def local(tensor: Tensor, step: Step, mesh: DeviceMesh) -> Tensor:
    """This rank's part of an argument."""
    for axis, (size, placement) in enumerate(zip(step.mesh.values(), step.batch, strict=True)):
        if placement == "S0":
            tensor = tensor.chunk(size)[mesh.get_local_rank(axis)]
    return tensor


def loss_of_ranks(step: Step, loss: Tensor) -> Tensor:
    """The ranks' losses, averaged over the axes where they are those of parts of the batch."""
    losses = [torch.zeros_like(loss) for _ in range(step.ranks)]
    dist.all_gather(losses, loss)
    averaged = [axis for axis, placement in enumerate(step.result) if placement == "avg"]
    result = torch.stack(losses).view(*step.mesh.values())
    return result.mean(averaged) if averaged else result


def compare(step: Step) -> list[str]:
    """Names of what one process and several compute differently; asked in each of the several."""
    mesh = init_device_mesh("cpu", tuple(step.mesh.values()), mesh_dim_names=tuple(step.mesh))
    one = run(step, step.model(), step.args)
    model = step.model()
    step.parallelize(model, mesh)
    several = run(step, model, [local(each, step, mesh) for each in step.args])
    assert one.keys() == several.keys()
    if step.result is None:
        del one["loss"]
    else:
        several["loss"] = loss_of_ranks(step, several["loss"])
    different = {name for name, value in one.items() if not torch.allclose(value, several[name], rtol=1e-7, atol=1e-9)}
    everywhere: list[Any] = [None] * step.ranks
    dist.all_gather_object(everywhere, different)
    return sorted(set().union(*everywhere))


def process(rank: int, ranks: int, steps: list[Step], folder: Path) -> None:
    """One of the processes; the first writes what was found of every step."""
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/processes-{ranks}",
        rank=rank,
        world_size=ranks,
        timeout=timedelta(minutes=2),
    )
    found = [compare(each) for each in steps]
    if rank == 0:
        (folder / f"differences-{ranks}.json").write_text(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()


def differences(steps: list[Step], folder: Path) -> list[list[str]]:
    """Of every step, the names of what several processes compute differently: none where it is right.

    folder: an empty one, for the processes to meet in. Raises what a process raises.
    """
    result: list[list[str]] = [[] for _ in steps]
    for ranks in (2, 4):
        numbers = [number for number, step in enumerate(steps) if step.ranks == ranks]
        if not numbers:
            continue
        # A process that has run backwards cannot be forked; its server imports torch once for all.
        multiprocessing.set_forkserver_preload(["torch_steps"])
        chosen = [steps[number] for number in numbers]
        start_processes(process, (ranks, chosen, folder.resolve()), nprocs=ranks, start_method="forkserver")
        found = json.loads((folder / f"differences-{ranks}.json").read_text())
        for number, names in zip(numbers, found, strict=True):
            result[number] = names
    return result
