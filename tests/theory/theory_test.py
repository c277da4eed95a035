#!/usr/bin/env python3
"""Tests of proofs/theory, the theory checked by Coq.

  theory_test.py words SOURCE                 no statement is left without a proof: forbidden words
  theory_test.py rules P2_VERIFY SOURCE       rules.v is what define --to coq writes
  theory_test.py build COQC SOURCE            compiles a copy of the folder; every theorem is closed
  theory_test.py kernel COQC SOURCE           the same, then coqchk, a second checker of the objects
  theory_test.py mutants COQC P2_VERIFY SOURCE  a changed .p2c text breaks the proof
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

COLLECTIVES = ("allreduce", "reducescatter", "allgather", "reduce", "broadcast")
FORBIDDEN = ("Admitted", "admit", "Axiom", "Parameter", "Conjecture")
# Where the rules are read: a changed rule must break one of these.
RULES_AND_READING = ("language.v", "rules.v", "semantics.v")

# (text, what is replaced, by what): the effects and the premises, each at least once. None: the premise is
# taken out.
MUTANTS = [
    ("allreduce", "same-chunks", None),
    ("allreduce", "disjoint", None),
    ("allreduce", "i < j implies", "i <= j implies"),
    ("allreduce", "exists j in group: s(j, r, c)", "exists j in group: s(j, r, c) and j != 0"),
    ("reducescatter", "same-chunks", None),
    ("reducescatter", "disjoint", None),
    ("reducescatter", "divisible", None),
    ("reducescatter", "index(r) * n < (i + 1) * total", "index(r) * n <= (i + 1) * total"),
    ("reducescatter", "q < r and", "q <= r and"),
    ("allgather", "disjoint-chunks", None),
    ("allgather", "equal-count", None),
    ("allgather", "not (held(i, r) and held(j, r))", "not (held(i, r) and held(i, r))"),
    ("allgather", "s'(i, r, c) = exists j in group: s(j, r, c)", "s'(i, r, c) = s(i, r, c)"),
    ("reduce", "same-chunks", None),
    ("reduce", "disjoint", None),
    ("reduce", "and i = 0", "and i = 1"),
    ("broadcast", "contained", None),
    ("broadcast", "informative", None),
    ("broadcast", "s'(i, r, c) = s(0, r, c)", "s'(i, r, c) = s(i, r, c) or s(0, r, c)"),
]


def sources(folder):
    with open(os.path.join(folder, "_CoqProject"), encoding="utf-8") as project:
        return [line.strip() for line in project if line.strip().endswith(".v")]


def compile_files(coqc, folder, files):
    """The output of the last file, or None with the first error."""
    output = ""
    for name in files:
        done = subprocess.run([coqc, "-Q", ".", "P2Theory", name], cwd=folder, capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            return None, done.stdout + done.stderr
        output = done.stdout
    return output, ""


def generated(p2_verify, source, texts):
    done = subprocess.run([p2_verify, "define", "--to", "coq", *texts], cwd=source, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit("define --to coq: " + done.stderr.decode())
    return done.stdout


def check_words(theory):
    listed = set(sources(theory))
    failures = []
    for name in sorted(os.listdir(theory)):
        if not name.endswith(".v"):
            continue
        if name not in listed:
            failures.append(f"{name}: not listed in _CoqProject")
        with open(os.path.join(theory, name), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                for word in FORBIDDEN:
                    if word.lower() in line.lower():
                        failures.append(f"{name}:{number}: '{word}'")
    return failures


def check_rules(p2_verify, source, theory):
    texts = [f"engine/collective/{name}.p2c" for name in COLLECTIVES]
    with open(os.path.join(theory, "rules.v"), "rb") as file:
        if file.read() != generated(p2_verify, source, texts):
            return ["proofs/theory/rules.v differs from: p2-verify define --to coq " + " ".join(texts)]
    return []


def check_build(coqc, theory, kernel):
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "copied elsewhere")
        os.mkdir(copy)
        for name in os.listdir(theory):
            if name.endswith(".v") or name == "_CoqProject":
                shutil.copy(os.path.join(theory, name), copy)
        files = sources(copy)
        output, error = compile_files(coqc, copy, files)
        if output is None:
            return [error]
        with open(os.path.join(copy, "assumptions.v"), encoding="utf-8") as file:
            asked = len(re.findall(r"^Print Assumptions ", file.read(), re.M))
        lines = [line for line in output.splitlines() if line.strip()]
        failures = [f"assumptions.v: {line}" for line in lines if line != "Closed under the global context"]
        if len(lines) != asked or asked < 12:
            failures.append(f"assumptions.v: {asked} theorems, {len(lines)} answers")
        print(f"{len(files)} files, {asked} theorems closed under the global context")
        if kernel:
            coqchk = os.path.join(os.path.dirname(coqc), "coqchk")
            modules = ["P2Theory." + name[:-2] for name in files]
            done = subprocess.run([coqchk, "-silent", "-o", "-Q", ".", "P2Theory", *modules], cwd=copy,
                                  capture_output=True, text=True, check=False)
            report = done.stdout + done.stderr
            if done.returncode != 0 or "* Axioms: <none>" not in " ".join(report.split()):
                failures.append("coqchk: " + report)
        return failures


def without_premise(text, name):
    changed, count = re.subn(rf"require {name} \"[^\"]*\":\n(?:  .*\n)+", "", text)
    return changed if count == 1 else text


def check_mutants(coqc, p2_verify, source, theory):
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for name in RULES_AND_READING:
            shutil.copy(os.path.join(theory, name), folder)
        output, error = compile_files(coqc, folder, RULES_AND_READING)
        if output is None:
            return [error]
        for collective, old, new in MUTANTS:
            with open(os.path.join(source, f"engine/collective/{collective}.p2c"), encoding="utf-8") as file:
                text = file.read()
            mutated = without_premise(text, old) if new is None else text.replace(old, new)
            what = f"{collective}: " + (f"without {old}" if new is None else f"'{old}' -> '{new}'")
            if mutated == text:
                failures.append(what + ": nothing to replace")
                continue
            path = os.path.join(folder, collective + ".p2c")
            with open(path, "w", encoding="utf-8") as file:
                file.write(mutated)
            texts = [path if name == collective else f"engine/collective/{name}.p2c" for name in COLLECTIVES]
            with open(os.path.join(folder, "rules.v"), "wb") as file:
                file.write(generated(p2_verify, source, texts))
            output, error = compile_files(coqc, folder, RULES_AND_READING[1:])
            place = re.search(r'File "\./(\w+\.v)", line (\d+)', error)
            if output is not None or place is None or place.group(1) != "semantics.v":
                failures.append(f"{what}: the proof does not break: {error}")
            else:
                print(f"{what}: breaks at {place.group(1)}:{place.group(2)}")
    return failures


def main():
    command, *tools, source = sys.argv[1:]
    theory = os.path.join(source, "proofs", "theory")
    failures = {
        "words": lambda: check_words(theory),
        "rules": lambda: check_rules(tools[0], source, theory),
        "build": lambda: check_build(tools[0], theory, False),
        "kernel": lambda: check_build(tools[0], theory, True),
        "mutants": lambda: check_mutants(tools[0], tools[1], source, theory),
    }[command]()
    for failure in failures:
        print(failure, file=sys.stderr)
    sys.exit(1 if failures else 0)


main()
