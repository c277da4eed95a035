#!/usr/bin/env python3
"""Tests of proofs/theory, the theory checked by Coq, and of p2-check-verified, which is extracted from it.

  theory_test.py words SOURCE                     no statement is left without a proof: forbidden words
  theory_test.py rules P2_VERIFY SOURCE           rules.v is what define --to coq writes
  theory_test.py build COQC OCAMLFIND FOLDER SOURCE   compiles a copy in FOLDER: every theorem is closed,
                                                  coqchk agrees; FOLDER/p2-check-verified (OCAMLFIND may be '')
  theory_test.py long COQC FOLDER SOURCE          five_steps.v, in a FOLDER where the others are compiled
  theory_test.py mutants COQC P2_VERIFY SOURCE    a changed .p2c text breaks the proof
  theory_test.py lists CHECKER P2_VERIFY [DEVICES] SOURCE   the complete lists of Coq against synth
  theory_test.py certificates CHECKER P2_VERIFY P2_CHECK SOURCE   verdicts against p2-check
"""

import copy
import glob
import hashlib
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

COLLECTIVES = ("allreduce", "reducescatter", "allgather", "reduce", "broadcast")
FORBIDDEN = ("Admitted", "admit", "Axiom", "Parameter", "Conjecture")
# A theorem whose computation takes minutes: compiled by its own command only.
LONG = "five_steps.v"
# Where the rules are read: a changed rule must break semantics.v.
RULES_AND_READING = ("language.v", "rules.v", "semantics.v")
HIERARCHIES = ("a", "b", "c", "d", "collapsed", "lattice")

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
        if name not in listed and name != LONG:
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


def check_build(coqc, ocamlfind, folder, theory):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name in os.listdir(theory):
        if name.endswith(".v") or name == "_CoqProject":
            shutil.copy(os.path.join(theory, name), folder)
    files = sources(folder)
    output, error = compile_files(coqc, folder, files)
    if output is None:
        return [error]
    with open(os.path.join(folder, "assumptions.v"), encoding="utf-8") as file:
        asked = len(re.findall(r"^Print Assumptions ", file.read(), re.M))
    lines = [line for line in output.splitlines() if line.strip()]
    failures = [f"assumptions.v: {line}" for line in lines if line != "Closed under the global context"]
    if len(lines) != asked or asked < 12:
        failures.append(f"assumptions.v: {asked} theorems, {len(lines)} answers")
    print(f"{len(files)} files, {asked} theorems closed under the global context")
    # numbers.v is computation by the virtual machine, which coqchk does not have; assumptions.v needs it.
    modules = ["P2Theory." + name[:-2] for name in files if name not in ("numbers.v", "assumptions.v")]
    coqchk = os.path.join(os.path.dirname(coqc), "coqchk")
    done = subprocess.run([coqchk, "-silent", "-o", "-Q", ".", "P2Theory", *modules], cwd=folder,
                          capture_output=True, text=True, check=False)
    report = done.stdout + done.stderr
    if done.returncode != 0 or "* Axioms: <none>" not in " ".join(report.split()):
        failures.append("coqchk: " + report)
    if ocamlfind:
        for name in ("json.ml", "main.ml"):
            shutil.copy(os.path.join(theory, "checker", name), folder)
        done = subprocess.run([ocamlfind, "ocamlopt", "-w", "-a", "verified.mli", "verified.ml", "json.ml", "main.ml",
                               "-o", "p2-check-verified"], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            failures.append("p2-check-verified: " + done.stdout + done.stderr)
    return failures


def check_long(coqc, folder):
    output, error = compile_files(coqc, folder, [LONG])
    return [] if output and output.split() == "Closed under the global context".split() else [error or output]


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


def factorizations(number):
    """Ordered lists of factors above 1."""
    if number == 1:
        return [[]]
    return [[f, *rest] for f in range(2, number + 1) if number % f == 0 for rest in factorizations(number // f)]


def verdicts(checker, *words):
    """The checker's verdict of every path."""
    done = subprocess.run([checker, *words], capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def check_lists(checker, p2_verify, most):
    systems = programs = 0
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for devices in range(2, most + 1):
            paths = []
            for levels, axes in itertools.product(factorizations(devices), repeat=2):
                for count in range(1, len(axes) + 1):
                    for reduce in itertools.combinations(range(len(axes)), count):
                        for hierarchy in HIERARCHIES:
                            path = os.path.join(folder, f"{len(paths)}.json")
                            done = subprocess.run(
                                [p2_verify, "synth", "--hierarchy", ",".join(map(str, levels)), "--axes",
                                 ",".join(map(str, axes)), "--reduce", ",".join(map(str, reduce)), "--size", "5",
                                 "--synthesis-hierarchy", hierarchy, "--engine", "explicit", "--format", "json",
                                 "--output", path],
                                capture_output=True, text=True, check=False)
                            if done.returncode != 0:
                                failures.append(f"synth {levels} {axes} {reduce} {hierarchy}: {done.stderr}")
                            else:
                                paths.append(path)
            for line in verdicts(checker, "--list", *paths):
                found = re.search(r": accepted: (\d+) placements, (\d+) programs$", line)
                if not found:
                    failures.append(line)
                else:
                    systems += int(found.group(1))
                    programs += int(found.group(2))
            for path in paths:
                os.remove(path)
    print(f"{systems} placed systems and hierarchies of at most {most} devices, {programs} programs of at most 5 steps")
    return failures


def reseal(folder):
    """Hashes and seal of a changed certificate."""
    path = os.path.join(folder, "manifest.json")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    manifest = json.loads(text)
    for name, old in manifest["files"].items():
        with open(os.path.join(folder, name), "rb") as file:
            text = text.replace(old, hashlib.sha256(file.read()).hexdigest())
    text = text.replace(manifest["seal"], "0" * 64, 1)
    text = text.replace("0" * 64, hashlib.sha256(text.encode()).hexdigest(), 1)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def mutated_program(program, chance):
    """A program with one change, as bare groups."""
    names = ["AllReduce", "ReduceScatter", "AllGather", "Reduce", "Broadcast"]
    program = {key: copy.deepcopy(program[key]) for key in ("devices", "classes", "dialect", "steps")}
    steps = [{"collective": step["collective"], "groups": step["groups"]} for step in program["steps"]]
    step = chance.choice(steps)
    kind = chance.randrange(6)
    if kind == 0:
        step["collective"] = chance.choice(names)
    elif kind == 1:
        steps.remove(step)
    elif kind == 2:
        steps.insert(chance.randrange(len(steps) + 1), copy.deepcopy(step))
    elif kind == 3 and len(step["groups"]) > 1:
        step["groups"].remove(chance.choice(step["groups"]))
    elif kind == 4 and len(step["groups"]) > 1:
        one, other = chance.sample(step["groups"], 2)
        step["groups"].remove(one)
        step["groups"].remove(other)
        step["groups"].append(sorted(one + other))
    else:
        chance.shuffle(steps)
    program["steps"] = steps
    return program if steps else None


def accepted(lines, folders):
    """Folder -> whether its certificate is accepted."""
    found = {line.split(": ")[0]: line.split(": ")[1] == "accepted" for line in lines}
    return {folder: found[folder] for folder in folders}


def check_certificates(checker, p2_verify, p2_check, source):
    chance = random.Random(24)
    failures = []
    compared = 0
    refused = 0

    def compare(folders, both_must_accept):
        nonlocal compared, refused
        ours = accepted(verdicts(checker, *folders), folders)
        theirs = accepted(verdicts(p2_check, *folders), folders)
        for each in folders:
            compared += 1
            refused += not theirs[each]
            if ours[each] != theirs[each] or (both_must_accept and not ours[each]):
                failures.append(f"{each}: p2-check-verified {ours[each]}, p2-check {theirs[each]}")

    with tempfile.TemporaryDirectory() as folder:
        # Examples, synthesised programs over every hierarchy, and mutants of these.
        files = sorted(glob.glob(os.path.join(source, "examples/programs/*/*.p2")))
        files = [file for file in files if "defined" not in file]
        for number, (system, hierarchy, dialect) in enumerate(itertools.product(
                (("2,2", "4", "0"), ("2,4", "4,2", "0"), ("2,2,2", "2,2,2", "0,2")), HIERARCHIES,
                ("published", "printed"))):
            listed = subprocess.run(
                [p2_verify, "synth", "--hierarchy", system[0], "--axes", system[1], "--reduce", system[2], "--size",
                 "4", "--synthesis-hierarchy", hierarchy, "--dialect", dialect, "--format", "json"],
                capture_output=True, text=True, check=True)
            programs = [p for placed in json.loads(listed.stdout)["placements"] for p in placed["list"]]
            for index, program in enumerate(chance.sample(programs, min(4, len(programs)))):
                variants = [{key: value for key, value in program.items() if key not in ("goal", "text")}]
                variants += [mutated_program(program, chance) for _ in range(5)]
                for variant, text in enumerate(filter(None, variants)):
                    path = os.path.join(folder, f"program-{number}-{index}-{variant}.json")
                    with open(path, "w", encoding="utf-8") as file:
                        json.dump(text, file)
                    files.append(path)
        certificates = os.path.join(folder, "certificates")
        subprocess.run([p2_verify, "check", *files, "--certify", certificates], capture_output=True, check=False)
        folders = sorted(glob.glob(os.path.join(certificates, "*/")))
        folders = [each.rstrip("/") for each in folders]
        if len(folders) < 300:
            failures.append(f"only {len(folders)} certificates were written")
        compare(folders, True)

        # Other rules, groups and claims.
        forged = []
        for each in folders:
            with open(os.path.join(each, "manifest.json"), encoding="utf-8") as file:
                claim = json.load(file)["claim"]
            if claim != "program-invalid":
                continue
            with open(os.path.join(each, "refutation.json"), encoding="utf-8") as file:
                refutation = json.load(file)
            with open(os.path.join(each, "problem.json"), encoding="utf-8") as file:
                steps = json.load(file)["steps"]
            rules = ["empty-group", "same-chunks", "disjoint", "divisible", "disjoint-chunks", "equal-count", "contained",
                     "informative"]
            if refutation["rule"] in ("goal", "master"):
                continue
            groups = steps[refutation["step"] - 1]["groups"]
            for rule, group in chance.sample(list(itertools.product(rules, groups[:3])), min(4, 8 * len(groups[:3]))):
                forgery = os.path.join(folder, f"forged-{len(forged)}")
                shutil.copytree(each, forgery)
                with open(os.path.join(forgery, "refutation.json"), "w", encoding="utf-8") as file:
                    json.dump({"step": refutation["step"], "rule": rule, "group": group}, file)
                reseal(forgery)
                forged.append(forgery)
        compare(forged, False)

        # Complete lists, and lists with a program too few.
        complete = []
        for number, hierarchy in enumerate(HIERARCHIES):
            where = os.path.join(folder, f"complete-{number}")
            subprocess.run([p2_verify, "synth", "--hierarchy", "2,2", "--axes", "2,2", "--reduce", "0,1", "--size", "3",
                            "--synthesis-hierarchy", hierarchy, "--certify", where], capture_output=True, check=True)
            complete += [os.path.dirname(path) for path in glob.glob(os.path.join(where, "**", "manifest.json"),
                                                                     recursive=True)]
        compare(complete, True)
        short = []
        for number, each in enumerate(complete):
            forgery = os.path.join(folder, f"short-{number}")
            shutil.copytree(each, forgery)
            path = os.path.join(forgery, "problem.json")
            with open(path, encoding="utf-8") as file:
                problem = json.load(file)
            problem["programs"].pop()
            with open(path, "w", encoding="utf-8") as file:
                json.dump(problem, file)
            reseal(forgery)
            short.append(forgery)
        compare(short, False)
    print(f"{compared} certificates, {refused} of them refused by both: no difference" if not failures else "")
    return failures


def main():
    command, *tools, source = sys.argv[1:]
    theory = os.path.join(source, "proofs", "theory")
    failures = {
        "words": lambda: check_words(theory),
        "rules": lambda: check_rules(tools[0], source, theory),
        "build": lambda: check_build(tools[0], tools[1], tools[2], theory),
        "long": lambda: check_long(tools[0], tools[1]),
        "mutants": lambda: check_mutants(tools[0], tools[1], source, theory),
        "lists": lambda: check_lists(tools[0], tools[1], int(tools[2]) if len(tools) > 2 else 8),
        "certificates": lambda: check_certificates(*tools, source),
    }[command]()
    for failure in failures[:20]:
        print(failure, file=sys.stderr)
    sys.exit(1 if failures else 0)


main()
