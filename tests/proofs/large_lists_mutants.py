#!/usr/bin/env python3
"""Breaks what p2-check's complete lists in dialect printed rest on, one thing at a time: a right list must be rejected,
or one that lacks a program, or has another instead or more, accepted.

  large_lists_mutants.py CXX SOURCE BUILD [PART_OF_TEXT…]

Guards without which the search only finds more are not among them, since the tables refuse what it finds; nor that labels
differ at first, since sums of nobody contain each other; nor what only the first chunk says in AllGather, which the first
device has; nor that numbers may be equal where sizes are, of which no valid program makes use that is known."""

import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

import second_checker

SEARCH = "machine_ends.h"
REPLAY = "machine_tables.cpp"

# (file, text, its replacement): each text occurs once.
MUTANTS = [
    (SEARCH, "after.front() = number({true, all->powers, all->first, nobody});",
     "after.front() = number({true, all->powers, nobody, all->last});"),
    (SEARCH, "after.back() = number({true, all->powers, nobody, all->last});", ""),
    (SEARCH, "scale(*all, choice.varied, -1);", "scale(*all, choice.varied, 1);"),
    (SEARCH, "scale(all, choice.varied, 1);", "scale(all, choice.varied, 2);"),
    (SEARCH, "== static_cast<std::ptrdiff_t>(members))", ">= 2)"),
    (SEARCH, "label->second + (alike ? 0 : static_cast<std::uint32_t>(i))", "1"),
    (SEARCH, "has.last != wanted.last", "has.last == wanted.last"),
    (SEARCH, "return !within(points, holdings_[goal_[point]]->first);", "return true;"),
    (SEARCH, "left_[arrow.to] + 1", "left_[arrow.to] + 2"),
    (SEARCH, "if (steps == size && !may_end) continue;", "if (steps + 1 >= size && !may_end) continue;"),
    (SEARCH, "empty(each.first) != empty(all.first)", "empty(each.first)"),
    (SEARCH, "if (!empty(each.last) && !empty(all.last)) return std::nullopt;",
     "if (!empty(each.last)) return std::nullopt;"),
    (SEARCH, "if (!within(each->first, root.first)", "if (!within(root.first, each->first)"),
    (SEARCH, "if (!each->any) continue;", "if (!each->any) return {};"),
    (SEARCH, "arrows_[from->second].push_back({choice, place->second});", "if (is_new) "
     "arrows_[from->second].push_back({choice, place->second});"),
    (SEARCH, "sums(~(choice.varied | choice.pinned))", "sums(~choice.varied)"),
    (SEARCH, "if (!std::ranges::all_of(group, &Holding::any)) return {};",
     "if (choice.pinned != 0 || !std::ranges::all_of(group, &Holding::any)) return {};"),
    (SEARCH, "if (renumbered[label] == 0) renumbered[label] = ++used;", "renumbered[label] = 1;"),
    (REPLAY, "met_ == listed_.size() || as_numbers(listed_[met_], choices_.size()) != program_", "false"),
    (REPLAY, "if (met_ != listed_.size())", "if (false)"),
    (REPLAY, "program_.size() + 1 + search_.left(arrow.to) > size_", "program_.size() + 2 + search_.left(arrow.to) > size_"),
    (REPLAY, "if (!each.holds && (!broadcast || !group[0].holds)) refused_ = true;", "if (!each.holds) refused_ = true;"),
]

# hierarchy, axes, reduced, synthesis hierarchy, steps
SYSTEMS = [("2,3", "6", "0", "lattice", 4), ("4,4", "16", "0", "lattice", 4), ("2,2,2", "8", "0", "lattice", 4),
           ("2,5,3", "30", "0", "collapsed", 4), ("2,2", "2,2", "0", "a", 4), ("2,2", "2,2", "1", "b", 4),
           ("2,2", "2,2", "0", "c", 3), ("7", "7", "0", "lattice", 2)]


def write(folder, problem):
    folder.mkdir()
    text = json.dumps(problem).encode()
    manifest = json.dumps({"schema": "p2-certificate/1", "claim": "synthesis-complete-large-sizes", "tools": {},
                           "options": {}, "seed": 0, "seal": "0" * 64,
                           "files": {"problem.json": hashlib.sha256(text).hexdigest()}})
    (folder / "problem.json").write_bytes(text)
    seal = hashlib.sha256(manifest.encode()).hexdigest()
    (folder / "manifest.json").write_text(manifest.replace("0" * 64, seal, 1))


def problems(verify, hierarchy, axes, reduced, kind, size):
    """The lists of the explicit engine, of every placement."""
    command = [verify, "synth", "--hierarchy", hierarchy, "--axes", axes, "--reduce", reduced, "--size", str(size), "--dialect",
               "printed", "--synthesis-hierarchy", kind, "--engine", "explicit", "--format", "json"]
    answer = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    for placement in answer["placements"]:
        root = {"hierarchy": answer["hierarchy"], "axes": answer["axes"], "reduce": answer["reduce"],
                "placement": placement["placement"], "synthesis_hierarchy": kind, "size": size, "choices": []}
        sizes, numbers = second_checker.Sizes(root), {}
        for (name, form), (varied, pinned) in sizes.forms.items():
            for collective in second_checker.COLLECTIVES if varied else []:
                if (collective, varied, pinned) not in numbers:
                    numbers[collective, varied, pinned] = len(numbers)
                    root["choices"].append({"collective": collective, "slice": name, "form": form})
        root["programs"] = sorted([numbers[step["collective"], *sizes.forms[step["slice"], step["form"]]]
                                   for step in program["steps"]] for program in placement["list"])
        yield root


def main():
    cxx, source, build = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    kernel = source / "proofs/kernel"
    flags = ["-std=c++20", "-O1", "-Wno-all", '-DP2_VERSION=""']
    survivors, asked = [], [each for each in MUTANTS if len(sys.argv) < 5 or any(part in each[1] for part in sys.argv[4:])]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        right, wrong = [], []
        for system in SYSTEMS:
            for problem in problems(build / "bin/p2-verify", *system):
                right.append(scratch / f"right{len(right)}")
                write(right[-1], problem)
                programs = problem["programs"]
                lists = [[*programs, [len(problem["choices"]) - 1]]]
                for i in range(0, len(programs), 1 + len(programs) // 3):
                    lists += [programs[:i] + instead + programs[i + 1:] for instead in ([], [programs[i] + [0]])]
                for each in lists:
                    wrong.append(scratch / f"wrong{len(wrong)}")
                    write(wrong[-1], {**problem, "programs": each})
        include = [f"-I{scratch}", f"-I{source}", f"-I{build}/include/p2_kernel", f"-I{source}/engine/include"]
        subprocess.run([cxx, *flags, *include, "-c", source / "proofs/check/main.cpp", "-o", scratch / "main.o"], check=True)

        def is_right():
            subprocess.run([cxx, *flags, *include, "-c", scratch / "proofs/kernel" / REPLAY, "-o", scratch / "mutant.o"], check=True)
            subprocess.run([cxx, scratch / "main.o", scratch / "mutant.o", build / "proofs/libp2_kernel.a",
                            "-Wl,--allow-multiple-definition", "-o", scratch / "p2-check"], check=True)
            done = subprocess.run([scratch / "p2-check", "--format", "json", *right, *wrong], capture_output=True, timeout=120)
            verdicts = [each["verdict"] for each in json.loads(done.stdout)["results"]]
            return verdicts == ["accepted"] * len(right) + ["rejected"] * len(wrong)

        def place(changed=None, text=""):
            (scratch / "proofs/kernel").mkdir(parents=True, exist_ok=True)
            for name in (SEARCH, REPLAY):
                (scratch / "proofs/kernel" / name).write_text(text if name == changed else (kernel / name).read_text())

        place()
        if not is_right():
            sys.exit("the unmutated checker is wrong")
        for file, text, replacement in asked:
            original = (kernel / file).read_text()
            if original.count(text) != 1:
                sys.exit(f"{file}: {text!r} occurs {original.count(text)} times, expected once")
            place(file, original.replace(text, replacement))
            caught = not is_right()
            print(f"{'caught' if caught else 'SURVIVES'}  {file}: {text} -> {replacement}", flush=True)
            if not caught:
                survivors.append((text, replacement))
    print(f"{len(asked)} mutants, {len(survivors)} survive")
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main()
