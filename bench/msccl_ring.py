#!/usr/bin/env python3
"""How long p2-verify takes for ring AllReduces in MSCCL XML, beside a plain replay in Python.

    bench/msccl_ring.py build/release/bin/p2-verify [--ranks 64 256 1024] [--replay-up-to 256]

Writes the files to a temporary folder, checks each with p2-verify, and replays those of at most
--replay-up-to ranks: thread blocks take turns, FIFOs are lists, a chunk is a dict from contribution
to count. The replay looks at one interleaving and at the result only; p2-verify looks at all, and
at races, deadlocks and bounds too.
"""

import argparse
import collections
import os
import resource
import subprocess
import tempfile
import time
import xml.etree.ElementTree as ElementTree

STEP = ('<step s="{}" type="{}" srcbuf="{}" srcoff="{}" dstbuf="{}" dstoff="{}" cnt="1" '
        'depid="-1" deps="-1" hasdep="0"/>\n')


def write_ring(path, n):
    with open(path, "w", encoding="ascii") as file:
        file.write(f'<algo name="ring" coll="allreduce" proto="Simple" nchannels="1" '
                   f'nchunksperloop="{n}" ngpus="{n}" inplace="1" outofplace="1" '
                   f'minBytes="0" maxBytes="0">\n')
        for rank in range(n):
            steps = [("s", rank)]
            steps += [("rrs", rank - hop) for hop in range(1, n - 1)]
            steps += [("rrcs", rank + 1)]
            steps += [("rcs", rank - hop) for hop in range(n, 2 * n - 2)]
            steps += [("r", rank + 2)]
            file.write(f'<gpu id="{rank}" i_chunks="{n}" o_chunks="{n}" s_chunks="0">\n'
                       f'<tb id="0" send="{(rank + 1) % n}" recv="{(rank - 1) % n}" chan="0">\n')
            for s, (kind, chunk) in enumerate(steps):
                chunk %= n
                file.write(STEP.format(s, kind, "i", chunk, "o", chunk))
            file.write("</tb>\n</gpu>\n")
        file.write("</algo>\n")


def replay(path):
    """Whether the one interleaving that is tried ends in an allreduce."""
    algo = ElementTree.parse(path).getroot()
    n = int(algo.get("ngpus"))
    chunks = int(algo.get("nchunksperloop"))
    memory = {}
    for rank in range(n):
        for chunk in range(chunks):
            memory["i", rank, chunk] = {(rank, chunk): 1}
    fifos = collections.defaultdict(collections.deque)
    blocks = []
    for gpu in algo:
        rank = int(gpu.get("id"))
        for tb in gpu:
            ends = (rank, int(tb.get("send")), int(tb.get("recv")), int(tb.get("chan")))
            blocks.append((ends, collections.deque(tb)))

    def add(a, b):
        total = dict(a)
        for contribution, count in b.items():
            total[contribution] = total.get(contribution, 0) + count
        return total

    moved = True
    while moved:
        moved = False
        for (rank, send, recv, channel), steps in blocks:
            while steps:
                step = steps[0]
                kind = step.get("type")
                value = None
                if kind in ("r", "rcs", "rrc", "rrcs", "rrs"):
                    fifo = fifos[recv, rank, channel]
                    if not fifo:
                        break
                    value = fifo.popleft()
                source = (step.get("srcbuf"), rank, int(step.get("srcoff")))
                if kind in ("s", "cpy"):
                    value = memory[source]
                if kind in ("rrc", "rrcs", "rrs"):
                    value = add(memory[source], value)
                if kind in ("r", "rcs", "rrc", "rrcs", "cpy"):
                    memory[step.get("dstbuf"), rank, int(step.get("dstoff"))] = value
                if kind in ("s", "rcs", "rrcs", "rrs"):
                    fifos[rank, send, channel].append(value)
                steps.popleft()
                moved = True
    if any(steps for _, steps in blocks):
        return False
    wanted = [{(rank, chunk): 1 for rank in range(n)} for chunk in range(chunks)]
    return all(memory["o", rank, chunk] == wanted[chunk]
               for rank in range(n) for chunk in range(chunks))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("p2_verify")
    parser.add_argument("--ranks", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--replay-up-to", type=int, default=256)
    arguments = parser.parse_args()
    print("ranks    steps      MB    elapsed        CPU    memory  replay CPU")
    with tempfile.TemporaryDirectory() as folder:
        for n in arguments.ranks:
            path = os.path.join(folder, f"ring{n}.xml")
            write_ring(path, n)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            start = time.perf_counter()
            subprocess.run([arguments.p2_verify, "check", path, "--progress", "never"],
                           check=True, stdout=subprocess.DEVNULL)
            checked = time.perf_counter() - start
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            peak = after.ru_maxrss / 1024
            replayed = "-"
            if n <= arguments.replay_up_to:
                start = time.process_time()
                assert replay(path)
                replayed = f"{time.process_time() - start:.1f} s"
            print(f"{n:5} {n * (2 * n - 1):8} {os.path.getsize(path) / 1e6:7.1f} "
                  f"{checked:8.2f} s {used:8.2f} s {peak:5.0f} MiB {replayed:>11}")
            os.remove(path)


if __name__ == "__main__":
    main()
