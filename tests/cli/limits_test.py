"""Limits hold: p2-verify ends within a second of --timeout, uses at most 10 % or 50 MiB more than --memory,
ends in exit 3 with what it has settled, and ends within a second of SIGINT and SIGTERM.

usage: limits_test.py P2_VERIFY [--random N] [--seed S]

Without --random, the questions below. With it, N random questions with random limits (from 0.1 to 5 s, although
the command line takes whole seconds: shorter ones are signals; 50 to 500 MiB): the campaign of target limits_campaign.
"""

import argparse
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

# A machine under load stretches the second.
SLACK_SECONDS = 1.0
START_SECONDS = 0.5
MEBIBYTE = 1024 * 1024


class Output:
    """What a process wrote, in a file: a process started later would count what this one holds of it as its own peak."""

    CHUNK = 1 << 20

    def __init__(self):
        self.file = tempfile.TemporaryFile()

    def count(self, text):
        wanted, kept, found = text.encode(), b"", 0
        self.file.seek(0)
        while chunk := self.file.read(self.CHUNK):
            kept += chunk
            found += kept.count(wanted)
            kept = kept[max(len(kept) - len(wanted) + 1, 0):]
        return found

    def __contains__(self, text):
        return self.count(text) > 0

    def end(self):
        size = self.file.seek(0, os.SEEK_END)
        self.file.seek(max(size - 300, 0))
        return self.file.read().decode(errors="replace")


class Run:
    """One process: its exit code, wall time, peak of resident memory, and output."""

    def __init__(self, program, words, signals=None, folder=None):
        self.out, self.err = Output(), Output()
        start = time.monotonic()
        process = subprocess.Popen([program] + words, stdout=self.out.file, stderr=self.err.file, cwd=folder)
        self.after_signal = None
        if signals:
            delay, number = signals
            try:
                process.wait(delay)
            except subprocess.TimeoutExpired:
                process.send_signal(number)
                sent = time.monotonic()
                process.wait()
                self.after_signal = time.monotonic() - sent
        _, status, usage = os.wait4(process.pid, 0) if process.returncode is None else (0, None, None)
        if status is not None:
            process.returncode = os.waitstatus_to_exitcode(status)
        self.seconds = time.monotonic() - start
        self.peak = usage.ru_maxrss * 1024 if usage else None
        self.exit = process.returncode


class Checker:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        self.failures = 0
        self.count = 0

    def expect(self, holds, words, run, what):
        if holds:
            return
        self.failures += 1
        print(f"FAILED: {what}\n  {' '.join(words)}\n  exit {run.exit}, {run.seconds:.2f} s, "
              f"{(run.peak or 0) / MEBIBYTE:.0f} MiB\n  {run.err.end()}", flush=True)

    def ask(self, words, timeout=None, memory=None, exits=(3,), keeps=None):
        """Asks with limits in seconds and MiB; `keeps` occurs in the output."""
        words = list(words)
        if timeout:
            words += ["--timeout", str(timeout)]
        if memory:
            words += ["--memory", str(memory)]
        run = Run(self.program, words, folder=self.folder)
        self.count += 1
        self.expect(run.exit in exits, words, run, f"exit code, expected one of {exits}")
        if timeout:
            self.expect(run.seconds <= timeout + SLACK_SECONDS + START_SECONDS, words, run, "time")
        if memory:
            allowed = max(memory * 1.1, memory + 50) * MEBIBYTE
            self.expect(run.peak <= allowed, words, run, "memory")
        if keeps:
            self.expect(keeps in run.out, words, run, f"'{keeps}' in the output")
        return run

    def interrupt(self, words, delay, number, keeps=None):
        run = Run(self.program, words, (delay, number), self.folder)
        self.count += 1
        if run.after_signal is None:
            return
        self.expect(run.exit == 128 + number, words, run, f"exit code, expected {128 + number}")
        self.expect(run.after_signal <= SLACK_SECONDS + START_SECONDS, words, run, "time after a signal")
        if keeps:
            self.expect(keeps in run.out, words, run, f"'{keeps}' in the output")


def write_inputs(folder):
    devices = 4096
    group = "{" + ",".join(map(str, range(devices))) + "}"
    with open(os.path.join(folder, "scatter.p2"), "w") as file:
        file.write(f"devices {devices}\nReduceScatter{group}\n")
    with open(os.path.join(folder, "three.p2"), "w") as file:
        file.write("hierarchy node=64,gpu=64\naxes data=4096\nreduce data\n"
                   "ReduceScatter(node, InsideGroup); AllReduce(node, Parallel(root)); AllGather(node, InsideGroup)\n")
    with open(os.path.join(folder, "wide.p2"), "w") as file:
        file.write("devices 256\nReduceScatter{" + ",".join(map(str, range(256))) + "}\n")
    for number in (1, 2, 3):
        with open(os.path.join(folder, f"small{number}.p2"), "w") as file:
            file.write("devices 8\nAllReduce{0,1,2,3,4,5,6,7}\n")
    with open(os.path.join(folder, "chain.hlo"), "w") as file:
        file.write("HloModule chain\n\nENTRY main {\n  x0 = f32[8]{0} parameter(0)\n")
        for i in range(1, 300_000):
            file.write(f"  x{i} = f32[8]{{0}} add(x{i - 1}, x{i - 1})\n")
        file.write("}\n")
    generator = random.Random(1)
    vertices = 30_000
    graph = {"format": "pairwise-strategy-graph/1", "model": "a path", "p": 4, "batch": 64, "units": "operations",
             "vertices": [{"id": i, "op": "FC", "dom": [64], "configs": [[1], [2], [4]],
                           "cost": [generator.randint(0, 99) for _ in range(3)]} for i in range(vertices)],
             "edge_tables": [{"id": i, "rows": 3, "cols": 3, "cells": [generator.randint(0, 99) for _ in range(9)]}
                             for i in range(50)],
             "edges": [{"src": i, "dst": i + 1, "table": i % 50} for i in range(vertices - 1)]}
    with open(os.path.join(folder, "path.json"), "w") as file:
        json.dump(graph, file)


def named_questions(checker):
    rack = ["synth", "--hierarchy", "node=32,gpu=8", "--axes", "256", "--reduce", "0"]
    checker.ask(rack + ["--verify", "--count"], timeout=3, memory=1000, keeps="47 programs")
    large = ["synth", "--hierarchy", "1024", "--axes", "1024", "--reduce", "0"]
    checker.ask(large, timeout=5, memory=1000, exits=(0,), keeps="3 programs")
    checker.ask(large + ["--verify"], timeout=5, memory=300, keeps="3 programs")
    checker.ask(["check", "scatter.p2", "--engine", "z3"], timeout=2, memory=1000, exits=(1,), keeps="z3: unknown")
    checker.ask(["check", "three.p2", "--engine", "all"], timeout=3, keeps="explicit: valid")
    checker.ask(["check", "three.p2", "--engine", "z3"], memory=200, keeps="memory limit is 200 MiB")
    # Files that are checked at the same time share the memory; each that fits alone has its verdict.
    many = checker.ask(["check", "three.p2", "small1.p2", "small2.p2", "three.p2", "small3.p2", "--engine", "all",
                        "--jobs", "4"], memory=300)
    for number in (1, 2, 3):
        checker.expect(f"small{number}.p2: valid" in many.out and many.out.count("z3: valid") == 3, ["check"], many,
                       "verdicts of the files that fit")
    # More programs than can be listed, or compared.
    long = ["synth", "--hierarchy", "2,2,2,2,2", "--axes", "32", "--reduce", "0", "--size", "7"]
    checker.ask(long, timeout=6, memory=120, keeps="more, not listed: a limit was reached")
    checker.ask(long + ["--format", "json"], timeout=6, memory=120, keeps='"list_cut"')
    checker.ask(long + ["--count", "--engine", "all"], timeout=2, memory=300, keeps="stopped at a limit")
    for devices in (18, 24, 64):
        checker.ask(["prove", "expressiveness", "--max-devices", str(devices), "--size", "2"], timeout=3, memory=60)
    checker.ask(["synth", "--hierarchy", "64,64", "--axes", "4096", "--reduce", "0", "--smt2", "query.smt2"],
                timeout=3, keeps="47 programs")
    checker.ask(["check", "wide.p2", "--smt2", "wide.smt2"], timeout=1, exits=(1,), keeps="wide.p2: invalid")
    checker.ask(["check", "wide.p2", "--smt2", "wide.smt2"], memory=200, exits=(1,), keeps="wide.p2: invalid")
    checker.ask(["check", "chain.hlo"], timeout=1, exits=(0, 3), keeps="chain.hlo: ")
    checker.ask(["check", "--before", "chain.hlo", "--after", "chain.hlo"], memory=100, keeps="memory limit")
    checker.ask(["parallelize", "path.json"], timeout=1, exits=(0, 3), keeps="total: ")
    for number in (signal.SIGINT, signal.SIGTERM):
        checker.interrupt(["check", "three.p2", "--engine", "z3"], 1.0, number, "explicit: valid")
        checker.interrupt(rack + ["--verify"], 1.0, number, "47 programs")
        checker.interrupt(["prove", "--all"], 0.5, number)


def random_question(generator):
    hierarchies = ["2,2,2", "4,4", "8,8", "2,2,2,2", "16,16", "64", "256", "1024", "32,8", "2,2,2,2,2"]
    hierarchy = generator.choice(hierarchies)
    devices = 1
    for size in hierarchy.split(","):
        devices *= int(size)
    place = ["--hierarchy", hierarchy, "--axes", str(devices), "--reduce", "0"]
    kind = generator.randrange(7)
    if kind == 0:
        return ["synth"] + place + ["--size", str(generator.randint(2, 8)), "--count",
                                    "--engine", generator.choice(["explicit", "z3", "cnf", "all"])]
    if kind == 1:
        return ["synth"] + place + ["--verify", "--format", generator.choice(["text", "json"])]
    if kind == 2:
        return ["check", generator.choice(["scatter.p2", "three.p2"]),
                "--engine", generator.choice(["explicit", "z3", "cnf", "all"])]
    if kind == 3:
        return ["check", "chain.hlo"] if generator.random() < 0.5 else [
            "check", "--before", "chain.hlo", "--after", "chain.hlo"]
    if kind == 4:
        return ["parallelize", "path.json"]
    if kind == 5:
        return ["prove", "expressiveness", "--max-devices", str(generator.randint(4, 32)),
                "--size", str(generator.randint(1, 4))]
    return ["reshard", "--shape", "1024,1024,512", "--from", "2x4:S0,R,R",
            "--to", f"{generator.randint(2, 12)}x4:S0,R,R", "--pad"]


def random_questions(checker, count, seed):
    generator = random.Random(seed)
    for _ in range(count):
        words = random_question(generator)
        seconds = generator.uniform(0.1, 5)
        if seconds < 1:
            checker.interrupt(words, seconds, generator.choice([signal.SIGINT, signal.SIGTERM]))
        else:
            checker.ask(words, timeout=int(seconds), memory=generator.randint(50, 500), exits=(0, 1, 3))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # In a process of its own: what this one holds would count as the peak of those that it starts.
        writer = multiprocessing.Process(target=write_inputs, args=(folder,))
        writer.start()
        writer.join()
        checker = Checker(os.path.abspath(arguments.program), folder)
        if arguments.random:
            random_questions(checker, arguments.random, arguments.seed)
        else:
            named_questions(checker)
    print(f"{checker.count} questions, {checker.failures} failures")
    return 1 if checker.failures else 0


if __name__ == "__main__":
    sys.exit(main())
