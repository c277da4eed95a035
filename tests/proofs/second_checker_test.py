"""p2-check and the second checker agree: on certificates that p2-verify writes, on those of docs/certificates.md's
claims, and on mutations of them, sealed again.

usage: second_checker_test.py P2_VERIFY P2_CHECK SOURCE [--mutations N] [--seed S]
"""

import argparse
import collections
import copy
import glob
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import second_checker  # noqa: E402

try:
    import jsonschema
except ImportError:
    jsonschema = None

BATCH = 250


def certificates(verify, source, folder):
    """Folders of certificates of every claim."""
    examples = lambda pattern: sorted(glob.glob(os.path.join(source, "examples", pattern)))
    os.mkdir(os.path.join(folder, "more"))
    more = lambda name, text: open(os.path.join(folder, "more", name), "w").write(text)
    more("bare.p2", "devices 4\nclasses {0,1},{2,3}\nReduce{2,3}; Broadcast{1,3}; Reduce{0,3}; Broadcast{0,1},{2,3}\n")
    more("scatter.p2", "devices 4\nReduceScatter{0,1},{2,3}; AllReduce{0,2},{1,3}; AllGather{0,1},{2,3}\n")
    more("across.p2", "devices 4\nclasses {0,1},{2,3}\nAllReduce{0,1},{2,3}; AllReduce{1,2}\n")
    more("count.p2", "devices 4\nReduceScatter{0,1},{2,3}; ReduceScatter{0,2}; AllGather{0,1}\n")
    more("three.p2", "devices 3\nReduceScatter{0,1}; AllGather{0,1}\n")
    more("contained.p2", "devices 3\nBroadcast{0,1,2}\n")
    more("master.p2", "hierarchy node=2,gpu=2\naxes data=4\nreduce data\nReduce(node, InsideGroup); "
                      "Reduce(node, Master(root)); Broadcast(node, InsideGroup)\n")
    more("lattice.p2", "hierarchy node=2,gpu=2\naxes data=4\nreduce data\nsynthesis-hierarchy lattice\nReduce({gpu.data}, "
                       "Parallel); AllReduce({node.data}, Master({gpu.data})); Broadcast({gpu.data}, Parallel)\n")
    # So many devices that the certificate is that of large sizes.
    large = "hierarchy a=4,b=16,c=64\naxes data=4096\nreduce data\ndialect printed\n"
    more("large.p2", large + "Reduce(a, InsideGroup); ReduceScatter(a, Master(root)); AllGather(a, Master(root)); "
                             "Broadcast(a, InsideGroup)\n")
    more("large_cut.p2", large + "ReduceScatter(b, InsideGroup); ReduceScatter(b, Parallel(root)); AllGather(b, Parallel(root)); "
                                 "AllGather(b, InsideGroup)\n")
    more("tasks.json", json.dumps({"tasks": [
        {"size": 3, "sender_hosts": [0, 1], "receiver_hosts": [0]}, {"size": 2, "sender_hosts": [0, 1], "receiver_hosts": [1]},
        {"size": 2, "sender_hosts": [0, 1], "receiver_hosts": [2]}]}))
    more("clauses.json", json.dumps({"tasks": [  # the bounds do not show that there is no shorter schedule
        {"size": 3, "sender_hosts": [0, 1], "receiver_hosts": [1]}, {"size": 4, "sender_hosts": [1, 2], "receiver_hosts": [2]},
        {"size": 1, "sender_hosts": [1], "receiver_hosts": [0, 1]}, {"size": 2, "sender_hosts": [2], "receiver_hosts": [0]}]}))
    more("graph.json", json.dumps({
        "format": "pairwise-strategy-graph/1", "model": "a path", "p": 4, "batch": 64, "units": "operations",
        "vertices": [{"id": i, "op": "FC", "dom": [64], "configs": [[1], [2]], "cost": [3 + i, 5 - i]} for i in range(4)],
        "edge_tables": [{"id": 0, "rows": 2, "cols": 2, "cells": [0, 2, 3, 1]}],
        "edges": [{"src": i, "dst": i + 1, "table": 0} for i in range(3)]}))
    plan = os.path.join(folder, "more", "plan.json")
    subprocess.run([verify, "reshard", "--shape", "8", "--from", "1x2:S0", "--to", "1x2:R", "--plan", "sendrecv",
                    "--plan-out", plan], check=True, capture_output=True)
    more("wrong.json", open(plan).read().replace('"receive":0,"low":[0]', '"receive":0,"low":[1]', 1))
    program_files = examples("programs/valid/*.p2") + examples("programs/refused/*.p2") + sorted(
        glob.glob(os.path.join(folder, "more", "*.p2")))
    place = ["--axes", "4", "--reduce", "0"]
    commands = [["check", *program_files, "--certify", "programs"]]
    for number, words in enumerate([
            ["synth", "--hierarchy", "2", "--axes", "2", "--reduce", "0", "--size", "1"],
            ["synth", "--hierarchy", "2,2", *place, "--size", "2"],
            ["synth", "--hierarchy", "3", "--axes", "3", "--reduce", "0", "--size", "2"],
            ["synth", "--hierarchy", "2,2", *place, "--size", "1", "--synthesis-hierarchy", "lattice"],
            ["synth", "--hierarchy", "2,2", "--axes", "2,2", "--reduce", "1", "--size", "1", "--synthesis-hierarchy", "b",
             "--dialect", "printed"],
            ["synth", "--hierarchy", "2,3", "--axes", "6", "--reduce", "0", "--size", "3", "--all-sizes"],
            ["synth", "--hierarchy", "2,2", "--axes", "2,2", "--reduce", "0", "--size", "2", "--synthesis-hierarchy", "b",
             "--all-sizes"],
            ["synth", "--hierarchy", "2,2", *place, "--size", "2", "--synthesis-hierarchy", "lattice", "--all-sizes"],
            ["check", *examples("programs/valid/figure10-blueconnect.p2"), "--all-sizes"],
            # So many devices that the list is that of large sizes.
            ["synth", "--hierarchy", "16,16", "--axes", "256", "--reduce", "0", "--size", "3", "--dialect", "printed"],
            ["synth", "--hierarchy", "64,3", "--axes", "192", "--reduce", "0", "--size", "2", "--synthesis-hierarchy", "lattice",
             "--dialect", "printed"],
            ["prove", "mixing", "--hierarchy", "4", "--axes", "2,2", "--reduce", "0", "--size", "1"],
            ["prove", "mixing", "--hierarchy", "3", "--axes", "3", "--reduce", "0", "--size", "1"],
            ["prove", "expressiveness", "--max-devices", "4", "--size", "1"],
            ["prove", "expressiveness", "--max-devices", "3", "--size", "1", "--engine", "cnf"],
            ["prove", "beyond-dsl", "beyond-dsl-two-level", "--max-devices", "4", "--size", "8"],
            ["prove", "lattice-gain-two-level", "--max-devices", "4", "--size", "8"],
            ["prove", "lemma-b5", "corollary-b4", "--max-devices", "3", "--size", "1"],
            ["prove", "lemma-b5", "corollary-b4", "--max-devices", "3", "--size", "1", "--engine", "cnf"],
            ["parallelize", os.path.join(folder, "more", "graph.json")],
            ["parallelize", os.path.join(folder, "more", "graph.json"), "--engine", "cnf"],
            ["pipeline", "--stages", "2", "--microbatches", "2", "--least-memory"],
            ["pipeline", "--stages", "3", "--microbatches", "4", "--latency", "1", "--least-memory"],
            ["reshard", "--tasks", os.path.join(folder, "more", "tasks.json")],
            ["reshard", "--tasks", os.path.join(folder, "more", "clauses.json")],
            ["reshard", "--tasks", os.path.join(folder, "more", "tasks.json"), "--strategy", "naive"],
            ["check", os.path.join(folder, "more", "plan.json")],
            ["check", os.path.join(folder, "more", "wrong.json")]]):
        commands.append(words + ["--certify", f"c{number}"])
    for words in commands:
        ran = subprocess.run([verify, *words], cwd=folder, capture_output=True, text=True)
        if ran.returncode not in (0, 1):
            raise SystemExit(f"{' '.join(words)}: exit {ran.returncode}\n{ran.stderr}")
    shutil.rmtree(os.path.join(folder, "more"))
    return sorted(os.path.dirname(path) for path in glob.glob(os.path.join(folder, "**", "manifest.json"), recursive=True))


def claims_of_document(source):
    """The certificates in the fenced blocks of docs/certificates.md, whose files stand there as `NAME TEXT`; what a
    block lacks is as in the block before it. A block may be right for one of two claims."""
    found, files, inside = [], {}, False
    for line in open(os.path.join(source, "docs", "certificates.md")):
        if line.startswith("```"):
            inside = not inside and line == "```\n"
            name, names = None, set()
            continue
        start = re.match(r"(\w+\.(?:json|cnf|lrat)|varmap) +(.*)", line)
        if not inside or not (start or name):
            continue
        if start:
            name = start.group(1)
            files[name] = ""
            names.add(name)
        files[name] += " " + (start.group(2) if start else line.strip())
        for claim, evidence in second_checker.EVIDENCE.items():
            whole = second_checker.STATEMENTS.get(claim, ["problem.json"]) + evidence
            if names & set(evidence or whole) and set(whole) <= set(files):
                found.append((claim, {each: text_of(each, files[each]) for each in whole}))
    accepted = {}
    for claim, files in found:
        seal(claim, files)
        if second_checker.check(files)[0] == "accepted":
            accepted[claim, files["manifest.json"]] = files
    return [(claim, files) for (claim, _), files in accepted.items()]


def text_of(name, text):
    return text.encode() if name.endswith(".json") else (re.sub(r" *\| *", "\n", text.strip()) + "\n").encode()


def seal(claim, files):
    files.pop("manifest.json", None)
    manifest = {"schema": "p2-certificate/1", "claim": claim, "tools": {}, "seed": 1, "options": {},
                "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}, "seal": "0" * 64}
    text = json.dumps(manifest)
    files["manifest.json"] = text.replace("0" * 64, hashlib.sha256(text.encode()).hexdigest(), 1).encode()


class Mutator:
    WORDS = ["AllReduce", "ReduceScatter", "AllGather", "Reduce", "Broadcast", "published", "printed", "a", "b", "c", "d",
             "collapsed", "lattice", "root", "InsideGroup", "Parallel", "Parallel(root)", "Master(root)", "none", "classes",
             "all", "unmixed", "hierarchies", "goal", "master", "disjoint", "same-chunks", "contained", "informative",
             "divisible", "equal-count", "disjoint-chunks", "empty-group", "l0", "{l0.a0}", ""]

    def __init__(self, seed):
        self.random = random.Random(seed)

    def mutate(self, claim, files):
        """The claim afterwards; one to three places are changed."""
        for _ in range(self.random.choice([1, 1, 1, 2, 3])):
            name = self.random.choice(sorted(files))
            change = self.change_json if name.endswith(".json") else self.change_words
            files[name] = change(files[name])
        if self.random.random() < 0.02:
            claim = self.random.choice(sorted(second_checker.EVIDENCE))
        return claim

    def change_json(self, data):
        pick = self.random.random()
        if pick < 0.05:
            return self.change_bytes(data)
        try:
            root = json.loads(data)
        except ValueError:
            return data
        if pick < 0.1:
            return json.dumps(root, indent=1).encode()  # the same
        box = [root]
        self.change(box)
        text = json.dumps(box[0])
        if pick < 0.14:  # numbers that are written in another way
            places = list(re.finditer(r"\b\d+\b", text))
            if places:
                at = self.random.choice(places)
                text = text[:at.start()] + self.random.choice(["-0", "1.0", "1e0", "-1", "+1", "01", "18446744073709551616"]) + text[at.end():]
        elif pick < 0.15 and text.startswith("{") and len(text) > 2:
            key = self.random.choice(sorted(box[0]))
            text = "{" + json.dumps(key) + ": " + json.dumps(box[0][key]) + ", " + text[1:]
        return text.encode()

    def change(self, box):
        holder, key = box, 0
        while isinstance(holder[key], (list, dict)) and holder[key] and self.random.random() < 0.85:
            holder, key = holder[key], self.random.choice(
                sorted(holder[key]) if isinstance(holder[key], dict) else range(len(holder[key])))
        value = holder[key]
        if isinstance(value, bool) or value is None:
            holder[key] = 0
        elif isinstance(value, float):
            holder[key] = 1
        elif isinstance(value, int):
            holder[key] = self.random.choice([value + 1, max(value - 1, 0), 0, 1, self.random.randrange(8), value * 2, 1 << 20, True, "1"])
        elif isinstance(value, str):
            holder[key] = self.random.choice(self.WORDS)
        elif isinstance(value, list):
            self.change_list(value)
        elif value and self.random.random() < 0.5:
            value.pop(self.random.choice(sorted(value)))
        else:
            value[self.random.choice(["slice", "form", "to", "least", "extra"])] = self.random.choice(["root", 1, []])

    def change_list(self, values):
        pick = self.random.randrange(7)
        if not values:
            values.append(self.random.randrange(4))
            return
        i, j = self.random.randrange(len(values)), self.random.randrange(len(values))
        if pick == 0:
            values.pop(i)
        elif pick == 1:
            values.insert(j, copy.deepcopy(values[i]))
        elif pick == 2:
            values[i], values[j] = values[j], values[i]
        elif pick == 3:
            values[i] = copy.deepcopy(values[j])
        elif pick == 4:
            self.random.shuffle(values)
        elif pick == 5:
            values.append(copy.deepcopy(self.random.choice([values[i], [], 0, 1, 7])))
        else:
            values.reverse()

    def change_bytes(self, data):
        at = self.random.randrange(len(data) + 1)
        return self.random.choice([
            data[:at] + bytes([self.random.randrange(256)]) + data[at + 1:], data[:at] + data[at + 1:], data[:at],
            data + self.random.choice([b"\0", b"x", b"\n", b" ", b"{}", b"\xef\xbb\xbf"]),
            self.random.choice([b"\xef\xbb\xbf", b" ", b"\n", b"c\n"]) + data])

    def change_words(self, data):
        pick = self.random.randrange(12)
        lines = data.split(b"\n")
        i, j = self.random.randrange(len(lines)), self.random.randrange(len(lines))
        if pick == 0:
            return self.change_bytes(data)
        if pick == 1:
            lines.pop(i)
        elif pick == 2:
            lines.insert(j, lines[i])
        elif pick == 3:
            lines[i], lines[j] = lines[j], lines[i]
        elif pick == 4:
            lines.insert(i, self.random.choice([b"c a comment", b"c", b" c", b"", b"cc", b"c\t1 0", b"1 d 0", b"1 d 1 0", b"0"]))
        elif pick == 5:
            return data.replace(b"\n", self.random.choice([b"\r\n", b" ", b"\t\n ", b"\n\n"]))
        elif pick == 6 and lines[i].split():  # what was there before is deleted
            lines.insert(i + 1, lines[i].split()[0] + b" d " + str(self.random.randrange(1, 60)).encode() + b" 0")
        elif pick == 7:  # step numbers with gaps
            shift = self.random.randrange(1, 40)
            first = next((int(line.split()[0]) for line in lines if line.split() and line.split()[0].isdigit()), 0)
            words = [[b"%d" % (int(w) + shift) if w.isdigit() and int(w) >= first else w for w in line.split()] for line in lines]
            return b"\n".join(b" ".join(line) for line in words)
        else:
            words = lines[i].split(b" ")
            at = self.random.randrange(len(words))
            if re.fullmatch(rb"-?\d+", words[at]):
                value = int(words[at])
                words[at] = str(self.random.choice([-value, value + 1, value - 1, 0, self.random.randrange(1, 60)])).encode()
            else:
                words.insert(at, self.random.choice([b"0", b"1", b"-0", b"+1", b"01", b"x", b"2147483648"]))
            lines[i] = b" ".join(words)
        return b"\n".join(lines)


class Comparison:
    def __init__(self, check, source, folder):
        self.check, self.folder = check, folder
        self.schemas = {}
        if jsonschema:
            root = json.load(open(os.path.join(source, "docs", "schema", "certificate.json")))
            for claim in second_checker.EVIDENCE:
                self.schemas[claim] = jsonschema.Draft202012Validator({"$ref": "#/$defs/" + claim, "$defs": root["$defs"]})
        self.counts = collections.Counter()
        self.differences = 0
        self.batch = []

    def add(self, claim, files):
        self.batch.append((claim, files))
        if len(self.batch) == BATCH:
            self.flush()

    def flush(self):
        """What both say of the batch."""
        folders = []
        for number, (_, files) in enumerate(self.batch):
            folders.append(os.path.join(self.folder, str(number)))
            os.mkdir(folders[-1])
            for name, data in files.items():
                open(os.path.join(folders[-1], name), "wb").write(data)
        if folders:
            ran = subprocess.run([self.check, "--format", "json", *folders], capture_output=True, text=True)
            for (claim, files), found in zip(self.batch, json.loads(ran.stdout)["results"], strict=True):
                self.compare(claim, files, found)
        for folder in folders:
            shutil.rmtree(folder)
        self.batch = []

    def compare(self, claim, files, found):
        verdict, reason = second_checker.check(files)
        first = {"accepted": "accepted", "incomplete": "incomplete"}.get(found["verdict"], "refused")
        self.counts[verdict] += 1
        if verdict == "accepted" and self.schemas:
            whole = {name: json.loads(data) if name.endswith(".json") else data.decode() for name, data in files.items()}
            for error in self.schemas[whole["manifest.json"]["claim"]].iter_errors(whole):
                self.differences += 1
                print(f"NOT AS THE SCHEMA SAYS: {claim}: {error.json_path}: {error.message[:300]}", flush=True)
        if "incomplete" in (first, verdict) and "accepted" not in (first, verdict):
            return
        if first != verdict or verdict == "accepted" and not found["reason"].endswith("claim " + reason):
            if "incomplete" in (first, verdict):
                self.counts["incomplete for one"] += 1
                return
            self.differences += 1
            print(f"DIFFERENCE: {claim}: p2-check {found}, second checker {verdict}: {reason}", flush=True)
            if self.differences <= 5:
                for name, data in files.items():
                    print(f"  {name}: {data[:2000]!r}")


def main():
    parser = argparse.ArgumentParser()
    for word in ["verify", "check", "source"]:
        parser.add_argument(word)
    parser.add_argument("--mutations", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    sys.setrecursionlimit(10_000)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as batch:
        comparison = Comparison(os.path.abspath(arguments.check), arguments.source, batch)
        seeds = claims_of_document(arguments.source)
        written = certificates(os.path.abspath(arguments.verify), os.path.abspath(arguments.source), folder)
        for path in written:
            files = second_checker.read_folder(path)
            seeds.append((json.loads(files["manifest.json"])["claim"], files))
        for claim, files in seeds:
            comparison.add(claim, files)
        comparison.flush()
        whole = comparison.counts.copy()
        by_claim = collections.defaultdict(list)
        for claim, files in seeds:
            if sum(map(len, files.values())) < 60_000:
                by_claim[claim].append(files)
        mutator = Mutator(arguments.seed)
        for number in range(arguments.mutations):
            claim = sorted(by_claim)[number % len(by_claim)]
            files = dict(mutator.random.choice(by_claim[claim]))
            files.pop("manifest.json")
            claim = mutator.mutate(claim, files)
            seal(claim, files)
            comparison.add(claim, files)
        comparison.flush()
    mutated = comparison.counts - whole
    missing = sorted(set(second_checker.EVIDENCE) - set(by_claim))
    print(f"{len(seeds)} certificates of {len(by_claim)} claims: {dict(whole)}")
    print(f"{arguments.mutations} mutations: {dict(mutated)}; {comparison.differences} differences")
    if missing:
        print("no certificate of " + ", ".join(missing))
    return 1 if comparison.differences or missing else 0


if __name__ == "__main__":
    sys.exit(main())
