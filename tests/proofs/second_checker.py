"""A second checker of certificates, written from docs/certificates.md alone, in the standard library of Python.

It decides what p2-check decides and shares nothing with it. Names are those of the document, section by section.
usage: second_checker.py DIR…    a line `VERDICT DIGEST` or `VERDICT REASON` for each
"""

import functools
import hashlib
import itertools
import json
import math
import os
import re
import sys

COLLECTIVES = ["AllReduce", "ReduceScatter", "AllGather", "Reduce", "Broadcast"]
WORK = 20_000_000  # about that many steps of this program, in one check


class Refused(Exception):
    """The certificate is rejected, or is none."""


class Incomplete(Exception):
    """More work than this checker allows itself."""


class Work:
    left = WORK

    @classmethod
    def spend(cls, amount):
        cls.left -= amount
        if cls.left < 0:
            raise Incomplete("work limit")


def require(holds, reason):
    if not holds:
        raise Refused(reason)


# The folder.

def parse(data, name):
    """JSON: UTF-8, at most 10 deep below the top, no key twice; numbers that are none of the format become None."""
    require(len(data) <= 64 << 20, name + ": too large")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(name + ": no UTF-8") from None
    depth = deepest = 0
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token.group(), 0)
        deepest = max(deepest, depth)
    require(deepest <= 11, name + ": nested too deeply")

    def unique(pairs):
        require(len({key for key, _ in pairs}) == len(pairs), name + ": duplicate key")
        return dict(pairs)

    def no_json(_):
        raise Refused(name + ": no JSON")

    def number(text):
        return None if text.startswith("-") or int(text) >= 1 << 64 else int(text)

    try:
        value = json.loads(text, object_pairs_hook=unique, parse_constant=no_json, parse_int=number,
                           parse_float=lambda _: None)
    except (ValueError, RecursionError):
        raise Refused(name + ": no JSON") from None
    require(not re.search("[\ud800-\udfff]", json.dumps(value, ensure_ascii=False)), name + ": no UTF-8")
    return value


def keys(value, names):
    require(isinstance(value, dict) and set(value) == set(names), f"expected the keys {names}")
    return value


def as_list(value):
    require(isinstance(value, list), "expected a list")
    return value


def text_of(value):
    require(isinstance(value, str), "expected a text")
    return value


def number(value, end):
    require(isinstance(value, int) and not isinstance(value, bool) and 0 <= value < end, f"expected a number below {end}")
    return value


def numbers(value, end):
    return [number(each, end) for each in as_list(value)]


def ascending(value, end):
    values = numbers(value, end)
    require(values and all(a < b for a, b in zip(values, values[1:])), "not ascending")
    return values


STATEMENTS = {"strategy-optimal": ["problem.json", "strategy.json"],
              "strategy-optimal-clauses": ["problem.json", "strategy.json"],
              "reshard-schedule": ["schedule.json"], "reshard-schedule-clauses": ["schedule.json"],
              "reshard-schedule-gap": ["bound.json", "schedule.json"], "pipeline-memory": ["pipeline.json"],
              "reshard-plan": ["plan.json"], "reshard-plan-wrong": ["plan.json"]}
CLAUSES = ["problem.cnf", "varmap", "proof.lrat"]
EVIDENCE = {"program-valid": ["derivation.json"], "not-expressible": ["derivation.json"],
            "program-invalid": ["derivation.json", "refutation.json"], "synthesis-complete": CLAUSES,
            "expressible": CLAUSES, "unused": CLAUSES, "unmixed": CLAUSES, "cheapest": ["potential.json"],
            "strategy-optimal": ["bound.json"], "strategy-optimal-clauses": ["sums.json", "problem.cnf", "proof.lrat"],
            "reshard-schedule": ["bound.json"], "reshard-schedule-gap": [],
            "reshard-schedule-clauses": ["problem.cnf", "proof.lrat"], "pipeline-memory": ["cases.json"],
            "reshard-plan": [], "reshard-plan-wrong": [], "program-valid-all-sizes": [],
            "synthesis-complete-all-sizes": [], "program-valid-large-sizes": [],
            "synthesis-complete-large-sizes": [],
            "expressible-all-sizes": [], "unused-all-sizes": []}


def check_manifest(files):
    for name, data in files.items():
        require(b"\0" not in data and not data.startswith(b"\xef\xbb\xbf"), name + ": no text")
    require("manifest.json" in files and len(files) <= 8, "no manifest, or too many files")
    manifest = parse(files["manifest.json"], "manifest.json")
    keys(manifest, ["schema", "claim", "tools", "options", "seed", "files", "seal"])
    require(manifest["schema"] == "p2-certificate/1", "schema")
    for key in ["tools", "options", "files"]:
        require(isinstance(manifest[key], dict), "expected an object")
        for value in manifest[key].values():
            text_of(value)
    number(manifest["seed"], 1 << 64)
    seal = text_of(manifest["seal"]).encode()
    require(re.fullmatch(b"[0-9a-f]{64}", seal), "seal")
    zeroed = files["manifest.json"].replace(seal, b"0" * 64, 1)
    require(hashlib.sha256(zeroed).hexdigest().encode() == seal, "seal mismatch")
    claim = text_of(manifest["claim"])
    require(claim in EVIDENCE, "unknown claim")
    names = STATEMENTS.get(claim, ["problem.json"]) + EVIDENCE[claim]
    keys(manifest["files"], names)
    require(set(files) == {"manifest.json", *names}, "files")
    for name in names:
        require(manifest["files"][name] == hashlib.sha256(files[name]).hexdigest(), name + ": hash mismatch")
    return claim


def digest(claim, files):
    statement = {name: parse(files[name], name) for name in STATEMENTS.get(claim, ["problem.json"])}
    text = json.dumps({"claim": claim, **statement}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


# problem.json: the system.

def read_groups(value, devices):
    groups = [ascending(group, devices) for group in as_list(value)]
    members = [d for group in groups for d in group]
    require(groups and len(set(members)) == len(members), "no groups, or a device in two")
    return groups


def read_parts(value):
    parts = [keys(part, ["name", "size"]) for part in as_list(value)]
    names = [text_of(part["name"]) for part in parts]
    require(1 <= len(parts) <= 64 and len({*names, "root"}) == len(names) + 1, "levels or axes")
    require(all(re.fullmatch("[A-Za-z_][A-Za-z0-9_-]*", name) for name in names), "names")
    return names, [number(part["size"], 1 << 32) for part in parts]


class Instance:
    """Levels are lists of digits (size, stride), the outermost level first."""

    def __init__(self, root, k, kind):
        level_names, level_sizes = read_parts(root["hierarchy"])
        axis_names, axis_sizes = read_parts(root["axes"])
        self.k = k
        self.reduce = ascending(root["reduce"], len(axis_names))
        matrix = [numbers(row, 1 << 32) for row in as_list(root["placement"])]
        require(len(matrix) == len(axis_names) and all(len(row) == len(level_names) for row in matrix), "placement")
        require([math.prod(row) for row in matrix] == axis_sizes, "row products")
        require([math.prod(column) for column in zip(*matrix)] == level_sizes, "column products")
        require(math.prod(axis_sizes) == k, "product of the placement")
        self.digits = {}
        stride = k
        for level, axis in itertools.product(range(len(level_names)), range(len(axis_names))):
            stride //= matrix[axis][level]
            self.digits[axis, level] = (matrix[axis][level], stride)
        require(text_of(kind) in ["a", "b", "c", "d", "collapsed", "lattice"], "synthesis_hierarchy")
        self.kind = kind
        by_level = sorted(self.digits, key=lambda place: (place[1], place[0]))
        reduced = [place for place in by_level if place[0] in self.reduce]
        if kind in ["a", "collapsed"]:
            places = by_level if kind == "a" else reduced
            self.levels = [(name, [self.digits[p] for p in places if p[1] == level])
                           for level, name in enumerate(level_names)]
        else:
            places = by_level if kind == "b" else sorted(by_level if kind == "c" else reduced)
            self.levels = [(f"{level_names[p[1]]}.{axis_names[p[0]]}", [self.digits[p]]) for p in places]
        if kind != "lattice":
            self.levels.insert(0, ("root", []))
            if len(self.levels) > 65:
                raise Incomplete("levels")

    def groups(self, reduced, pinned=()):
        """Sorted, or None where no group has two devices."""
        if all(size == 1 for size, _ in reduced):
            return None
        Work.spend(self.k * (len(reduced) + len(pinned) + 1))
        found = {}
        for device in range(self.k):
            if all(device // stride % size == 0 for size, stride in pinned):
                first = device - sum(device // stride % size * stride for size, stride in reduced)
                found.setdefault(first, []).append(device)
        return sorted(found.values())

    def classes(self):
        every = [digit for place, digit in self.digits.items() if place[0] in self.reduce]
        return self.groups(every) or [[d] for d in range(self.k)]

    def forms(self):
        """Slice, form, reduced and pinned digits, in the order of the choices."""
        if self.kind == "lattice":
            yield from self.lattice_forms()
            return
        span = lambda begin, end: [digit for _, digits in self.levels[begin:end] for digit in digits]
        names = [name for name, _ in self.levels]
        for s, name in enumerate(names):
            yield name, "InsideGroup", span(s + 1, None), []
        for form in ["Parallel", "Master"]:
            for s, name in enumerate(names):
                for a in range(s):
                    yield name, f"{form}({names[a]})", span(a + 1, s + 1), span(s + 1, None) if form == "Master" else []

    def lattice_forms(self):
        wide = [(name, digits) for name, digits in self.levels if digits[0][0] > 1]
        if len(wide) > 8:
            raise Incomplete("lattice")
        roles = sorted(itertools.product(range(3), repeat=len(wide)), key=lambda r: (r.count(2), r.count(1), r))
        for role in roles:
            part = lambda which: [level for level, r in zip(wide, role) if r == which]
            name = lambda levels: "{" + ", ".join(name for name, _ in levels) + "}"
            pinned = part(2)
            yield (name(part(1)), f"Master({name(pinned)})" if pinned else "Parallel",
                   [d for _, ds in part(1) for d in ds], [d for _, ds in pinned for d in ds])

    def lower(self, name, form):
        """Groups, and whether it is a Master."""
        for slice_name, form_name, reduced, pinned in self.forms():
            if (slice_name, form_name) == (name, form):
                groups = self.groups(reduced, pinned)
                require(groups is not None, "no group of two devices")
                return groups, any(size > 1 for size, _ in pinned)
        raise Refused("no such slice and form")

    def shapes(self):
        """Slice, form, groups and collectives of every shape."""
        seen = set()
        for name, form, reduced, pinned in self.forms():
            groups = self.groups(reduced, pinned)
            if groups is None or (key := tuple(map(tuple, groups))) in seen:
                continue
            seen.add(key)
            yield name, form, groups, any(size > 1 for size, _ in pinned)

    def choices(self, dialect):
        for name, form, groups, master in self.shapes():
            for collective in COLLECTIVES[:1] if master and dialect == "published" else COLLECTIVES:
                yield {"slice": name, "form": form, "collective": collective}, groups


class Problem:
    def __init__(self, root, more):
        require(isinstance(root, dict), "expected an object")
        placed = ["hierarchy", "axes", "reduce", "placement", "synthesis_hierarchy"]
        keys(root, ["devices", "classes", "dialect", *more, *(placed if "hierarchy" in root else [])])
        self.root = root
        self.k = number(root["devices"], (1 << 20) + 1)
        self.dialect = root["dialect"]
        require(self.dialect in ["published", "printed"], "dialect")
        self.classes = read_groups(root["classes"], self.k)
        require(sum(map(len, self.classes)) == self.k and sorted(self.classes) == self.classes, "classes")
        self.instance = Instance(root, self.k, root["synthesis_hierarchy"]) if "hierarchy" in root else None
        require(not self.instance or self.instance.classes() == self.classes, "classes of the instance")
        require(len(as_list(root.get("steps", []))) <= 4096, "too many steps")
        self.steps = [self.read_step(step) for step in root.get("steps", [])]

    def read_step(self, step):
        """Collective, groups, whether it is an instruction, whether a Master."""
        Work.spend(self.k)
        require(isinstance(step, dict), "expected an object")
        instruction = self.instance is not None and "slice" in step
        keys(step, ["collective", "groups"] + (["slice", "form"] if instruction else []))
        groups = sorted(read_groups(step["groups"], self.k))
        master = False
        if instruction:
            formed, master = self.instance.lower(text_of(step["slice"]), text_of(step["form"]))
            require(formed == groups, "other groups")
        require(text_of(step["collective"]) in COLLECTIVES, "collective")
        return step["collective"], groups, instruction, master

    def allowed(self, step):
        return not (step[3] and self.dialect == "published" and step[0] != "AllReduce")

    def known_over(self, kind):
        other = Instance(self.root, self.k, kind)
        return {(choice["collective"], tuple(map(tuple, groups))) for choice, groups in other.choices(self.dialect)}

    def mixes(self, groups):
        return any(not any(set(group) <= set(members) for members in self.classes) for group in groups)


# derivation.json: the states. A state of a device is a tuple with a frozenset of contributors per chunk.

def broken_rule(collective, instruction, before):
    """The first rule that a group breaks whose devices are in these states, in order."""
    held = [frozenset(r for r, cell in enumerate(state) if cell) for state in before]
    Work.spend(sum(map(len, before)) + 1)
    if instruction and not any(held):
        return "empty-group"
    if collective in ["AllReduce", "ReduceScatter", "Reduce"]:
        if len(set(held)) > 1:
            return "same-chunks"
        for cells in zip(*before):
            Work.spend(sum(map(len, cells)))
            if len(frozenset().union(*cells)) != sum(map(len, cells)):
                return "disjoint"
        if collective == "ReduceScatter" and len(held[0]) % len(before):
            return "divisible"
    elif collective == "AllGather":
        if sum(map(len, held)) != len(frozenset().union(*held)):
            return "disjoint-chunks"
        if len(set(map(len, held))) > 1:
            return "equal-count"
    else:
        if any(not cell <= sent for state in before for cell, sent in zip(state, before[0])):
            return "contained"
        if all(state == before[0] for state in before):
            return "informative"
    return None


def after(collective, before):
    if collective == "Broadcast":
        return [before[0]] * len(before)
    total = tuple(frozenset().union(*cells) for cells in zip(*before))
    nothing = (frozenset(),) * len(total)
    if collective == "Reduce":
        return [total] + [nothing] * (len(before) - 1)
    if collective != "ReduceScatter":
        return [total] * len(before)
    rows = [r for r, cell in enumerate(total) if cell]
    part = len(rows) // len(before)
    states = []
    for i in range(len(before)):
        mine = set(rows[i * part:(i + 1) * part])
        states.append(tuple(cell if r in mine else frozenset() for r, cell in enumerate(total)))
    return states


class Stage:
    """The devices that are looked at: all, or the first class, in positions."""

    def __init__(self, problem, steps, symmetric):
        self.chunks = problem.k
        self.n, self.classes, self.steps = problem.k, problem.classes, steps
        self.position = {}
        if symmetric:
            self.n = len(problem.classes[0])
            for number_of_class, members in enumerate(problem.classes):
                require(len(members) == self.n, "classes differ in size")
                self.position.update({d: (number_of_class, i) for i, d in enumerate(members)})
            self.steps = [(step[0], self.in_first(step[1]), *step[2:]) for step in steps]
            self.classes = [list(range(self.n))]
        Work.spend(self.n * self.chunks)
        self.states = [(frozenset([d]),) * self.chunks for d in range(self.n)]

    def in_first(self, groups):
        inside = {}
        for group in groups:
            require(len({self.position[d][0] for d in group}) == 1, "a group crosses classes")
            inside.setdefault(self.position[group[0]][0], []).append([self.position[d][1] for d in group])
        found = [sorted(inside.get(c, [])) for c in {c for c, _ in self.position.values()}]
        require(all(groups == found[0] for groups in found), "classes have other groups")
        return found[0]

    def run(self, step):
        for group in step[1]:
            before = [self.states[d] for d in group]
            require(broken_rule(step[0], step[2], before) is None, "a step is not legal")
            for d, state in zip(group, after(step[0], before)):
                self.states[d] = state

    def at_goal(self):
        goal = {d: frozenset(members) for members in self.classes for d in members}
        return all(cell == goal[d] for d, state in enumerate(self.states) for cell in state)


def pairs(flat):
    require(len(flat) % 2 == 0, "not in pairs")
    return list(zip(flat[::2], flat[1::2]))


def replay(problem, files):
    """The stage after the recorded steps."""
    root = keys(parse(files["derivation.json"], "derivation.json"), ["symmetry", "sets", "states", "systems"])
    require(root["symmetry"] in ["none", "classes"], "symmetry")
    systems = as_list(root["systems"])
    require(1 <= len(systems) <= len(problem.steps) + 1, "number of systems")
    if problem.k * (problem.k if root["symmetry"] == "none" else len(problem.classes[0])) > 1 << 20:
        raise Incomplete("the stage is too large")
    stage = Stage(problem, problem.steps[:len(systems) - 1], root["symmetry"] == "classes")
    sets = []
    for flat in as_list(root["sets"]):
        runs = pairs(ascending(flat, problem.k + 1))
        Work.spend(sum(end - begin for begin, end in runs))
        sets.append(frozenset(x for begin, end in runs for x in range(begin, end)))
    states = []
    for flat in as_list(root["states"]):
        cells = [frozenset()] * problem.k
        for chunks, contributors in pairs(numbers(flat, len(sets))):
            for r in sets[chunks]:
                require(not cells[r], "chunk sets meet")
                cells[r] = sets[contributors]
        states.append(tuple(cells))
    for moment, flat in enumerate(systems):
        if moment:
            require(problem.allowed(stage.steps[moment - 1]), "Master")
            stage.run(stage.steps[moment - 1])
        recorded = []
        for q, n in pairs(numbers(flat, 1 << 32)):
            require(q < len(states) and 1 <= n <= stage.n, "a system")
            recorded += [states[q]] * n
        require(recorded == stage.states, "the recorded states are wrong")
    return stage


def check_program(claim, files):
    problem = Problem(parse(files["problem.json"], "problem.json"), ["steps", "to"] if claim == "not-expressible" else ["steps"])
    if claim == "not-expressible":
        require(problem.instance and all(step[2] for step in problem.steps), "no instance, or a bare step")
        known = problem.known_over(problem.root["to"])
        require(any((step[0], tuple(map(tuple, step[1]))) not in known for step in problem.steps), "expressible")
    stage = replay(problem, files)
    if claim == "program-invalid":
        return check_refutation_of_program(problem, stage, parse(files["refutation.json"], "refutation.json"))
    require(len(stage.steps) == len(problem.steps) and stage.at_goal(), "the goal")


def check_refutation_of_program(problem, stage, root):
    require(isinstance(root, dict), "expected an object")
    alone = root.get("rule") in ["goal", "master"]
    keys(root, ["step", "rule"] if alone else ["step", "rule", "group"])
    rule, legal = text_of(root["rule"]), len(stage.steps)
    step = number(root["step"], len(problem.steps) + 1)
    if rule == "goal":
        require(step == legal == len(problem.steps) and not stage.at_goal(), "the goal is reached, or is not due")
        return
    require(step == legal + 1, "the derivation does not lead there")
    refused = problem.steps[legal]
    if rule == "master":
        require(not problem.allowed(refused), "it is allowed")
        return
    group = ascending(root["group"], problem.k)
    require(group in refused[1], "no such group")
    if stage.position and len({stage.position[d][0] for d in group}) == 1:
        group = [stage.position[d][1] for d in group]
    elif stage.position:
        if problem.k * problem.k > 1 << 20:
            raise Incomplete("the system is too large")
        stage = Stage(problem, [], False)
        for each in problem.steps[:legal]:
            stage.run(each)
    before = [stage.states[d] for d in group]
    require(broken_rule(refused[0], refused[2], before) == rule, "another rule, or none")


# problem.cnf, varmap and proof.lrat.

WORD = re.compile(rb"[ \t\r\n]*([^ \t\r\n]+)(?=[ \t\r\n])")


class Words:
    def __init__(self, data):
        self.data, self.at = data, 0

    def skip(self):
        while self.at < len(self.data) and self.data[self.at] in b" \t\r\n":
            self.at += 1

    def ended(self):
        """Passes over comments."""
        self.skip()
        while re.compile(rb"c[ \t\r\n]").match(self.data, self.at) and (self.at == 0 or self.data[self.at - 1] == 10):
            end = self.data.find(b"\n", self.at)
            self.at = len(self.data) if end < 0 else end
            self.skip()
        return self.at == len(self.data)

    def word(self):
        found = WORD.match(self.data, self.at)
        require(found, "expected a word and white space")
        self.at = found.end()
        return found.group(1)

    def peek(self):
        found = WORD.match(self.data, self.at)
        return found.group(1) if found else b""

    def number(self):
        word = self.word()
        require(re.fullmatch(rb"0|-?[1-9][0-9]*", word) and abs(int(word)) < 1 << 31, "expected a number")
        return int(word)

    def list(self):
        Work.spend(8)
        return list(iter(self.number, 0))


def check_refutation(files, clauses, variables):
    """`clauses` hands out the clauses, which are as many variables as `variables()` says afterwards."""
    words = Words(files["problem.cnf"])
    require(not words.ended() and words.word() == b"p" and words.word() == b"cnf", "header")
    header = words.number(), words.number()
    given = []
    while not words.ended():
        given.append(words.list())
    matched = 0
    for clause in clauses:
        Work.spend(len(clause))
        if matched < len(given) and given[matched] == clause:
            matched += 1
    require(matched == len(given) == header[1] and variables() == header[0], "clauses or header mismatch")
    known = dict(enumerate(given, 1))
    last, refuted = len(given), [] in given
    words = Words(files["proof.lrat"])
    while not words.ended():
        step = words.number()
        if words.peek() == b"d":
            words.word()
            for old in words.list():
                require(known.pop(old, None) is not None, "no clause to delete")
            continue
        require(step > last, "step number")
        clause = words.list()
        require(all(abs(x) <= header[0] and -x not in clause for x in clause), "tautology, or unknown variable")
        false, conflict = set(clause), False
        for hint in words.list():
            require(not conflict and hint in known, "hint")
            left = [x for x in known[hint] if x not in false]
            Work.spend(len(known[hint]))
            require(len(left) < 2 and not (left and -left[0] in false), "hint is not unit")
            conflict = not left
            false.update(-x for x in left)
        require(conflict, "no conflict")
        last, refuted = step, refuted or not clause
        known[step] = clause
    require(refuted, "no empty clause")


class Encoder:
    """The clauses of a search for programs, as the listing has them."""

    def __init__(self, n, k, classes, shapes, size):
        """`shapes`: groups, and the number of choices that they have."""
        self.n, self.k, self.classes, self.shapes, self.size = n, k, classes, shapes, size
        self.last = 0
        self.pick, self.varmap = [], ""

    def new(self, count=1):
        first = self.last + 1
        self.last += count
        return list(range(first, self.last + 1))

    def gate(self, sign, literals, out):
        x = self.new()[0]
        out.extend([-sign * x, sign * y] for y in literals)
        out.append([sign * x] + [-sign * y for y in literals])
        return x

    def any(self, literals, out):
        return self.gate(-1, literals, out)

    def all(self, literals, out):
        return self.gate(1, literals, out)

    @staticmethod
    def eq(g, a, b, out):
        out += [[-g, -a, b], [-g, a, -b]]

    @staticmethod
    def amo(g, literals, out):
        out += [[-g, -a, -b] for i, a in enumerate(literals) for b in literals[i + 1:]]

    def clauses(self, excluded):
        """`excluded`: the last clauses, from the picks."""
        n, k, size = self.n, self.k, self.size
        true = self.new()[0]
        yield [true]
        choices = sum(count for _, count in self.shapes)
        self.pick = [self.new(choices) for _ in range(size)]
        cell, row, done = [], [], []
        for t in range(size + 1):
            Work.spend(4 * n * n * k)
            out = []
            flat = self.new(n * k * n)
            cell.append([[flat[(d * k + r) * n:(d * k + r + 1) * n] for r in range(k)] for d in range(n)])
            row.append([[self.any(cell[t][d][r], out) for r in range(k)] for d in range(n)])
            wanted = {d: members for members in self.classes for d in members}
            done.append(self.all([cell[t][d][r][c] if c in wanted[d] else -cell[t][d][r][c]
                                  for d in range(n) for r in range(k) for c in range(n)], out))
            yield from out
        lines = ["true 1"]
        for t in range(size + 1):
            lines += [f"picked {t} {self.pick[t][0]}"] if t < size and choices else []
            lines += [f"cells {t} {cell[t][0][0][0]}", f"done {t} {done[t]}"]
        self.varmap = "\n".join(lines) + "\n"
        for d, r, c in itertools.product(range(n), range(k), range(n)):
            yield [cell[0][d][r][c] if c == d else -cell[0][d][r][c]]
        for t in range(size):
            yield from self.step(true, self.pick[t], cell[t], cell[t + 1], row[t], done[t], done[t + 1])
        yield [done[size]]
        yield from excluded(self.pick)

    def step(self, true, pick, cell, later, row, done, then):
        n, k = self.n, self.k
        out = []
        least, exactly = [], []
        for d in range(n):
            Work.spend(2 * k * k)
            table = [[true] + [-true] * (k + 1) for _ in range(k + 1)]
            for r in range(k):
                for j in range(1, r + 2):
                    both = self.all([table[r][j - 1], row[d][r]], out)
                    table[r + 1][j] = self.any([table[r][j], both], out)
            least.append(table)
            exactly.append([None] + [self.all([table[k][j], -table[k][j + 1]], out) for j in range(1, k)] + [table[k][k]])
        out.append(pick + [done])
        self.amo(true, pick + [done], out)
        out.append([-done, then])
        first = 0
        for groups, count in self.shapes:
            yield from out
            out = []
            self.shape(true, groups, pick[first:first + count], cell, later, row, least, exactly, out)
            first += count
        yield from out

    def shape(self, true, groups, p, cell, later, row, least, exactly, out):
        n, k = self.n, self.k
        if len(p) == 5:
            used, adds = self.any(p, out), self.any([p[0], p[1], p[3]], out)
            unites = self.any([p[0], p[2]], out)
        else:
            used = adds = unites = p[0]
        places = list(itertools.product(range(k), range(n)))
        for group in groups:
            Work.spend(8 * k * n * len(group))
            size = len(group)
            out.append([-used] + [row[g][r] for g in group for r in range(k)])
            for r in range(k):
                for i in range(1, size):
                    self.eq(adds, row[group[i - 1]][r], row[group[i]][r], out)
            for r, c in places:
                self.amo(adds, [cell[g][r][c] for g in group], out)
            union = {(r, c): self.any([cell[g][r][c] for g in group], out) for r, c in places}
            for g in group:
                for r, c in places:
                    self.eq(unites, later[g][r][c], union[r, c], out)
            if len(p) != 5:
                continue
            g0 = group[0]
            before = [[true] * k] + [self.new(k) for _ in range(1, size)] + [[-true] * k]
            for h in range(1, k + 1):
                if h % size:
                    out.append([-p[1], -exactly[g0][h]])
                    continue
                for i, r in itertools.product(range(1, size), range(k)):
                    b = i * h // size
                    reached = least[g0][r][b] if b <= r else -true
                    out += [[-p[1], -exactly[g0][h], -before[i][r], reached],
                            [-p[1], -exactly[g0][h], before[i][r], -reached]]
            for i in range(size):
                for r, c in places:
                    x = later[group[i]][r][c]
                    out += [[-p[1], -x, before[i][r]], [-p[1], -x, -before[i + 1][r]], [-p[1], -x, union[r, c]],
                            [-p[1], -before[i][r], before[i + 1][r], -union[r, c], x]]
            for r in range(k):
                self.amo(p[2], [row[g][r] for g in group], out)
            for i, j in itertools.product(range(1, size), range(1, k + 1)):
                self.eq(p[2], exactly[group[i - 1]][j], exactly[group[i]][j], out)
            for r, c in places:
                self.eq(p[3], later[g0][r][c], union[r, c], out)
            for i, (r, c) in itertools.product(range(1, size), places):
                out.append([-p[3], -later[group[i]][r][c]])
            learnt = [-p[4]]
            for i, (r, c) in itertools.product(range(1, size), places):
                out.append([-p[4], -cell[group[i]][r][c], cell[g0][r][c]])
                learnt.append(self.all([cell[g0][r][c], -cell[group[i]][r][c]], out))
            out.append(learnt)
            for g in group:
                for r, c in places:
                    self.eq(p[4], later[g][r][c], cell[g0][r][c], out)
        members = {d for group in groups for d in group}
        for d in range(n):
            for r, c in places:
                if d not in members:
                    self.eq(used, later[d][r][c], cell[d][r][c], out)


def disjoint_sets(k):
    """Every set, not empty, of disjoint groups of at least two devices, in lexicographic order."""
    if k > 6:
        raise Incomplete("sets of groups")
    found = set()
    for code in itertools.product(range(k), repeat=k):
        groups = {}
        for d, which in enumerate(code):
            groups.setdefault(which, []).append(d)
        groups = sorted(group for group in groups.values() if len(group) > 1)
        if groups:
            found.add(tuple(map(tuple, groups)))
    return [list(map(list, groups)) for groups in sorted(found)]


def check_absence(claim, files):
    root = parse(files["problem.json"], "problem.json")
    if claim == "unmixed":
        problem = Problem(root, ["size"])
        require(not problem.instance, "an instance")
        shapes = [(groups, 5) for groups in disjoint_sets(problem.k)]
        choices = [(collective, groups) for groups, _ in shapes for collective in COLLECTIVES]
        stage = Stage(problem, [], False)
    else:
        key = {"unused": "uses", "expressible": "to"}.get(claim, "programs")
        problem = Problem(root, ["size", "choices", key])
        require(problem.instance, "no instance")
        named = list(problem.instance.choices(problem.dialect))
        require([name for name, _ in named] == as_list(root["choices"]), "choices")
        choices = [(name["collective"], groups) for name, groups in named]
        confined = problem.instance.kind in ["d", "collapsed", "lattice"]
        stage = Stage(problem, [(collective, groups, True, False) for collective, groups in choices], confined)
        shapes = []
        for step in stage.steps:
            if step[0] == "AllReduce":
                shapes.append([step[1], 0])
            shapes[-1][1] += 1
    size = number(root["size"], 65)
    programs, uses = [], None
    if claim == "unmixed":
        uses = [m for m, (_, groups) in enumerate(choices) if problem.mixes(groups)]
    elif claim == "unused":
        uses = ascending(root["uses"], len(choices)) if root["uses"] != [] else []
    elif claim == "expressible":
        known = problem.known_over(root["to"])
        uses = [m for m, (c, groups) in enumerate(choices) if (c, tuple(map(tuple, groups))) not in known]
    else:
        programs = [numbers(program, len(choices)) for program in as_list(root["programs"])]
        require(all(a < b for a, b in zip(programs, programs[1:])), "order of programs")
        require(all(len(program) <= size for program in programs), "a program is too long")
        initial = list(stage.states)
        for program in programs:
            stage.states = list(initial)
            for m in program:
                require(not stage.at_goal(), "steps after the goal")
                stage.run(stage.steps[m])
            require(stage.at_goal(), "the goal is not reached")
    encoder = Encoder(stage.n, stage.chunks, stage.classes, shapes, size)

    def excluded(pick):
        if uses is not None:
            yield [pick[t][m] for t in range(size) for m in uses]
        for program in programs:
            yield [-pick[t][m] for t, m in enumerate(program)]

    check_refutation(files, encoder.clauses(excluded), lambda: encoder.last)
    require(encoder.varmap.encode() == files["varmap"], "varmap mismatch")


# The claim cheapest. A state is a tuple of k·k sets of contributors, as bits, device by device.

class Costs:
    """Bytes are counted in parts of a chunk, of which it has as many as the least common multiple of 1 … k."""

    def __init__(self, problem, uplinks):
        self.k = k = problem.k
        if k > (16 if problem.instance else 6):
            raise Incomplete("too many devices")
        self.chunk = math.lcm(*range(1, k + 1))
        self.classes = [sum(1 << d for d in members) for members in problem.classes]
        of = {d: everyone for everyone, members in zip(self.classes, problem.classes) for d in members}
        self.initial = tuple(1 << d for d in range(k) for _ in range(k))
        self.goal = tuple(of[d] for d in range(k) for _ in range(k))
        slowest = {}
        for item in as_list(uplinks):
            pair = numbers(item, 1 << 16)
            require(len(pair) == 2 and pair[0] > 0, "uplink")
            slowest[pair[0]] = max(slowest.get(pair[0], 0), pair[1])
        self.links = [(range(first, first + span), slowdown) for span, slowdown in sorted(slowest.items()) if span < k
                      for first in range(0, k, span)]

    def row(self, state, d):
        return state[d * self.k:(d + 1) * self.k]

    def take(self, collective, groups, state):
        """The state afterwards and what the groups are charged; None where a rule is broken or a group is empty."""
        Work.spend(2 * self.k * self.k)
        rows, charges, held = [list(self.row(state, d)) for d in range(self.k)], [], []
        for group in groups:
            before = [tuple(rows[d]) for d in group]
            held.append(sum(1 for cell in before[0] if cell))
            if not any(any(row) for row in before):
                return None
            sets = [tuple(frozenset(c for c in range(self.k) if cell >> c & 1) for cell in row) for row in before]
            if broken_rule(collective, True, sets) is not None:
                return None
            for d, row in zip(group, after(collective, sets)):
                rows[d] = [sum(1 << c for c in cell) for cell in row]
        charges = self.charges(collective, tuple(map(tuple, groups)), tuple(held))
        return tuple(cell for row in rows for cell in row), charges

    @functools.lru_cache(maxsize=None)
    def charges(self, collective, groups, held):
        own = []
        for group, m in zip(groups, held):
            n, load = len(group), m * self.chunk
            depth = (n - 1).bit_length()
            own.append({"AllReduce": (2 * (n - 1), 2 * ((n - 1) * load // n)), "ReduceScatter": (n - 1, (n - 1) * load // n),
                        "AllGather": (n - 1, (n - 1) * load)}.get(collective, (depth, depth * load)))
        charged = list(own)
        for run, slowdown in self.links:
            crossing = [i for i, group in enumerate(groups) if 0 < sum(d in run for d in group) < len(group)]
            load = slowdown * sum(own[i][1] for i in crossing)
            for i in crossing:
                charged[i] = (charged[i][0], max(charged[i][1], load))
        return charged

    @functools.lru_cache(maxsize=1 << 16)
    def fewest(self, everyone, sets):
        """Of how many disjoint ones of the sets `everyone` is the union at least."""
        if not everyone:
            return 0
        lowest = everyone & -everyone
        return min((1 + self.fewest(everyone & ~s, sets) for s in set(sets) if s & lowest and not s & ~everyone),
                   default=math.inf)

    def bound(self, state, alpha, beta):
        """No way to the goal costs less; infinite where there is none."""
        if state == self.goal:
            return 0
        Work.spend(4 * self.k * self.k)
        k, rounds, volume, most_of_chunk = self.k, 1, 0, 0
        flows = [0] * len(self.links)
        for r in range(k):
            of_chunk = 0
            for everyone in self.classes:
                pure = [state[d * k + r] if not state[d * k + r] & ~everyone else 0 for d in range(k)]
                pieces = self.fewest(everyone, tuple(sorted(pure)))
                if pieces == math.inf:
                    return math.inf
                unfinished = sum(1 for d in range(k) if everyone >> d & 1 and state[d * k + r] != everyone)
                if not unfinished:
                    continue
                size, counts = everyone.bit_count(), [p.bit_count() for p in pure]
                while (max(counts) * sum(counts) << rounds) < size ** 3:
                    rounds += 1
                of_chunk += pieces - 1 + unfinished - (1 if pieces > 1 else 0)
                for link, (run, _) in enumerate(self.links):
                    for side in [[d for d in range(k) if (d in run) == inside] for inside in (True, False)]:
                        union = functools.reduce(int.__or__, (pure[d] for d in side), 0)
                        flows[link] += any(everyone >> d & 1 for d in side) and union != everyone
            volume += of_chunk
            most_of_chunk = max(most_of_chunk, of_chunk)
        least = max(alpha * rounds, (alpha * max(k, 2 * most_of_chunk) + beta * volume * self.chunk) // k)
        for (_, slowdown), f in zip(self.links, flows):
            least = max(least, alpha + beta * (slowdown * f * self.chunk // 2))
        return least


def cost_of_listed(problem, root, costs, among):
    program = Problem(root, ["steps"])
    require((program.classes, program.dialect) == (problem.classes, problem.dialect), "another system")
    state, total = costs.initial, [0, 0]
    for step in program.steps:
        require(step[2] or among != "hierarchies", "bare groups")
        require(among != "unmixed" or not program.mixes(step[1]), "it mixes classes")
        require(state != costs.goal and program.allowed(step), "a step after the goal, or a Master")
        taken = costs.take(step[0], step[1], state)
        require(taken, "a step is not legal")
        state, charges = taken
        slowest = tuple(map(max, zip(*charges)))
        require(slowest in charges, "no slowest group")
        total = [a + b for a, b in zip(total, slowest)]
    require(state == costs.goal, "the goal is not reached")
    return tuple(total)


def bends(charges):
    for (r1, b1), (r2, b2) in itertools.permutations(set(charges), 2):
        if b2 > b1 and r1 > r2:
            divisor = math.gcd(b2 - b1, r1 - r2)
            yield (b2 - b1) // divisor, (r1 - r2) // divisor


def check_cheapest(_, files):
    root = parse(files["problem.json"], "problem.json")
    problem = Problem(root, ["uplinks", "among", "programs"])
    costs = Costs(problem, root["uplinks"])
    require(root["among"] in ["hierarchies", "unmixed", "all"], "among")
    listed = {cost_of_listed(problem, program, costs, root["among"]) for program in as_list(root["programs"])}
    require(listed, "no programs")
    if problem.instance:
        choices = [(name["collective"], groups) for name, groups in problem.instance.choices(problem.dialect)]
    else:
        choices = [(collective, groups) for groups in disjoint_sets(problem.k) for collective in COLLECTIVES]
    ratios = {(0, 1), (1, 0), *bends(listed)}
    for collective, groups in choices:
        if len(set(map(len, groups))) > 1:
            Work.spend(10 * problem.k ** len(groups))
            for held in itertools.product(range(1, problem.k + 1), repeat=len(groups)):
                ratios.update(bends(costs.charges(collective, tuple(map(tuple, groups)), held)))
    evidence = keys(parse(files["potential.json"], "potential.json"), ["states", "ratios"])
    states = [tuple(numbers(state, 1 << problem.k)) for state in as_list(evidence["states"])]
    require(all(len(state) == problem.k ** 2 for state in states) and len(set(states)) == len(states), "states")
    require(costs.goal not in states, "the goal has a potential")
    require(len(as_list(evidence["ratios"])) == len(ratios), "ratios")
    for (alpha, beta), entry in zip(sorted(ratios), evidence["ratios"]):
        keys(entry, ["alpha", "beta", "potential"])
        require((number(entry["alpha"], 1 << 63), number(entry["beta"], 1 << 63)) == (alpha, beta), "ratios")
        check_potential(costs, choices, alpha, beta, listed, states, numbers(entry["potential"], 1 << 61))


def check_potential(costs, choices, alpha, beta, listed, states, values):
    require(len(values) == len(states), "potential")
    own = {state: value for state, value in zip(states, values) if value}

    def potential(state):
        return own[state] if state in own else costs.bound(state, alpha, beta)

    require(potential(costs.initial) >= min(alpha * r + beta * b for r, b in listed), "potential of the first state")
    for state, value in own.items():
        for collective, groups in choices:
            taken = costs.take(collective, groups, state)
            if taken:
                price = max(alpha * r + beta * b for r, b in taken[1])
                require(price >= value or price + potential(taken[0]) >= value, "potential after a step")


# Strategies.

def read_costs(value):
    costs = numbers(value, 1 << 62)
    require(costs, "no costs")
    return costs


def check_strategy(claim, files):
    root = keys(parse(files["problem.json"], "problem.json"), ["vertices", "tables", "edges"])
    vertices = [read_costs(costs) for costs in as_list(root["vertices"])]
    require(1 <= len(vertices) <= 1 << 20, "vertices")
    tables = [[read_costs(row) for row in as_list(table)] for table in as_list(root["tables"])]
    require(all(table and len(set(map(len, table))) == 1 for table in tables), "tables")
    edges = [tuple(numbers(edge, 1 << 32)) for edge in as_list(root["edges"])]
    for edge in edges:
        require(len(edge) == 3 and edge[0] < edge[1] < len(vertices) and edge[2] < len(tables), "edge")
        table = tables[edge[2]]
        require((len(table), len(table[0])) == (len(vertices[edge[0]]), len(vertices[edge[1]])), "size of a table")
    require(all(a[:2] < b[:2] for a, b in zip(edges, edges[1:])), "order of edges")
    largest = sum(map(max, vertices)) + sum(max(map(max, tables[t])) for _, _, t in edges)
    require(largest < 1 << 62, "costs are too large")
    strategy = keys(parse(files["strategy.json"], "strategy.json"), ["configurations", "cost"])
    chosen, cost = numbers(strategy["configurations"], 1 << 32), number(strategy["cost"], 1 << 62)
    require(len(chosen) == len(vertices) and all(c < len(v) for c, v in zip(chosen, vertices)), "configurations")
    total = sum(v[c] for c, v in zip(chosen, vertices)) + sum(tables[t][chosen[a]][chosen[b]] for a, b, t in edges)
    require(total == cost, "cost")
    if claim == "strategy-optimal":
        check_elimination(vertices, tables, edges, cost, parse(files["bound.json"], "bound.json"))
    else:
        check_sums(vertices, tables, edges, cost, files)


def check_elimination(vertices, tables, edges, cost, bound):
    keys(bound, ["removals", "order"])
    left = [list(range(len(costs))) for costs in vertices]
    for removal in as_list(bound["removals"]):
        removal = numbers(removal, 1 << 32)
        require(len(removal) == 3 and removal[0] < len(vertices), "removal")
        v, c, d = removal
        require(c != d and c in left[v] and d in left[v], "not two configurations that are left")
        worst = vertices[v][d] - vertices[v][c]
        for a, b, t in edges:
            if v == a:
                worst += max(tables[t][d][x] - tables[t][c][x] for x in left[b])
            elif v == b:
                worst += max(tables[t][x][d] - tables[t][x][c] for x in left[a])
        require(worst <= 0, "it may cost less")
        left[v].remove(c)
    order = numbers(bound["order"], len(vertices))
    require(sorted(order) == list(range(len(vertices))), "order")
    functions = [((v,), {(c,): vertices[v][c] for c in left[v]}) for v in range(len(vertices))]
    functions += [((a, b), {(x, y): tables[t][x][y] for x in left[a] for y in left[b]}) for a, b, t in edges]
    least = 0
    for v in order:
        mine = [f for f in functions if v in f[0]]
        functions = [f for f in functions if v not in f[0]]
        scope = sorted({u for names, _ in mine for u in names if u != v})
        Work.spend(math.prod(len(left[u]) for u in scope) * len(left[v]) * len(mine))
        made = {}
        for choice in itertools.product(*(left[u] for u in scope)):
            at = dict(zip(scope, choice))
            made[choice] = min(sum(f[tuple({**at, v: c}[u] for u in names)] for names, f in mine) for c in left[v])
        if scope:
            functions.append((tuple(scope), made))
        else:
            least += made[()]
    require(least == cost, "a strategy costs less, or none so little")


def check_sums(vertices, tables, edges, cost, files):
    root = keys(parse(files["sums.json"], "sums.json"), ["additions", "sums"])
    terms = len(vertices) + len(edges)
    additions, used = [], set()
    for addition in as_list(root["additions"]):
        parts = numbers(addition, terms + len(additions))
        require(len(parts) == 1 or len(parts) == 2 and parts[0] >= terms, "addition")
        for part in parts:
            require(part not in used, "added twice")
            used.add(part)
        additions.append(parts)
    sums = [read_costs(each) for each in as_list(root["sums"])]
    require(all(a < b for each in sums for a, b in zip(each, each[1:])), "sums")
    require(sums and len(sums) == len(additions) and sums[-1] == [cost], "sums")
    last = 1

    def new(count):
        nonlocal last
        last += count
        return list(range(last - count + 1, last + 1))

    def clauses():
        yield [1]
        chosen = []
        for costs in vertices:
            chosen.append(new(len(costs)))
            yield chosen[-1]
        reach = []
        for n, parts in enumerate(additions):
            reach.append(new(len(sums[n])) if n + 1 < len(additions) else [-1])
            for j in range(1, len(sums[n])):
                yield [-reach[n][j], reach[n][j - 1]]
            m = parts[0] - terms if len(parts) == 2 else None

            def case(x, literals):
                before = 0
                for guard, more in [([], 0)] + ([([-reach[m][k]], s) for k, s in enumerate(sums[m])] if m is not None else []):
                    q = sum(s <= x + more for s in sums[n])
                    Work.spend(len(sums[n]))
                    if q > before:
                        yield guard + literals + [reach[n][q - 1]]
                    before = q

            part = parts[-1]
            if part < len(vertices):
                for c, x in enumerate(vertices[part]):
                    yield from case(x, [-chosen[part][c]])
            elif part < terms:
                a, b, t = edges[part - len(vertices)]
                for i, row in enumerate(tables[t]):
                    for j, x in enumerate(row):
                        yield from case(x, [-chosen[a][i], -chosen[b][j]])
            else:
                yield from case(0, [])
                for j, s in enumerate(sums[part - terms]):
                    yield from case(s, [-reach[part - terms][j]])

    check_refutation(files, clauses(), lambda: last)


# Schedules of unit tasks.

def check_schedule(claim, files):
    root = keys(parse(files["schedule.json"], "schedule.json"), ["tasks", "makespan"])
    makespan, tasks, runs = number(root["makespan"], 1 << 42), [], []
    for task in as_list(root["tasks"]):
        keys(task, ["size", "sender_hosts", "receiver_hosts", "sender", "start"])
        size, senders = number(task["size"], 1 << 42), ascending(task["sender_hosts"], 1024)
        receivers, start = ascending(task["receiver_hosts"], 1024), number(task["start"], 1 << 42)
        require(number(task["sender"], 1024) in senders and start + size <= makespan, "task")
        tasks.append((size, senders, receivers))
        runs += [(("sends", task["sender"]), start, start + size)]
        runs += [(("receives", host), start, start + size) for host in receivers]
    runs.sort()
    require(all(a[0] != b[0] or a[2] <= b[1] for a, b in zip(runs, runs[1:])), "two at once")
    if claim == "reshard-schedule-clauses":
        return check_shorter(tasks, makespan, files)
    gap = claim == "reshard-schedule-gap"
    bound = keys(parse(files["bound.json"], "bound.json"), ["tasks", "senders"] + (["least"] if gap else []))
    some = [tasks[i] for i in ascending(bound["tasks"], len(tasks))]
    senders = ascending(bound["senders"], 1024) if bound["senders"] != [] else []
    if not senders:
        for a, b in itertools.combinations(some, 2):
            require(set(a[2]) & set(b[2]) or a[1] == b[1] and len(a[1]) == 1, "two can run at once")
        shown = sum(size for size, _, _ in some)
    else:
        require(all(set(task[1]) <= set(senders) for task in some), "a sender outside the set")
        sizes = sorted(size for size, _, _ in some)
        shown = max(-(-sum(sizes) // len(senders)), sum(sizes[:-(-len(some) // len(senders))]))
    require(shown >= (number(bound["least"], 1 << 42) if gap else makespan), "the bound is less")


def check_shorter(tasks, makespan, files):
    points = {0}
    for size, _, _ in tasks:
        Work.spend(len(points))
        points |= {p + size for p in points if p + size < makespan}
    points = sorted(points)
    last = 2

    def new(count=1):
        nonlocal last
        last += count
        return list(range(last - count + 1, last + 1))

    def clauses():
        yield [1]
        yield [-2]
        late, sends = [], []
        for size, senders, _ in tasks:
            if size >= makespan:
                yield [2]
            mine = [1]
            for k in range(1, sum(p + size < makespan for p in points)):
                mine += new()
                yield [-mine[k], mine[k - 1]]
            late.append(mine)
            sends.append(new(len(senders)))
            yield sends[-1]
        for j in range(len(tasks)):
            for i in range(j):
                Work.spend(8)
                if set(tasks[i][2]) & set(tasks[j][2]):
                    first = new()[0]
                    yield from follow(late, i, j, -first, [])
                    yield from follow(late, j, i, first, [])
                    if tasks[i] == tasks[j]:
                        yield [first]
                    continue
                for s, host in enumerate(tasks[i][1]):
                    if host in tasks[j][1]:
                        unless = [-sends[i][s], -sends[j][tasks[j][1].index(host)]]
                        first = new()[0]
                        yield from follow(late, i, j, -first, unless)
                        yield from follow(late, j, i, first, unless)

    def follow(late, a, b, first, unless):
        for k in range(len(late[a])):
            q = sum(p < points[k] + tasks[a][0] for p in points)
            yield [first, -late[a][k], late[b][q] if q < len(late[b]) else 2] + unless

    check_refutation(files, clauses(), lambda: last)


# Pipelines. Work is (0, stage, k) for a forward, (1, stage, k) for a backward.

def check_pipeline(_, files):
    root = keys(parse(files["pipeline.json"], "pipeline.json"),
                ["stages", "microbatches", "forward", "backward", "latency", "makespan", "forwards", "backwards"])
    stages, count = number(root["stages"], 1 << 13), number(root["microbatches"], 1 << 13)
    require(stages > 0 and count > 0 and 2 * stages * count <= 1 << 13, "size")
    forward, backward, latency, makespan = (number(root[key], 1 << 40) for key in ["forward", "backward", "latency", "makespan"])
    length = (forward, backward)
    starts = {}
    for kind, key in enumerate(["forwards", "backwards"]):
        require(len(as_list(root[key])) == stages, key)
        for stage, row in enumerate(root[key]):
            require(len(as_list(row)) == count, key)
            starts.update({(kind, stage, k): number(start, 1 << 40) for k, start in enumerate(row)})
    rules = []
    for stage, k in itertools.product(range(stages), range(count)):
        if k:
            rules += [((0, stage, k - 1), (0, stage, k), forward), ((1, stage, k - 1), (1, stage, k), backward)]
        if stage:
            rules.append(((0, stage - 1, k), (0, stage, k), forward + latency))
            rules.append(((1, stage, k), (1, stage - 1, k), backward + latency))
        if stage == stages - 1:
            rules.append(((0, stage, k), (1, stage, k), forward))
    require(all(starts[b] >= starts[a] + apart for a, b, apart in rules), "too early")
    require(all(start + length[work[0]] <= makespan for work, start in starts.items()), "after the makespan")
    runs = sorted((work[1], start, start + length[work[0]]) for work, start in starts.items())
    require(all(a[0] != b[0] or a[2] <= b[1] for a, b in zip(runs, runs[1:])), "two at once")
    cases = keys(parse(files["cases.json"], "cases.json"), ["cases"])["cases"]
    require(len(as_list(cases)) == stages, "cases")
    for stage in range(stages):
        held = 0
        for k in range(count):
            ended = 0
            while ended < k and starts[1, stage, ended] + backward <= starts[0, stage, k]:
                ended += 1
            held = max(held, k + 1 - ended)
        todo = list(reversed(as_list(cases[stage])))
        if held > 1:
            more = [((1, stage, k + 1 - held), (0, stage, k), backward) for k in range(held - 1, count)]
            refute(dict.fromkeys(starts, 0), rules + more, length, makespan, (stages, count), todo, 0)
        require(not todo, "more cases than needed")


def refute(early, rules, length, makespan, sizes, todo, depth):
    changed = True
    while changed:
        changed = False
        Work.spend(len(rules))
        for a, b, apart in rules:
            if early[b] < early[a] + apart:
                early[b], changed = early[a] + apart, True
                if early[b] + length[b[0]] > makespan:
                    return
    if any(start + length[work[0]] > makespan for work, start in early.items()):
        return
    require(todo, "a case is not refuted")
    if depth > 500:
        raise Incomplete("depth")
    case = numbers(todo.pop(), 1 << 32)
    require(len(case) == 3 and case[0] < sizes[0] and max(case[1:]) < sizes[1], "case")
    f, b = (0, case[0], case[1]), (1, case[0], case[2])
    for rule in [(f, b, length[0]), (b, f, length[1])]:
        refute(dict(early), rules + [rule], length, makespan, sizes, todo, depth + 1)


# Plans.

def check_plan(claim, files):
    root = keys(parse(files["plan.json"], "plan.json"), ["dimensions", "has", "needs", "programs"])
    n = number(root["dimensions"], 65)

    def box(value):
        corners = numbers(value, 1 << 31)
        require(len(corners) == 2 * n, "box")
        return tuple(zip(corners[:n], corners[n:]))

    has, needs = [box(b) for b in as_list(root["has"])], [box(b) for b in as_list(root["needs"])]
    programs = []
    for steps in as_list(root["programs"]):
        programs.append([])
        for step in as_list(steps):
            programs[-1].append([])
            for operation in as_list(step):
                operation = numbers(operation, 1 << 31)
                require(len(operation) == 2 + 2 * n and operation[0] < 3 and operation[1] < len(has), "operation")
                programs[-1][-1].append((operation[0], operation[1], box(operation[2:])))
    require(len(has) == len(needs) == len(programs), "devices")
    require(is_right(has, needs, programs) == (claim == "reshard-plan"), "the plan is the other")


def meet(a, b):
    return all(max(x[0], y[0]) < min(x[1], y[1]) for x, y in zip(a, b))


def outside(box, cuts):
    """Whether some element of the box is in none of the cuts; cells between the corners are looked at one by one."""
    if not meet(box, box):
        return False
    cuts = [cut for cut in cuts if meet(box, cut)]
    edges = []
    for i, (low, high) in enumerate(box):
        edges.append(sorted({low, *(x for cut in cuts for x in cut[i] if low < x < high)}))
    Work.spend(math.prod(map(len, edges)) * (len(cuts) + 1))
    return any(not any(all(low <= x < high for x, (low, high) in zip(at, cut)) for cut in cuts)
               for at in itertools.product(*edges))


def is_right(has, needs, programs):
    operations = [(d, s, i) for d, steps in enumerate(programs) for s, step in enumerate(steps) for i in range(len(step))]
    sends, receives = {}, {}
    for d, s, i in operations:
        kind, peer, _ = programs[d][s][i]
        if kind:
            sends.setdefault((d, peer), []).append((d, s, i))
        else:
            receives.setdefault((peer, d), []).append((d, s, i))
    partner = {}
    for ends in sends:
        for a, b in zip(sends[ends], receives.get(ends, [])):
            partner[a], partner[b] = b, a
    at = lambda place: programs[place[0]][place[1]][place[2]]
    for place in operations:
        kind, _, box = at(place)
        if not meet(box, box) or outside(box, [(has if kind == 1 else needs)[place[0]]]):
            return False
        if place not in partner or at(partner[place])[2] != box:
            return False
    begun, moved = [0] * len(programs), True
    while moved:
        moved = False
        for d, steps in enumerate(programs):
            Work.spend(1)
            while begun[d] < len(steps) and all(partner[d, begun[d], i][1] <= begun[partner[d, begun[d], i][0]]
                                                for i in range(len(steps[begun[d]]))):
                begun[d], moved = begun[d] + 1, True
    if any(b < len(steps) for b, steps in zip(begun, programs)):
        return False
    for d, steps in enumerate(programs):
        received = []
        for step in steps:
            Work.spend(len(step) ** 2)
            for a, b in itertools.combinations(step, 2):
                if (a[0], b[0]) in [(0, 0), (0, 2), (2, 0)] and meet(a[2], b[2]):
                    return False
            if any(kind == 2 and outside(box, received) for kind, _, box in step):
                return False
            received += [box for kind, _, box in step if kind == 0]
        if outside(needs[d], received):
            return False
    return True


# All sizes: the machine of theorem T7. Sets of digits are frozensets of strides.

class Sizes:
    def __init__(self, root):
        k = 1
        for part in as_list(root["hierarchy"]):
            k *= number(keys(part, ["name", "size"])["size"], (1 << 20) + 1)
            require(k <= 1 << 20, "devices")
        self.instance = Instance(root, k, root["synthesis_hierarchy"])
        wide = lambda digits: frozenset(stride for size, stride in digits if size > 1)
        self.forms = {}
        for name, form, reduced, pinned in self.instance.forms():
            self.forms.setdefault((name, form), (wide(reduced), wide(pinned)))
        self.goal = wide(digit for place, digit in self.instance.digits.items() if place[0] in self.instance.reduce)
        # Strides and sizes, outermost first.
        self.wide = sorted(((stride, size) for size, stride in self.instance.digits.values() if size > 1), reverse=True)

    def choice(self, value, published=True):
        keys(value, ["collective", "slice", "form"])
        collective = text_of(value["collective"])
        require(collective in COLLECTIVES, "collective")
        varied, pinned = self.forms.get((text_of(value["slice"]), text_of(value["form"])), (frozenset(), None))
        require(varied and (not published or not pinned or collective == "AllReduce"),
                "no group of two devices, or Master")
        return collective, varied, pinned

    def choices(self, published=True):
        return {(collective, varied, pinned) for varied, pinned in self.forms.values() if varied
                for collective in (["AllReduce"] if published and pinned else COLLECTIVES)}

    def listed(self, root, published=True):
        """The choices of a list, and its programs."""
        choices, every = [self.choice(value, published) for value in as_list(root["choices"])], self.choices(published)
        require(set(choices) == every and len(choices) == len(every), "choices")
        return choices, [tuple(numbers(program, len(choices))) for program in as_list(root["programs"])]


def machine_step(state, choice):
    """None if it is refused."""
    scattered, reduced, summed, pending = state
    collective, varied, pinned = choice
    done = frozenset(pair for pair in pending if pair[1] <= varied)
    if collective == "AllGather":
        return None if reduced or not varied <= scattered else (scattered - varied, reduced, summed, pending)
    if collective == "Broadcast":
        known = summed.union(*(w for w, _ in done))
        if not (reduced or done) or not reduced <= varied or varied & scattered or not varied - reduced <= known:
            return None
        return scattered, frozenset(), known, frozenset((w, y - varied) for w, y in pending - done)
    merged = summed.union(*(w for w, _ in pending))
    if varied & merged or not reduced <= pinned or not pinned <= merged - scattered:
        return None
    if reduced == pinned:
        summed |= varied
    else:
        pending |= {(varied, pinned)}
    if collective == "ReduceScatter":
        scattered |= varied
    return scattered, varied if collective == "Reduce" else reduced, summed, pending


def check_unused(claim, root, system):
    """No path of at most `size` steps to the goal has a forbidden choice: by the states from which the goal is so many
    steps away, from the last step to the first."""
    key = "to" if claim == "expressible-all-sizes" else "uses"
    sizes = Sizes(keys(root, [*system, "size", key]))
    size = number(root["size"], 65)
    if key == "to":
        uses = sizes.choices() - Sizes({**root, "synthesis_hierarchy": text_of(root["to"])}).choices()
    else:
        listed = [sizes.choice(value) for value in as_list(root["uses"])]
        uses = set(listed)
        require(len(uses) == len(listed), "uses has one twice")
    nothing = frozenset()
    layers, edges = [{(nothing,) * 4}], []
    while uses and len(edges) < size and layers[-1]:
        edges.append([])
        for state in layers[-1]:
            Work.spend(len(sizes.forms))
            for choice in sizes.choices():
                after = machine_step(state, choice)
                if after is not None and after[2].union(*(w for w, _ in after[3])) <= sizes.goal:
                    edges[-1].append((state, choice, after))
        layers.append({after for _, _, after in edges[-1]})
    live = set()
    for before in reversed(edges):
        live.add((nothing, nothing, sizes.goal, nothing))
        into = [(state, choice) for state, choice, after in before if after in live]
        require(not any(choice in uses for _, choice in into), "a valid program makes a choice")
        live = {state for state, _ in into}


def check_all_sizes(claim, files):
    root = parse(files["problem.json"], "problem.json")
    system = ["hierarchy", "axes", "reduce", "placement", "synthesis_hierarchy"]
    start, nothing = (frozenset(),) * 4, frozenset()
    if claim == "program-valid-all-sizes":
        sizes = Sizes(keys(root, [*system, "steps"]))
        require(len(as_list(root["steps"])) <= 4096, "steps")
        state = start
        for step in root["steps"]:
            state = machine_step(state, sizes.choice(step))
            require(state is not None, "a step is refused")
        require(state == (nothing, nothing, sizes.goal, nothing), "the goal is not reached")
        return
    if claim in ("expressible-all-sizes", "unused-all-sizes"):
        check_unused(claim, root, system)
        return
    sizes = Sizes(keys(root, [*system, "size", "choices", "programs"]))
    size = number(root["size"], 65)
    choices, programs = sizes.listed(root)
    found = []

    def extend(state, program):
        if state == (nothing, nothing, sizes.goal, nothing):
            found.append(program)
        if len(program) == size:
            return
        Work.spend(len(choices))
        for i, choice in enumerate(choices):
            after = machine_step(state, choice)
            if after is not None and after[2].union(*(w for w, _ in after[3])) <= sizes.goal:
                extend(after, (*program, i))

    extend(start, ())
    require(found == programs, "other programs")


class Tables:
    """Large sizes. A point of the grid has a value for every digit; a device holds nothing, None, or has the digits
    that it was divided by, coordinates, and by their values the contributors."""

    def __init__(self, sizes, values):
        self.digits = [stride for stride, _ in sizes.wide]
        self.size, self.values = dict(sizes.wide), values
        self.refused = False  # the last step, whatever the sizes
        self.count = {digit: min(size, values) for digit, size in sizes.wide}
        self.coordinates, self.needed, self.goal = [], 4, sizes.goal
        points = itertools.product(*(range(self.count[digit]) for digit in self.digits))
        self.devices = {point: (frozenset(), (), {(): frozenset([point])}) for point in points}
        Work.spend(len(self.devices) ** 2)

    def groups(self, varied, pinned=frozenset()):
        """By the values of the others, in order of the devices."""
        groups = {}
        for point in self.devices:
            if not any(point[i] for i, digit in enumerate(self.digits) if digit in pinned):
                base = tuple(0 if digit in varied else v for digit, v in zip(self.digits, point))
                groups.setdefault(base, []).append(point)
        return groups.values()

    def extended(self, table, over):
        """The rows over more coordinates."""
        for c in over:
            of_digit = [each for each in over if self.coordinates[each][1] == self.coordinates[c][1]]
            self.needed = max(self.needed, 4 + len(of_digit))
        rows = {}
        for values, points in table[1].items():
            known = dict(zip(table[0], values))
            choices = [[known[c]] if c in known else range(self.count[self.coordinates[c][1]]) for c in over]
            for key in itertools.product(*choices):
                Work.spend(1)
                rows[key] = points
        return rows

    def reduced(self, divided, over, rows):
        for i in range(len(over) - 1, -1, -1):
            without = {}
            for key, points in rows.items():
                without.setdefault(key[:i] + key[i + 1:], []).append(points)
            count = self.count[self.coordinates[over[i]][1]]
            if all(len(found) == count and len(set(found)) == 1 for found in without.values()):
                over, rows = over[:i] + over[i + 1:], {key: found[0] for key, found in without.items()}
        return divided, over, rows

    def exists(self, over, key):
        rests = [sum(c in over for c in self.coordinates[each][0]) for each in over]
        last = all(v + 1 == self.size[self.coordinates[c][1]] for c, v in zip(over, key))
        return not any(key) or last or rests == list(range(len(over)))

    def occurs(self, over, key):
        """Some chunk has these values, whatever the sizes: the first, the last, or one of nested runs."""
        size = [self.size[self.coordinates[c][1]] for c in over]
        if not any(key) or all(n < self.values and v + 1 == n for v, n in zip(key, size)):
            return True
        under = set(over)
        while more := {each for c in under for each in self.coordinates[c][0]} - under:
            under |= more
        digits = {self.coordinates[c][1] for c in under}
        return len(digits) == len(under) and all(len(self.coordinates[c][0]) == i for i, c in enumerate(sorted(under)))

    def fails(self, over, keys):
        self.refused |= any(self.occurs(over, key) for key in keys)
        return None if keys else False

    def run(self, collective, varied, members):
        before = [self.devices[point] for point in members]
        root = before[0]
        self.refused |= root is None or collective != "Broadcast" and None in before
        if root is None or collective != "Broadcast" and any(each is None or each[0] != root[0] for each in before):
            return None
        over = tuple(sorted({c for each in before if each for c in each[1]}))
        tables = [self.extended(each[1:], over) if each else {} for each in before]
        if collective == "Broadcast":
            less = [key for each in tables for key, points in each.items() if not points <= tables[0].get(key, set())]
            self.refused |= None not in before and all(each == tables[0] for each in tables)
            if self.fails(over, less) is None:
                return None
            learns = any(each.get(key) != points and self.exists(over, key) for each in tables
                         for key, points in tables[0].items())
            return [self.reduced(root[0], over, tables[0])] * len(members) if learns else None
        if collective == "AllGather":
            rows = {key: points for each in tables for key, points in each.items()}
            if not varied <= root[0]:
                return None
            if self.fails(over, [key for key in rows if sum(key in each for each in tables) > 1]) is None:
                return None
            return [self.reduced(root[0] - varied, over, rows)] * len(members)
        none = frozenset()
        rows = {key: none.union(*(each.get(key, none) for each in tables)) for each in tables for key in each}
        wrong = [key for key, points in rows.items() if any(key not in each for each in tables)
                 or len(points) != sum(len(each[key]) for each in tables)]
        if self.fails(over, wrong) is None:
            return None
        total = self.reduced(root[0], over, rows)
        if collective != "ReduceScatter":
            return [total] + [total if collective == "AllReduce" else None] * (len(members) - 1)
        return self.scattered(total, varied, members)

    def scattered(self, total, varied, members):
        divided, over, rows = total
        held = [{key[i] for key in rows} for i in range(len(over))]
        box = [len(values) in (1, self.count[self.coordinates[c][1]]) for c, values in zip(over, held)]
        if divided & varied or not all(box) or len(rows) != math.prod(map(len, held)):
            return None
        given, cuts = frozenset(c for c, values in zip(over, held) if len(values) == 1), {}
        for i, digit in enumerate(self.digits):
            if digit in varied:
                if (given, digit) not in self.coordinates:
                    self.coordinates.append((given, digit))
                cuts[self.coordinates.index((given, digit))] = i
                given |= {self.coordinates.index((given, digit))}
        more = tuple(sorted({*over, *cuts}))
        rows = self.extended((over, rows), more)
        return [self.reduced(divided | varied, more,
                             {key: points for key, points in rows.items()
                              if all(c not in cuts or v == point[cuts[c]] for c, v in zip(more, key))})
                for point in members]

    def take(self, choice):
        """Whether the step is legal for all groups; if not, it may certainly be refused."""
        collective, varied, pinned = choice
        self.refused, legal = False, True
        for members in self.groups(varied, pinned):
            after = self.run(collective, varied, members)
            legal = legal and after is not None
            self.devices.update(zip(members, after or []))
        return legal

    def at_goal(self):
        return all(self.devices[point] == (frozenset(), (), {(): frozenset(members)})
                   for members in self.groups(self.goal) for point in members)


class Ends:
    """Programs that may be valid for large sizes. A state has for every point what it holds, None or powers of the
    digits' sizes by which it has more chunks than there are, and who contributes to the first and the last chunk; and
    a label."""

    def __init__(self, sizes):
        self.digits = [stride for stride, _ in sizes.wide]
        self.count = [min(size, 4) for _, size in sizes.wide]
        self.points = list(itertools.product(*map(range, self.count)))
        self.home = {point: tuple(0 if d in sizes.goal else v for d, v in zip(self.digits, point)) for point in self.points}
        self.classes = {home: frozenset(p for p in self.points if self.home[p] == home) for home in self.home.values()}
        self.start = tuple(((0,) * len(self.digits), frozenset([p]), frozenset([p])) for p in self.points), tuple(range(len(self.points)))
        self.known = {}
        Work.spend(len(self.points) ** 2)

    @staticmethod
    def more(a, b):
        """Surely, whatever the sizes."""
        return a != b and all(x >= y for x, y in zip(a, b))

    def equal(self, a, b):
        return not self.more(a, b) and not self.more(b, a)

    def at_goal(self, state):
        return all(each and self.equal(each[0], (0,) * len(self.digits)) and
                   each[1] == each[2] == self.classes[self.home[point]] for point, each in zip(self.points, state[0]))

    def scaled(self, powers, varied, by):
        return tuple(power + by * (digit in varied) for power, digit in zip(powers, self.digits))

    def run(self, collective, varied, group):
        root = group[0]
        if collective == "Broadcast":
            wrong = root is None or any(each and (self.more(each[0], root[0]) or not each[1] <= root[1] or
                                                  not each[2] <= root[2]) for each in group)
            return None if wrong else [root] * len(group)
        if None in group or any(not self.equal(each[0], root[0]) for each in group):
            return None
        both = [frozenset().union(*(each[i] for each in group)) for i in (1, 2)]
        if any(len(all_of) != sum(len(each[i]) for each in group) for i, all_of in enumerate(both, 1)):
            return None
        if collective == "AllGather":
            powers = self.scaled(root[0], varied, 1)
            alone = all(sum(bool(each[i]) for each in group) < 2 for i in (1, 2))
            return [(powers, *both)] * len(group) if alone and not self.more(powers, (0,) * len(powers)) else None
        if any(len({bool(each[i]) for each in group}) > 1 for i in (1, 2)):
            return None
        if any(len({self.home[point] for point in all_of}) > 1 for all_of in both):
            return None  # two classes in one sum are never parted
        others = len(group) - 1
        if collective != "ReduceScatter":
            return [(root[0], *both)] + [(root[0], *both) if collective == "AllReduce" else None] * others
        powers, none = self.scaled(root[0], varied, -1), frozenset()
        return [(powers, both[0], none)] + [(powers, none, none)] * (others - 1) + [(powers, none, both[1])]

    def take(self, state, choice):
        collective, varied, pinned = choice
        groups = {}
        for i, point in enumerate(self.points):
            if not any(v for v, digit in zip(point, self.digits) if digit in pinned):
                base = tuple(0 if digit in varied else v for digit, v in zip(self.digits, point))
                groups.setdefault(base, []).append(i)
        held, labels, new = list(state[0]), list(state[1]), {}  # by the members' labels
        for members in groups.values():
            Work.spend(len(members))
            before = tuple(state[1][i] for i in members)
            if collective == "Broadcast" and len(set(before)) == 1:
                return None
            after = self.run(collective, varied, [held[i] for i in members])
            if after is None:
                return None
            number_of = new.setdefault(before, len(new))
            for place, i in enumerate(members):
                held[i] = after[place]
                alike = 0 if collective in ("AllReduce", "AllGather") else place
                labels[i] = before[0] if collective == "Broadcast" else ("new", number_of, alike)
        labels = [None if each is None else label for each, label in zip(held, labels)]
        names = {}
        return tuple(held), tuple(names.setdefault(label, len(names)) for label in labels)

    def programs(self, state, choices, size):
        """All that lead to what may be the goal, from a state."""
        if (state, size) not in self.known:
            found = [()] if self.at_goal(state) else []
            for i, choice in enumerate(choices if size else []):
                Work.spend(1)
                after = self.take(state, choice)
                found += [(i, *rest) for rest in self.programs(after, choices, size - 1)] if after else []
            self.known[state, size] = found
        return self.known[state, size]


def check_large_list(root, sizes):
    size = number(root["size"], 65)
    choices, programs = sizes.listed(root, published=False)
    ends = Ends(sizes)
    candidates = ends.programs(ends.start, choices, size)
    values = 5
    while True:
        tables = Tables(sizes, values)
        begin, found = dict(tables.devices), []
        for program in candidates:
            tables.devices = dict(begin)
            if any(program[:i] in found[-1:] for i in range(len(program))):
                continue  # it has reached the goal before its end
            for i in program:
                if not tables.take(choices[i]):
                    require(tables.refused, "a program is not decided")
                    break
            else:
                require(tables.at_goal(), "a program is not decided")
                found.append(program)
        require(found == programs, "other programs")
        if tables.needed <= values or all(n < values for _, n in sizes.wide):
            return
        values = tables.needed


def check_large_sizes(claim, files):
    root = parse(files["problem.json"], "problem.json")
    system = ["hierarchy", "axes", "reduce", "placement", "synthesis_hierarchy"]
    if claim == "synthesis-complete-large-sizes":
        check_large_list(root, Sizes(keys(root, [*system, "size", "choices", "programs"])))
        return
    sizes = Sizes(keys(root, [*system, "steps"]))
    require(len(as_list(root["steps"])) <= 4096, "steps")
    choices = [sizes.choice(step, published=False) for step in root["steps"]]
    values = 5
    while True:
        tables = Tables(sizes, values)
        require(all(tables.take(choice) for choice in choices), "a step is refused")
        require(tables.at_goal(), "the goal is not reached")
        if tables.needed <= values or all(size < values for _, size in sizes.wide):
            return
        values = tables.needed


CHECKS = {"program-valid": check_program, "program-invalid": check_program, "not-expressible": check_program,
          "synthesis-complete": check_absence, "expressible": check_absence, "unused": check_absence,
          "unmixed": check_absence, "cheapest": check_cheapest, "strategy-optimal": check_strategy,
          "strategy-optimal-clauses": check_strategy, "reshard-schedule": check_schedule,
          "reshard-schedule-gap": check_schedule, "reshard-schedule-clauses": check_schedule,
          "pipeline-memory": check_pipeline, "reshard-plan": check_plan, "reshard-plan-wrong": check_plan,
          "program-valid-all-sizes": check_all_sizes, "synthesis-complete-all-sizes": check_all_sizes,
          "program-valid-large-sizes": check_large_sizes, "expressible-all-sizes": check_all_sizes,
          "synthesis-complete-large-sizes": check_large_sizes,
          "unused-all-sizes": check_all_sizes}


def check(files):
    """`accepted` and the digest of the claim; `refused` or `incomplete` and a reason."""
    Work.left = WORK
    try:
        claim = check_manifest(files)
        CHECKS[claim](claim, files)
        return "accepted", digest(claim, files)
    except Refused as reason:
        return "refused", str(reason)
    except Incomplete as reason:
        return "incomplete", str(reason)


def read_folder(path):
    return {entry.name: open(entry.path, "rb").read() for entry in os.scandir(path)}


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    for folder in sys.argv[1:]:
        print(*check(read_folder(folder)))
