#!/usr/bin/env python3
"""Training steps of Llama-shaped models: of one device, and of a pipeline of stages that are tensor
and data parallel, one module a stage.

    bench/llama_step.py --write FOLDER [--layers 4 --stages 2 --data 2 --tensor 2 …] [--wrong RULE[:K]]
    bench/llama_step.py --run build/release/bin/p2-verify [--preset 405b] [--certify FOLDER] …

--write puts single.hlo, stage0.hlo, … and relation.json into FOLDER; --run writes them to a
temporary folder, compares them and prints verdict, seconds and memory; with a certificate, if asked.

A layer is grouped-query attention with rotary positions and a causal mask, and a perceptron gated
by SiLU, both with root-mean-square norms and residuals. Tokens and targets are one-hot rows, so that
embedding and loss are dots with tables cut by vocabulary. The loss is the mean cross entropy. Weights are
updated by gradient descent. One device takes the batch as a whole; a data-parallel rank takes its
rows in microbatches, adds their gradients, and the ranks' by an all-reduce. With --wrong, the K-th
place of its kind in one of the stages is wrong.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

PRESETS = {
    "small": {},
    "405b": {"layers": 126, "stages": 16, "data": 64, "tensor": 8, "microbatches": 16, "rows": 1,
             "tokens": 8192, "hidden": 16384, "heads": 8, "queries": 16, "head": 128,
             "inner": 53248, "vocabulary": 128256},
}

# What may be wrong.
WRONG = {
    "model-sum-forward": "an all-reduce over the tensor-parallel ranks is left out, forward",
    "model-sum-backward": "… backward",
    "model-group": "an all-reduce is over the data-parallel ranks instead",
    "data-sum": "the gradient of a weight is not added over the data-parallel ranks",
    "scale": "a gradient is taken half",
    "microbatch-lost": "the gradient of the first microbatch is not added",
    "microbatch-twice": "… is added twice",
    "microbatch-swapped": "a stage goes back with the activations of another microbatch",
    "gradient-swapped": "a weight is updated with the gradient of another layer's",
    "weight-swapped": "a layer computes with another layer's weight",
    "backward-swapped": "… backward only",
    "residual": "the gradient of a residual is left out",
    "local-mean": "the loss is the mean over a rank's tokens",
    "rank-swapped": "activations go to another data-parallel rank of the next stage",
    "epsilon": "ε of a norm is added twice",
}

REDUCERS = """
largest {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b)
}
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
"""

WEIGHTS = ["g1", "wq", "wk", "wv", "wo", "g2", "gate", "up", "down"]


def braces(dims):
    return "{" + ",".join(map(str, dims)) + "}"


class Value:
    """An array of a program: its name and shape."""

    def __init__(self, name, shape):
        self.name, self.shape = name, tuple(shape)


class Program:
    """The text of a program of one device, or of each of `data` × `tensor` devices."""

    def __init__(self, args, data, tensor, wrong=None):
        self.args, self.data, self.tensor = args, data, tensor
        self.lines, self.names, self.inputs, self.channels = [], [], 0, 0
        self.wrong, self.places, self.constants = wrong, {}, {}
        self.kv, self.inner = args.heads // tensor, args.inner // tensor
        self.vocabulary = args.vocabulary // tensor

    def is_wrong(self, kind):
        """Whether this place is to be wrong; counts the places of a kind."""
        number = self.places.get(kind, 0)
        self.places[kind] = number + 1
        return self.wrong == (kind, number)

    def add(self, text):
        self.lines.append(text)
        return f"v{len(self.lines) - 1}"

    def op(self, shape, opcode, *operands, **attributes):
        tail = "".join(f", {name}={value}" for name, value in attributes.items())
        names = ", ".join(each.name if isinstance(each, Value) else each for each in operands)
        kind = attributes.pop("type", "f32")
        return Value(self.add(f"{kind}[{','.join(map(str, shape))}] {opcode}({names})"
                              + tail.replace(f", type={kind}", "")), shape)

    def parameter(self, *shape):
        self.inputs += 1
        return self.op(shape, "parameter", str(self.inputs - 1))

    def constant(self, text):
        if text not in self.constants:
            self.constants[text] = self.op((), "constant", text)
        return self.constants[text]

    def broadcast(self, value, shape, *dimensions):
        return self.op(shape, "broadcast", value, dimensions=braces(dimensions))

    def full(self, text, shape):
        return self.broadcast(self.constant(text), shape)

    def each(self, opcode, *operands):
        return self.op(operands[-1].shape, opcode, *operands)

    def total(self, value, dimension, largest=False):
        shape = [n for i, n in enumerate(value.shape) if i != dimension]
        return self.op(shape, "reduce", value, self.constant("-inf" if largest else "0"),
                       dimensions=braces([dimension]), to_apply="largest" if largest else "sum")

    def dot(self, a, b, contracting, batch=((), ())):
        shape = [a.shape[i] for i in batch[0]]
        for value, dims in ((a, batch[0] + contracting[0]), (b, batch[1] + contracting[1])):
            shape += [n for i, n in enumerate(value.shape) if i not in dims]
        numbers = {}
        for kind, pair in (("batch", batch), ("contracting", contracting)):
            for side, dims in zip(("lhs", "rhs"), pair):
                if dims:
                    numbers[f"{side}_{kind}_dims"] = braces(dims)
        return self.op(shape, "dot", a, b, **numbers)

    def all_reduce(self, value, over_data=False, reducer="sum"):
        self.channels += 1
        groups = f"[{self.data},{self.tensor}]<=[{self.data * self.tensor}]"
        if over_data:
            groups = f"[{self.tensor},{self.data}]<=[{self.data},{self.tensor}]T(1,0)"
        return self.op(value.shape, "all-reduce", value, channel_id=100000 + self.channels,
                       replica_groups=groups, use_global_device_ids="true", to_apply=reducer)

    def over_model(self, value, kind, reducer="sum"):
        if self.tensor == 1 or self.is_wrong(kind):
            return value
        return self.all_reduce(value, self.data > 1 and self.is_wrong("model-group"), reducer)

    # The layers. Letters of shapes: b rows, s tokens, h hidden, k key-value heads, g queries of one,
    # d elements of a head, f inner.

    def norm(self, x, gain):
        b, s, h = x.shape
        square = self.total(self.each("multiply", x, x), 2)
        mean = self.each("multiply", square, self.full(f"{1 / h:.9g}", (b, s)))
        for _ in range(2 if self.tensor > 1 and self.is_wrong("epsilon") else 1):
            mean = self.each("add", mean, self.full("1e-05", (b, s)))
        scale = self.each("rsqrt", mean)
        unit = self.each("multiply", x, self.broadcast(scale, x.shape, 0, 1))
        return (self.each("multiply", unit, self.broadcast(gain, x.shape, 2)), unit, scale)

    def norm_backward(self, gradient, gain, unit, scale):
        """The gradients of the norm's input and of its gain."""
        b, s, h = unit.shape
        of_gain = self.total(self.total(self.each("multiply", gradient, unit), 0), 0)
        of_unit = self.each("multiply", gradient, self.broadcast(gain, unit.shape, 2))
        along = self.total(self.each("multiply", of_unit, unit), 2)
        mean = self.each("multiply", along, self.full(f"{1 / h:.9g}", (b, s)))
        across = self.each("subtract", of_unit,
                           self.each("multiply", unit, self.broadcast(mean, unit.shape, 0, 1)))
        return self.each("multiply", across, self.broadcast(scale, unit.shape, 0, 1)), of_gain

    def rotated(self, x, tables, token, backward=False):
        """x with rotary positions; `token` is the dimension of positions, the last one is cut."""
        last = len(x.shape) - 1
        half = x.shape[:-1] + (x.shape[-1] // 2,)

        def part(first):
            ranges = [f"[0:{n}]" for n in half[:-1]] + [f"[{first}:{first + half[-1]}]"]
            return self.op(half, "slice", x, slice="{" + ", ".join(ranges) + "}")

        low, high = part(0), part(half[-1])
        cosine, sine = (self.broadcast(table, half, token, last) for table in tables)

        def turned(kept, other, opcode):
            return self.each(opcode, self.each("multiply", kept, cosine),
                             self.each("multiply", other, sine))

        return self.op(x.shape, "concatenate",
                       turned(low, high, "add" if backward else "subtract"),
                       turned(high, low, "subtract" if backward else "add"),
                       dimensions=braces([last]))

    def causal(self, scores):
        """Where a query, dimension 2, may look at a key, dimension 4."""
        size = (self.args.tokens, self.args.tokens)
        if "causal" not in self.constants:
            rows, columns = (self.op(size, "iota", type="s32", iota_dimension=k) for k in (0, 1))
            self.constants["causal"] = self.op(size, "compare", rows, columns, type="pred",
                                               direction="GE")
        return self.op(scores.shape, "broadcast", self.constants["causal"], type="pred",
                       dimensions="{2,4}")

    def layer(self, x, weights, tables):
        """The layer's output, and what its backward pass uses."""
        g1, wq, wk, wv, wo, g2, gate, up, down = weights
        n1, unit1, scale1 = self.norm(x, g1)
        q = self.rotated(self.dot(n1, wq, ((2,), (0,))), tables, 1)      # b s k g d
        k = self.rotated(self.dot(n1, wk, ((2,), (0,))), tables, 1)      # b s k d
        v = self.dot(n1, wv, ((2,), (0,)))
        batch = ((0, 2), (0, 2))
        s = self.dot(q, k, ((4,), (3,)), batch)                          # b k s g t
        s = self.each("multiply", s, self.full(f"{self.args.head ** -0.5:.9g}", s.shape))
        mask = self.causal(s)
        s = self.each("select", mask, s, self.full("-1e+30", s.shape))
        largest = self.broadcast(self.total(s, 4, True), s.shape, 0, 1, 2, 3)
        e = self.each("exponential", self.each("subtract", s, largest))
        p = self.each("divide", e, self.broadcast(self.total(e, 4), s.shape, 0, 1, 2, 3))
        o = self.dot(p, v, ((4,), (1,)), ((0, 1), (0, 2)))               # b k s g d
        attended = self.dot(o, wo, ((1, 3, 4), (0, 1, 2)))               # b s h
        x1 = self.each("add", x, self.over_model(attended, "model-sum-forward"))
        n2, unit2, scale2 = self.norm(x1, g2)
        gated = self.dot(n2, gate, ((2,), (0,)))
        upper = self.dot(n2, up, ((2,), (0,)))
        sigmoid = self.each("logistic", gated)
        active = self.each("multiply", gated, sigmoid)
        product = self.each("multiply", active, upper)
        out = self.over_model(self.dot(product, down, ((2,), (0,))), "model-sum-forward")
        kept = (n1, unit1, scale1, q, k, v, mask, p, o, n2, unit2, scale2, gated, upper, sigmoid,
                active, product)
        return self.each("add", x1, out), kept

    def layer_backward(self, dx, weights, tables, kept):
        """The gradients of the layer's input and of its weights."""
        g1, wq, wk, wv, wo, g2, gate, up, down = weights
        (n1, unit1, scale1, q, k, v, mask, p, o, n2, unit2, scale2, gated, upper, sigmoid, active,
         product) = kept
        rows = ((0, 1), (0, 1))
        of_product = self.dot(dx, down, ((2,), (1,)))
        of_down = self.dot(product, dx, rows)
        of_active = self.each("multiply", of_product, upper)
        of_upper = self.each("multiply", of_product, active)
        one = self.full("1", gated.shape)
        slope = self.each("multiply", sigmoid, self.each(
            "add", one, self.each("multiply", gated, self.each("subtract", one, sigmoid))))
        of_gated = self.each("multiply", of_active, slope)
        of_gate, of_up = self.dot(n2, of_gated, rows), self.dot(n2, of_upper, rows)
        of_n2 = self.each("add", self.dot(of_gated, gate, ((2,), (1,))),
                          self.dot(of_upper, up, ((2,), (1,))))
        of_n2 = self.over_model(of_n2, "model-sum-backward")
        through, of_g2 = self.norm_backward(of_n2, g2, unit2, scale2)
        dx = through if self.is_wrong("residual") else self.each("add", dx, through)

        of_o = self.dot(dx, wo, ((2,), (3,)))                            # b s k g d
        of_wo = self.dot(o, dx, ((0, 2), (0, 1)))                        # k g d h
        of_p = self.dot(of_o, v, ((4,), (3,)), ((0, 2), (0, 2)))         # b k s g t
        of_v = self.dot(p, of_o, ((2, 3), (1, 3)), ((0, 1), (0, 2)))     # b k t d
        mean = self.total(self.each("multiply", of_p, p), 4)
        of_s = self.each("multiply", p, self.each(
            "subtract", of_p, self.broadcast(mean, p.shape, 0, 1, 2, 3)))
        of_s = self.each("select", mask, of_s, self.full("0", p.shape))
        of_s = self.each("multiply", of_s, self.full(f"{self.args.head ** -0.5:.9g}", p.shape))
        of_q = self.dot(of_s, k, ((4,), (1,)), ((0, 1), (0, 2)))         # b k s g d
        of_k = self.dot(of_s, q, ((2, 3), (1, 3)), ((0, 1), (0, 2)))     # b k t d
        of_q = self.rotated(of_q, tables, 2, backward=True)
        of_k = self.rotated(of_k, tables, 2, backward=True)
        of_wq = self.dot(n1, of_q, ((0, 1), (0, 2)))                     # h k g d
        of_wk = self.dot(n1, of_k, ((0, 1), (0, 2)))                     # h k d
        of_wv = self.dot(n1, of_v, ((0, 1), (0, 2)))
        of_n1 = self.each("add", self.dot(of_q, wq, ((1, 3, 4), (1, 2, 3))),
                          self.dot(of_k, wk, ((1, 3), (1, 2))))
        of_n1 = self.each("add", of_n1, self.dot(of_v, wv, ((1, 3), (1, 2))))
        of_n1 = self.over_model(of_n1, "model-sum-backward")
        through, of_g1 = self.norm_backward(of_n1, g1, unit1, scale1)
        dx = through if self.is_wrong("residual") else self.each("add", dx, through)
        return dx, [of_g1, of_wq, of_wk, of_wv, of_wo, of_g2, of_gate, of_up, of_down]

    def embedded(self, tokens, table):
        return self.over_model(self.dot(tokens, table, ((2,), (0,))), "model-sum-forward")

    def loss(self, x, gain, table, targets):
        """The loss, and the gradients of x, the gain and the table."""
        a = self.args
        count = a.rows * a.microbatches * a.data * a.tokens
        if self.data > 1 and self.is_wrong("local-mean"):
            count //= a.data
        n, unit, scale = self.norm(x, gain)
        logits = self.dot(n, table, ((2,), (0,)))                        # b s v
        largest = self.total(logits, 2, True)
        if self.tensor > 1:
            largest = self.all_reduce(largest, reducer="largest")
        shifted = self.each("subtract", logits, self.broadcast(largest, logits.shape, 0, 1))
        e = self.each("exponential", shifted)
        sums = self.over_model(self.total(e, 2), "model-sum-forward")
        hit = self.over_model(self.total(self.each("multiply", targets, shifted), 2),
                              "model-sum-forward")
        each = self.each("subtract", self.each("log", sums), hit)
        all_of = self.total(self.total(each, 0), 0)
        loss = self.each("multiply", all_of, self.constant(f"{1 / count:.9g}"))
        p = self.each("divide", e, self.broadcast(sums, logits.shape, 0, 1))
        of_logits = self.each("multiply", self.each("subtract", p, targets),
                              self.full(f"{1 / count:.9g}", logits.shape))
        of_table = self.dot(n, of_logits, ((0, 1), (0, 1)))
        of_n = self.over_model(self.dot(of_logits, table, ((2,), (1,))), "model-sum-backward")
        dx, of_gain = self.norm_backward(of_n, gain, unit, scale)
        return loss, dx, of_gain, of_table

    def updated(self, weight, gradients):
        """The weight after a step, for its gradient in every microbatch."""
        if self.is_wrong("microbatch-lost"):
            gradients = gradients[1:] or [self.full("0", weight.shape)]
        if self.is_wrong("microbatch-twice"):
            gradients = gradients + gradients[:1]
        gradient = gradients[0]
        for more in gradients[1:]:
            gradient = self.each("add", gradient, more)
        if self.data > 1 and not self.is_wrong("data-sum"):
            gradient = self.all_reduce(gradient, over_data=True)
        rate = "0.25" if self.is_wrong("scale") else "0.5"
        return self.each("subtract", weight,
                         self.each("multiply", gradient, self.full(rate, weight.shape)))

    def layer_weights(self):
        a = self.args
        return [self.parameter(*shape) for shape in (
            (a.hidden,), (a.hidden, self.kv, a.queries, a.head), (a.hidden, self.kv, a.head),
            (a.hidden, self.kv, a.head), (self.kv, a.queries, a.head, a.hidden), (a.hidden,),
            (a.hidden, self.inner), (a.hidden, self.inner), (self.inner, a.hidden))]

    def tables(self):
        return [self.parameter(self.args.tokens, self.args.head // 2) for _ in range(2)]

    def part_of(self, value, number):
        """The rows of a microbatch."""
        rows = self.args.rows
        ranges = [f"[{number * rows}:{(number + 1) * rows}]"] + [f"[0:{n}]" for n in value.shape[1:]]
        return self.op((rows,) + value.shape[1:], "slice", value,
                       slice="{" + ", ".join(ranges) + "}")

    def text(self, name, results):
        body = "".join(f"  v{i} = {line}\n" for i, line in enumerate(self.lines))
        shapes = ", ".join(f"f32[{','.join(map(str, each.shape))}]" for each in results)
        names = ", ".join(each.name for each in results)
        return (f"HloModule {name}, num_partitions={self.data * self.tensor}, is_scheduled=true\n"
                f"{REDUCERS}ENTRY main {{\n{body}  ROOT out = ({shapes}) tuple({names})\n}}\n")


def layers_of(args, stage):
    """The layers of a stage."""
    each, more = divmod(args.layers, args.stages)
    first = stage * each + min(stage, more)
    return range(first, first + each + (stage < more))


class Stage(Program):
    """A stage of the pipeline: all microbatches forward, then backward."""

    def __init__(self, args, stage, wrong=None):
        super().__init__(args, args.data, args.tensor, wrong)
        self.stage, self.numbers = stage, {}
        self.token = self.add("token[] after-all()")

    def message(self, source, target, number, forward, value=None):
        """Sends `value` to another stage, or receives what is sent."""
        a, size = self.args, self.args.data * self.args.tensor
        channel = (number * a.stages + min(source, target)) * 2 + forward + 1
        ids = list(range(size))
        if self.wrong == ("rank-swapped", source) and forward:
            ids = ids[a.tensor:] + ids[:a.tensor]
        pairs = ",".join(f"{{{source * size + k},{target * size + ids[k]}}}" for k in range(size))
        tail = (f"channel_id={channel}, "
                f"frontend_attributes={{_xla_send_recv_source_target_pairs={{{pairs}}}}}")
        shape = (a.rows, a.tokens, a.hidden)
        array = f"f32[{','.join(map(str, shape))}]"
        if value is not None:
            send = self.add(f"({array}, u32[], token[]) send({value.name}, {self.token}), {tail}")
            self.add(f"token[] send-done({send}), channel_id={channel}")
            return None
        recv = self.add(f"({array}, u32[], token[]) recv({self.token}), {tail}")
        done = self.add(f"({array}, token[]) recv-done({recv}), channel_id={channel}")
        return Value(self.add(f"{array} get-tuple-element({done}), index=0"), shape)

    def build(self):
        a, last = self.args, self.args.stages - 1
        layers = layers_of(a, self.stage)
        weights = {}

        def declare(names, values):
            for name, value in zip(names, values):
                self.numbers[name] = self.inputs - len(values) + values.index(value)
                weights[name] = value

        for each in layers:
            declare([f"{name}.{each}" for name in WEIGHTS], self.layer_weights())
        declare(["cosine", "sine"], self.tables())
        tables = [weights.pop("cosine"), weights.pop("sine")]
        rows = a.rows * a.microbatches * (a.data if self.data != a.data else 1)
        if self.stage == 0:
            declare(["embedding"], [self.parameter(self.vocabulary, a.hidden)])
            declare(["tokens"], [self.parameter(rows, a.tokens, self.vocabulary)])
            tokens = weights.pop("tokens")
        if self.stage == last:
            declare(["gain"], [self.parameter(a.hidden)])
            declare(["unembedding"], [self.parameter(a.hidden, self.vocabulary)])
            declare(["targets"], [self.parameter(rows, a.tokens, self.vocabulary)])
            targets = weights.pop("targets")
        gradients = {name: [] for name in weights}
        used = dict(weights)
        if len(layers) > 1:
            for name in WEIGHTS:
                for first, second in zip(layers, layers[1:]):
                    if self.is_wrong("weight-swapped"):
                        one, two = f"{name}.{first}", f"{name}.{second}"
                        used[one], used[two] = used[two], used[one]
        xs, kept, losses = [], [], []
        for number in range(a.microbatches):
            if self.stage == 0:
                part = tokens if rows == a.rows else self.part_of(tokens, number)
                kept_tokens = part
                x = self.embedded(part, used["embedding"])
            else:
                x = self.message(self.stage - 1, self.stage, number, True)
                kept_tokens = None
            saved = []
            for each in layers:
                x, more = self.layer(x, [used[f"{name}.{each}"] for name in WEIGHTS], tables)
                saved.append(more)
            xs.append(x)
            kept.append((saved, kept_tokens))
            if self.stage < last:
                self.message(self.stage, self.stage + 1, number, True, x)
        backward = dict(used)
        if len(layers) > 1:
            for name in WEIGHTS:
                one, two = f"{name}.{layers[0]}", f"{name}.{layers[1]}"
                if self.is_wrong("backward-swapped"):
                    backward[one], backward[two] = backward[two], backward[one]
        if a.microbatches > 1 and self.is_wrong("microbatch-swapped"):
            kept[0], kept[1] = kept[1], kept[0]
        for number in range(a.microbatches):
            saved, part = kept[number]
            if self.stage == last:
                of_batch = targets if rows == a.rows else self.part_of(targets, number)
                loss, dx, of_gain, of_table = self.loss(xs[number], used["gain"],
                                                        used["unembedding"], of_batch)
                losses.append(loss)
                gradients["gain"].append(of_gain)
                gradients["unembedding"].append(of_table)
            else:
                dx = self.message(self.stage + 1, self.stage, number, False)
            for each, more in zip(reversed(layers), reversed(saved)):
                dx, of_weights = self.layer_backward(
                    dx, [backward[f"{name}.{each}"] for name in WEIGHTS], tables, more)
                for name, gradient in zip(WEIGHTS, of_weights):
                    gradients[f"{name}.{each}"].append(gradient)
            if self.stage > 0:
                self.message(self.stage, self.stage - 1, number, False, dx)
            else:
                gradients["embedding"].append(self.dot(part, dx, ((0, 1), (0, 1))))
        if len(layers) > 1:
            for name in WEIGHTS:
                one, two = f"{name}.{layers[0]}", f"{name}.{layers[1]}"
                if self.is_wrong("gradient-swapped"):
                    gradients[one], gradients[two] = gradients[two], gradients[one]
        results = {name: self.updated(weight, gradients[name])
                   for name, weight in weights.items()}
        if losses:
            loss = losses[0]
            for more in losses[1:]:
                loss = self.each("add", loss, more)
            results["loss"] = self.all_reduce(loss, over_data=True) if self.data > 1 else loss
        return results


class Single(Stage):
    """The step of one device, which takes the batch as a whole."""

    def __init__(self, args):
        whole = argparse.Namespace(**vars(args))
        whole.rows, whole.microbatches = args.rows * args.microbatches * args.data, 1
        whole.data = whole.tensor = whole.stages = 1
        super().__init__(whole, 0)


def dims_of(name):
    """The axes that cut an input or output."""
    kind = name.split(".")[0]
    return {"wq": [[], ["model"], [], []], "wk": [[], ["model"], []], "wv": [[], ["model"], []],
            "wo": [["model"], [], [], []], "gate": [[], ["model"]], "up": [[], ["model"]],
            "down": [["model"], []], "embedding": [["model"], []], "unembedding": [[], ["model"]],
            "tokens": [["data"], [], ["model"]], "targets": [["data"], [], ["model"]]}.get(kind)


def write(folder, args):
    """Writes the modules and their relation; how many places there are of each kind of mistake."""
    single = Single(args)
    outputs = single.build()
    names = list(outputs)
    with open(os.path.join(folder, "single.hlo"), "w", encoding="ascii") as file:
        file.write(single.text("single", list(outputs.values())))
    size = args.data * args.tensor
    inputs, placed, modules, places = {}, {}, {}, {}
    stage_wrong = None
    if args.wrong:
        kind, _, number = args.wrong.partition(":")
        stage_wrong = (kind, int(number or 0))
    for number in range(args.stages):
        wrong = None
        if stage_wrong:
            first = places.get(stage_wrong[0], 0)
            wrong = (stage_wrong[0], stage_wrong[1] - first)
            if stage_wrong[0] == "rank-swapped":  # both of two stages
                wrong = stage_wrong
        stage = Stage(args, number, wrong)
        results = stage.build()
        for kind, count in stage.places.items():
            places[kind] = places.get(kind, 0) + count
        devices = f"{number * size}-{(number + 1) * size - 1}"
        modules[devices] = f"stage{number}.hlo"
        with open(os.path.join(folder, f"stage{number}.hlo"), "w", encoding="ascii") as file:
            file.write(stage.text(f"stage{number}", list(results.values())))
        for name, at in stage.numbers.items():
            inputs.setdefault(name, {})[devices] = at
        for at, name in enumerate(results):
            placed.setdefault(name, {})[devices] = at

    if args.data > 1 and args.stages > 1:
        places["rank-swapped"] = args.stages - 1

    def entry(name, after):
        dims = dims_of(name)
        return {"after": after, "relation": "replicated" if dims is None else {"dims": dims}}

    with open(os.path.join(folder, "relation.json"), "w", encoding="ascii") as file:
        json.dump({"format": "p2-relation/1", "devices": args.stages * size,
                   "mesh": {"stage": args.stages, "data": args.data, "model": args.tensor},
                   "modules": modules,
                   "inputs": {str(at): entry(name, inputs[name])
                              for name, at in single.numbers.items()},
                   "outputs": {str(at): entry(name, placed[name])
                               for at, name in enumerate(names)}}, file)
    return places


def run(args, folder):
    start = time.monotonic()
    command = [args.run, "check", "--before", os.path.join(folder, "single.hlo"), "--relate",
               os.path.join(folder, "relation.json")]
    if args.engine:
        command += ["--engine", args.engine]
    if args.certify:
        command += ["--certify", args.certify]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - start
    words = result.stdout.split("\n", maxsplit=1)[0].split(": ", maxsplit=1)
    verdict = words[1].split(" ")[0].rstrip(",") if len(words) > 1 else result.stderr.strip()
    return verdict, seconds, result.stdout


def random_options(rng):
    tensor, data, stages = rng.choice([(2, 1, 1), (1, 2, 1), (2, 2, 1), (1, 1, 2), (2, 1, 2),
                                       (1, 2, 2), (2, 2, 2), (1, 1, 3), (3, 1, 1), (1, 3, 1)])
    return {"tensor": tensor, "data": data, "stages": stages,
            "layers": stages + rng.randrange(2), "microbatches": rng.choice([1, 2, 2, 3]),
            "rows": rng.choice([1, 1, 2]), "tokens": 2, "hidden": 2,
            "heads": tensor * rng.choice([1, 1, 2]), "queries": rng.choice([1, 2]), "head": 2,
            "inner": tensor * rng.choice([1, 2]), "vocabulary": 2 * tensor}


def random_check(args):
    """Random steps, of which every other one is wrong: what each engine finds."""
    rng = random.Random(args.seed)
    counts, bad = {}, 0
    for number in range(args.random):
        for name, value in random_options(rng).items():
            setattr(args, name, value)
        args.wrong = None
        with tempfile.TemporaryDirectory() as folder:
            places = write(folder, args)
            kinds = [kind for kind in WRONG if places.get(kind)]
            if number % 2 and kinds:
                kind = rng.choice(kinds)
                args.wrong = f"{kind}:{rng.randrange(places[kind])}"
                write(folder, args)
            verdicts = []
            for args.engine in ("symbolic", "interpreter"):
                verdicts.append(run(args, folder)[0])
            args.engine, args.certify = None, os.path.join(folder, "certificate")
            certified = "\ncertificate: " in run(args, folder)[2]
            args.certify = None
        key = ("wrong" if args.wrong else "right", *verdicts, "certified" if certified else "")
        counts[key] = counts.get(key, 0) + 1
        if certified == bool(args.wrong):
            bad += 1
            print(f"{number}: {'a' if certified else 'no'} certificate, {args.wrong}", flush=True)
        expected = (["valid", "valid"],) if not args.wrong else (
            ["unknown", "invalid"], ["unknown", "unknown"], ["invalid", "invalid"])
        if verdicts not in expected:
            bad += 1
            options = {name: getattr(args, name) for name in random_options(random.Random(0))}
            print(f"{number}: {verdicts} {args.wrong} {options}", flush=True)
    for key, count in sorted(counts.items()):
        print(count, *key)
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    small = {"layers": 2, "stages": 2, "data": 2, "tensor": 2, "microbatches": 2, "rows": 1,
             "tokens": 2, "hidden": 2, "heads": 2, "queries": 1, "head": 2, "inner": 2,
             "vocabulary": 2}
    parser.add_argument("--preset", choices=sorted(PRESETS), default="small")
    for name in small:
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--wrong", help=", ".join(WRONG))
    parser.add_argument("--write", metavar="FOLDER")
    parser.add_argument("--run", metavar="PROGRAM")
    parser.add_argument("--engine")
    parser.add_argument("--certify", metavar="FOLDER", help="write the certificate there")
    parser.add_argument("--random", type=int, metavar="N", help="check N random small steps")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    for name, value in {**small, **PRESETS[args.preset]}.items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    if args.wrong and args.wrong.partition(":")[0] not in WRONG:
        parser.error(f"--wrong {args.wrong}: expected one of {', '.join(WRONG)}")
    if args.random:
        return random_check(args)
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.write or temporary
        os.makedirs(folder, exist_ok=True)
        places = write(folder, args)
        if args.wrong and places.get(args.wrong.partition(":")[0], 0) <= int(
                args.wrong.partition(":")[2] or 0):
            parser.error(f"--wrong {args.wrong}: there are {places}")
        if not args.run:
            return 0
        verdict, seconds, text = run(args, folder)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{args.layers} layers, {args.stages} stages × data {args.data} × tensor "
              f"{args.tensor}, {args.microbatches} microbatches: {verdict}, {seconds:.1f} s, "
              f"{used.ru_utime + used.ru_stime:.1f} s of processor, {used.ru_maxrss // 1024} MiB")
        if verdict != "valid":
            print(text[:1500])
    return 0


if __name__ == "__main__":
    sys.exit(main())
