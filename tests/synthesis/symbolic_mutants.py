#!/usr/bin/env python3
"""Breaks each guard of the engines that know no sizes, one at a time: a test must fail.

  symbolic_mutants.py CXX SOURCE BUILD [PART_OF_TEXT…]

Compiles the mutated file with tests/synthesis/symbolic_*test.cpp and the libraries of BUILD, in which
the unmutated tests pass."""

import pathlib
import subprocess
import sys
import tempfile

MACHINE = "machine.cpp"
LOWER = "chunk_tables.cpp"
CHUNKS = "chunk_values.cpp"
UPPER = "two_chunks.cpp"

# (file, text, its replacement): each text occurs once.
MUTANTS = [
    (MACHINE, "(varied & merged) != 0 || ", ""),
    (MACHINE, "!is_subset(next.reduced, pinned) ||", ""),
    (MACHINE, "!is_subset(pinned, merged & ~next.scattered)", "!is_subset(pinned, merged)"),
    (MACHINE, "!is_subset(pinned, merged & ~next.scattered)", "false"),
    (MACHINE, "if (next.reduced == pinned) {", "if (true) {"),
    (MACHINE, "if (next.reduced != 0 || !is_subset(varied, next.scattered)) return std::nullopt;",
     "if (!is_subset(varied, next.scattered)) return std::nullopt;"),
    (MACHINE, "if (next.reduced != 0 || !is_subset(varied, next.scattered)) return std::nullopt;",
     "if (next.reduced != 0) return std::nullopt;"),
    (MACHINE, "if (!informative || ", "if ("),
    (MACHINE, "!is_subset(state.reduced, varied) || ", ""),
    (MACHINE, "(varied & state.scattered) != 0 ||", ""),
    (MACHINE, "!is_subset(varied & ~state.reduced, summed)) {", "false) {"),
    (MACHINE, "for (Pending& each : state.pending) each.pinned &= ~varied;", ""),
    (UPPER, "!counts_.may_equal(each.chunks, total.chunks) ||", ""),
    (UPPER, "(each.last == PointSets::kEmpty) != (total.last == PointSets::kEmpty)", "false"),
    (UPPER, "if (!first || !last) return std::nullopt;", "if (!first) return std::nullopt;"),
    (UPPER, "(each.first != PointSets::kEmpty && all.first != PointSets::kEmpty) ||", ""),
    (UPPER, "(each.last != PointSets::kEmpty && all.last != PointSets::kEmpty)", "false"),
    (UPPER, "return counts_.may_reach(root.chunks, each.chunks) &&", "return"),
    (UPPER, "sets_.is_subset(each.first, root.first) &&", ""),
    (UPPER, "group.back().last = total->last;", "group.front().last = total->last;"),
    (UPPER, "group.front().first = total->first;", "group.back().first = total->first;"),
    (UPPER, "std::ranges::all_of(members, [&](std::uint32_t label) { return label == members[0]; })", "false"),
    (UPPER, "? members[0]", "? place->second"),
    (UPPER, "place->second + (alike ? 0 : static_cast<std::uint32_t>(i))", "place->second"),
    (UPPER, "if (count % size != 0) return std::nullopt;", ""),
    (LOWER, "if ((total.divided & varied) != 0) return false;", ""),
    (LOWER, "if (count != 1 && count != values) return false;", ""),
    (LOWER, "if (boxed != whole.entries.size()) return false;", ""),
    (LOWER, "if (count == 1) fixed.push_back(whole.coordinates[i]);", ""),
    (LOWER, "fixed.push_back(cuts.back().first);", ""),
    (LOWER, "if (all && sets.size() == group.size()) {", "if (all) {"),
    (LOWER, "return each.divided == group[0].divided && (varied & ~each.divided) == 0;",
     "return each.divided == group[0].divided;"),
    (LOWER, "return each.divided == group[0].divided && (varied & ~each.divided) == 0;",
     "return (varied & ~each.divided) == 0;"),
    (LOWER, "if (!once || !cut) return std::nullopt;", "if (!cut) return std::nullopt;"),
    (LOWER, "return contained && informative;", "return informative;"),
    (LOWER, "return contained && informative;", "return contained;"),
    (LOWER, "illegal = illegal || !different;", "illegal = true;"),
    (LOWER, "illegal = illegal || (!inside && occurs_here(coordinates, combination));",
     "illegal = illegal || !inside;"),
    (LOWER, "illegal = illegal || occurs_here(total.coordinates, combination);", "illegal = true;"),
    (CHUNKS, "return chain || last;", "return true;"),
    (CHUNKS, "if (coordinates_[all[i]].size() != i + 1) return std::nullopt;", ""),
    (CHUNKS, "if (std::ranges::count(given, each) == 0) {", "if (true) {"),
    (CHUNKS, "if (std::ranges::count(given, each) == 0) {", "if (false) {"),
    (CHUNKS, "rest %= length;", ""),
    (CHUNKS, "return held ? entry->contributors : PointSets::kEmpty;", "return entry->contributors;"),
    (CHUNKS, "if (has && should && *has != *should) return true;", ""),
    # Not among them, since no test reaches what only it keeps from a refusal: that `has` and `should` are both known.
    (CHUNKS, "if (words[i] != goal_[i]) return true;", "return true;"),
    (UPPER, "if (prepared) preparation = on_classes(*prepared);", "preparation = std::nullopt;"),
    (CHUNKS, "const std::uint64_t runs = problem_.factors[words[0]].size;", "const std::uint64_t runs = 1;"),
    (LOWER, "{group[0].divided & ~varied, intern(std::move(all))}", "{group[0].divided, intern(std::move(all))}"),
    (LOWER, "{total.divided | varied, intern(std::move(part))}", "{total.divided, intern(std::move(part))}"),
]


def main():
    cxx, source, build = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    folder = source / "engine/program/symbolic"
    libraries = [build / "engine/libp2_program.a", build / "engine/libp2_placement.a",
                 build / "engine/collective/libp2_collective.a", build / "engine/libp2_topology.a",
                 build / "engine/libp2_base.a"]
    flags = ["-std=c++20", "-O1", "-DFMT_SHARED", f"-I{source}", f"-I{source}/engine/include",
             "-DP2_SYMBOLIC_DEVICES=8", "-Wno-all"]
    survivors = []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        tests = []
        for path in [source / "tests/doctest_main.cpp", *sorted((source / "tests/synthesis").glob("symbolic_*test.cpp"))]:
            tests.append(scratch / (path.name + ".o"))
            subprocess.run([cxx, *flags, "-c", path, "-o", tests[-1]], check=True)
        # All approximations are compiled anew, so that the library's copies are not linked.
        objects = {}
        for name in sorted(path.name for path in folder.glob("*.cpp")):
            objects[name] = scratch / (name + ".o")
            subprocess.run([cxx, *flags, "-c", folder / name, "-o", objects[name]], check=True)
        extra = []
        for name in ("synthesis.cpp",):
            extra.append(scratch / name.replace(".cpp", "_top.o"))
            subprocess.run([cxx, *flags, "-c", source / "engine/program" / name, "-o", extra[-1]], check=True)

        def fails(changed=None):
            used = [objects[name] if name != changed else scratch / "mutant.o" for name in objects]
            binary = scratch / "mutant"
            subprocess.run([cxx, *tests, *used, *extra, *libraries, "-lfmt", "-ltbb", "-lexpat", "-lpthread",
                            "-Wl,--allow-multiple-definition", "-o", binary], check=True)
            try:
                done = subprocess.run([binary, "-aa=1"], capture_output=True, timeout=120)
                return done.returncode != 0
            except subprocess.TimeoutExpired:
                return True

        if fails():
            sys.exit("the unmutated test fails")
        for file, text, replacement in MUTANTS:
            if len(sys.argv) > 4 and not any(part in text for part in sys.argv[4:]):
                continue
            original = (folder / file).read_text()
            if original.count(text) != 1:
                sys.exit(f"{file}: {text!r} occurs {original.count(text)} times, expected once")
            (scratch / file).write_text(original.replace(text, replacement))
            subprocess.run([cxx, *flags, "-c", scratch / file, "-o", scratch / "mutant.o"], check=True)
            caught = fails(file)
            print(f"{'caught' if caught else 'SURVIVES'}  {file}: {text.splitlines()[0]} -> {replacement}", flush=True)
            if not caught:
                survivors.append((text, replacement))
    print(f"{len(MUTANTS)} mutants, {len(survivors)} survive")
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main()
