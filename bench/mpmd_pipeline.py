#!/usr/bin/env python3
"""How long p2-verify takes for pipelines of tensor-parallel decoder stages, one module a stage.

    bench/mpmd_pipeline.py build/release/bin/p2-verify [--stages 2 4 16] [--devices 8] [--layers 2]
                           [--microbatches 1] [--wrong]

Writes the single-device program, the stages and their relation to a temporary folder and compares
them. A layer is attention with heads cut over the devices of a stage, and a gated multi-layer
perceptron, both with residuals and root-mean-square norms, which are calls; every microbatch is a message of its
own. With --wrong, the last stage lacks one all-reduce.
"""

import argparse
import json
import os
import resource
import subprocess
import tempfile
import time

TOKENS, HIDDEN, HEAD, INNER = 512, 2048, 128, 8192

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


class Program:
    """The text of a program, line by line; `parts` devices share each layer."""

    def __init__(self, parts):
        self.parts, self.lines, self.inputs, self.channels = parts, [], 0, 0

    def add(self, text):
        self.lines.append(text)
        return f"v{len(self.lines) - 1}"

    def op(self, shape, opcode, *operands, **attributes):
        tail = "".join(f", {name}={value}" for name, value in attributes.items())
        size = ",".join(map(str, shape))
        return self.add(f"f32[{size}] {opcode}({', '.join(operands)}){tail}")

    def parameter(self, *shape):
        self.inputs += 1
        return self.op(shape, "parameter", str(self.inputs - 1))

    def dot(self, shape, a, b, batch=((), ()), contracting=((1,), (0,))):
        numbers = {}
        for side, dims in zip(("lhs", "rhs"), batch):
            if dims:
                numbers[f"{side}_batch_dims"] = "{" + ",".join(map(str, dims)) + "}"
        for side, dims in zip(("lhs", "rhs"), contracting):
            numbers[f"{side}_contracting_dims"] = "{" + ",".join(map(str, dims)) + "}"
        return self.op(shape, "dot", a, b, **numbers)

    def reduced(self, value):
        if self.parts == 1:
            return value
        self.channels += 1
        group = ",".join(map(str, range(self.parts)))
        return self.op((TOKENS, HIDDEN), "all-reduce", value, channel_id=1000 + self.channels,
                       replica_groups="{{" + group + "}}", use_global_device_ids="true",
                       to_apply="sum")

    def norm(self, x):
        return self.op((TOKENS, HIDDEN), "custom-call", x,
                       custom_call_target='"AwsNeuronRmsNorm"')

    def weights(self):
        part = HIDDEN // self.parts
        return [self.parameter(HIDDEN, part) for _ in range(3)] + [
            self.parameter(part, HIDDEN), self.parameter(HIDDEN, INNER // self.parts),
            self.parameter(HIDDEN, INNER // self.parts), self.parameter(INNER // self.parts, HIDDEN)]

    def layer(self, x, weights, wrong=False):
        wq, wk, wv, wo, gate, up, down = weights
        heads = HIDDEN // HEAD // self.parts
        full, part = (TOKENS, HIDDEN), (TOKENS, HIDDEN // self.parts)
        normed = self.norm(x)
        q, k, v = (self.op((TOKENS, heads, HEAD), "reshape", self.dot(part, normed, w))
                   for w in (wq, wk, wv))
        scores, rows = (heads, TOKENS, TOKENS), (heads, TOKENS)
        s = self.dot(scores, q, k, ((1,), (1,)), ((2,), (2,)))
        low = self.op((), "constant", "-inf")
        largest = self.op(rows, "reduce", s, low, dimensions="{2}", to_apply="largest")
        shifted = self.op(scores, "subtract", s,
                          self.op(scores, "broadcast", largest, dimensions="{0,1}"))
        e = self.op(scores, "exponential", shifted)
        zero = self.op((), "constant", "0")
        total = self.op(rows, "reduce", e, zero, dimensions="{2}", to_apply="sum")
        p = self.op(scores, "divide", e, self.op(scores, "broadcast", total, dimensions="{0,1}"))
        o = self.dot((heads, TOKENS, HEAD), p, v, ((0,), (1,)), ((2,), (0,)))
        joined = self.op(part, "reshape",
                         self.op((TOKENS, heads, HEAD), "transpose", o, dimensions="{1,0,2}"))
        x = self.op(full, "add", x, self.reduced(self.dot(full, joined, wo)))
        normed = self.norm(x)
        inner = (TOKENS, INNER // self.parts)
        gated = self.op(inner, "tanh", self.dot(inner, normed, gate))
        product = self.op(inner, "multiply", gated, self.dot(inner, normed, up))
        out = self.dot(full, product, down)
        return self.op(full, "add", x, out if wrong else self.reduced(out))

    def text(self, name, results):
        body = "".join(f"  v{i} = {line}\n" for i, line in enumerate(self.lines))
        shape = ", ".join([f"f32[{TOKENS},{HIDDEN}]"] * len(results))
        return (f"HloModule {name}, num_partitions={self.parts}, is_scheduled=true\n{REDUCERS}"
                f"ENTRY main {{\n{body}  ROOT out = ({shape}) tuple({', '.join(results)})\n}}\n")


def context():
    return f"(f32[{TOKENS},{HIDDEN}], u32[], token[])"


def pairs(source, devices):
    each = ",".join(f"{{{source * devices + d},{(source + 1) * devices + d}}}"
                    for d in range(devices))
    return f"frontend_attributes={{_xla_send_recv_source_target_pairs={{{each}}}}}"


def stage_text(stage, args):
    program = Program(args.devices)
    weights = [program.weights() for _ in range(args.layers)]
    token = program.add("token[] after-all()")
    results = []
    for batch in range(args.microbatches):
        if stage == 0:
            x = program.parameter(TOKENS, HIDDEN)
        else:
            channel = f"channel_id={(stage - 1) * args.microbatches + batch + 1}"
            recv = program.add(f"{context()} recv({token}), {channel}, "
                               f"{pairs(stage - 1, args.devices)}")
            done = program.add(f"(f32[{TOKENS},{HIDDEN}], token[]) recv-done({recv}), {channel}")
            x = program.op((TOKENS, HIDDEN), "get-tuple-element", done, index=0)
        for k, each in enumerate(weights):
            last = stage + 1 == args.stages and k + 1 == args.layers
            x = program.layer(x, each, args.wrong and last)
        if stage + 1 == args.stages:
            results.append(x)
            continue
        channel = f"channel_id={stage * args.microbatches + batch + 1}"
        send = program.add(f"{context()} send({x}, {token}), {channel}, "
                           f"{pairs(stage, args.devices)}")
        program.add(f"token[] send-done({send}), {channel}")
    return program.text(f"stage{stage}", results)


def write(folder, args):
    single = Program(1)
    weights = [single.weights() for _ in range(args.stages * args.layers)]
    results = []
    for _ in range(args.microbatches):
        x = single.parameter(TOKENS, HIDDEN)
        for each in weights:
            x = single.layer(x, each)
        results.append(x)
    with open(os.path.join(folder, "single.hlo"), "w", encoding="ascii") as file:
        file.write(single.text("single", results))
    ranges = [f"{s * args.devices}-{(s + 1) * args.devices - 1}" for s in range(args.stages)]
    inputs, outputs = {}, {}
    for s, devices in enumerate(ranges):
        with open(os.path.join(folder, f"stage{s}.hlo"), "w", encoding="ascii") as file:
            file.write(stage_text(s, args))
        for k in range(7 * args.layers):
            dims = [[], ["model"]] if k % 7 not in (3, 6) else [["model"], []]
            inputs[7 * args.layers * s + k] = (devices, k, {"dims": dims})
    for b in range(args.microbatches):
        inputs[7 * args.layers * args.stages + b] = (ranges[0], 7 * args.layers + b, "replicated")
        outputs[b] = (ranges[-1], b, "replicated")
    entries = lambda all_of: {str(n): {"after": {devices: number}, "relation": relation}
                              for n, (devices, number, relation) in all_of.items()}

    with open(os.path.join(folder, "relation.json"), "w", encoding="ascii") as file:
        json.dump({"format": "p2-relation/1", "devices": args.stages * args.devices,
                   "mesh": {"stage": args.stages, "model": args.devices},
                   "modules": {r: f"stage{s}.hlo" for s, r in enumerate(ranges)},
                   "inputs": entries(inputs), "outputs": entries(outputs)}, file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--stages", type=int, nargs="+", default=[2, 4, 8, 16])
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--microbatches", type=int, default=1)
    parser.add_argument("--wrong", action="store_true")
    args = parser.parse_args()
    print("stages  devices  layers  verdict   seconds  MiB of all runs so far")
    for stages in args.stages:
        args.stages = stages
        with tempfile.TemporaryDirectory() as folder:
            write(folder, args)
            start = time.monotonic()
            run = subprocess.run([args.program, "check", "--before", os.path.join(folder, "single.hlo"),
                                  "--relate", os.path.join(folder, "relation.json")],
                                 capture_output=True, text=True, check=False)
            seconds = time.monotonic() - start
        words = run.stdout.split("\n", maxsplit=1)[0].split(": ", maxsplit=1)
        verdict = words[1].split(" ")[0] if len(words) > 1 else run.stderr.strip()
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
        print(f"{stages:6}  {stages * args.devices:7}  {stages * args.layers:6}  {verdict:8}  "
              f"{seconds:7.2f}  {peak:3}")


if __name__ == "__main__":
    main()
