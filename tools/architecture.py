#!/usr/bin/env python3
"""Measures the architecture of the product: sizes of files, clients of headers, layers, vocabulary.

  tools/architecture.py                     the table, for the checkout that contains this script
  tools/architecture.py --list              also every header with a single client
  tools/architecture.py --json              the same as one JSON object
  tools/architecture.py --check LIMITS.json exit 1, with a line per violation, if a limit is exceeded
  tools/architecture.py --build DIR         also the CPU time of the last clean build in DIR, by layer

Product files are *.h and *.cpp under engine, encodings, proofs and cli. A client of a header is another
product file that includes it, its own .cpp apart (the file of the same path). Headers under engine/include
are the public API and may have any number of clients.

LIMITS.json is an object; each key is optional (the defaults are in LIMITS below):
  product_files, single_client_headers, cli_lines, solver_headers, solver_includes_outside, length_error,
  outcome_types, cli_foreign_includes: the largest number allowed.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from collections import defaultdict

LAYERS = ("engine", "encodings", "proofs", "cli")
PUBLIC = "engine/include/"
SOLVER_HEADERS = ("z3++.h", "z3.h", "cadical.hpp")
# Only sources here, and at most `solver_headers` private headers, may include a solver header.
SOLVER_FOLDERS = ("encodings/", "proofs/definition/")
OUTCOME_NAMES = ("Verdict", "Judgement", "Finding", "Outcome", "Answer", "Result", "Fault")
# The checker is a program of its own, and the vocabulary is defined once.
OUTCOME_EXEMPT = ("proofs/kernel/", "proofs/check/", "engine/include/p2/result.h",
                  "engine/include/p2/answer.h")
LIMITS = {
    # 550, and: what is known of single chunks (chunk_values.cpp) left chunk_tables.cpp, which has the rules;
    # p2-check's tables of chunks, and the system that they share with its machine of theorem T7.
    # 10 for modules on blocks of indices (engine/hlo/interpreter: dimension_classes, block_dimensions,
    # block_modules, device_classes, ranges), and 4 for what they repeat and how they are compared (block_execution,
    # compared_elements, known_starts, repeated_dimensions).
    # 7 for loops, exchanges and manual parts of relations, for flattened modules and for forms of operations.
    # 8 are for certificates of several programs: messages, who waits for whom, facts between programs, the
    # claim and its writer, and sums of which devices have some summands.
    # 4 for the hash tables and the SHA-256 of p2-check, which is faster and longer than it was, and for what
    # certificates say of relations; 2 for the search for a relation, which was one long file.
    # 8 are for relations of modules as a backend leaves them: bitcasts and their layouts, expanded gathers, places
    # of dimensions that are put together, one form of what is moved, of contractions of it, of functions of elements,
    # and a header for these tensors.
    # 2 for what XLA's backends write: calls of libraries as operations, and numbers in bf16 and f32 that are one.
    # 4 for shape inference: of arrays, of calls, of windows, and its header.
    # 5 for explanations of modules that are too large to be executed: what is known of arrays, the end of a proof,
    # changes of modules and their header, and the answer of `check` about both kinds.
    # 2 for constants that compilers fold: how they are found, and what p2-check reads them as; 1 for what compilers
    # do in several steps, which stood beside expanded gathers.
    "product_files": 627,
    "single_client_headers": 12,
    "cli_lines": 4999,
    "solver_headers": 2,
    "solver_includes_outside": 0,
    "length_error": 0,
    "cli_foreign_includes": 0,
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
OUTCOME = re.compile(r"^\s*(?:template\s*<[^>]*>\s*)?(?:struct|class|enum(?:\s+class|\s+struct)?)\s+"
                     r"(" + "|".join(OUTCOME_NAMES) + r")\b(?![^;{]*;)", re.M)


def product_files(root):
    """The product files of a checkout: path -> text. Untracked files count, ignored ones do not."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", *LAYERS],
        cwd=root, capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        paths = listed.stdout.split("\n")
    else:  # a source archive
        paths = [os.path.relpath(os.path.join(folder, name), root)
                 for layer in LAYERS
                 for folder, _, names in os.walk(os.path.join(root, layer))
                 for name in names]
    texts = {}
    for path in sorted(set(paths)):
        if not path.endswith((".h", ".cpp")):
            continue
        try:
            with open(os.path.join(root, path), encoding="utf-8") as file:
                texts[path] = file.read()
        except FileNotFoundError:  # deleted, and not yet committed
            continue
    return texts


def line_count(text):
    return text.count("\n") + (0 if text.endswith("\n") or not text else 1)


class Tree:
    """The product files and their includes, resolved against the root and the public headers."""

    def __init__(self, root):
        self.texts = product_files(root)
        self.lines = {path: line_count(text) for path, text in self.texts.items()}
        self.includes = {}  # path -> [(included text, product file or None, whether in <>)]
        for path, text in self.texts.items():
            self.includes[path] = [(name, self.resolve(name), bracket == "<")
                                   for bracket, name in INCLUDE.findall(text)]

    def resolve(self, name):
        for candidate in (name, PUBLIC + name):
            if candidate in self.texts:
                return candidate
        return None

    def headers(self):
        return [path for path in self.texts if path.endswith(".h")]

    def sources(self):
        return [path for path in self.texts if path.endswith(".cpp")]

    def clients(self):
        """header -> the files that include it, its own .cpp apart."""
        clients = {path: set() for path in self.headers()}
        for path, includes in self.includes.items():
            for _, target, _ in includes:
                if target in clients and path != target[:-2] + ".cpp":
                    clients[target].add(path)
        return clients

    def single_client_headers(self):
        return {header: sorted(files)[0] for header, files in self.clients().items()
                if len(files) == 1 and not header.startswith(PUBLIC)}

    def direct_solver_users(self):
        return {path for path, includes in self.includes.items()
                if any(os.path.basename(name) in SOLVER_HEADERS for name, _, _ in includes)}

    def transitive_solver_users(self):
        """The files whose preprocessed text has a solver header."""
        includers = defaultdict(set)
        for path, includes in self.includes.items():
            for _, target, _ in includes:
                if target:
                    includers[target].add(path)
        reached, pending = set(), list(self.direct_solver_users())
        while pending:
            path = pending.pop()
            if path not in reached:
                reached.add(path)
                pending.extend(includers[path])
        return reached

    def occurrences(self, word):
        pattern = re.compile(r"\b" + word + r"\b")
        return [f"{path}:{number}" for path, text in self.texts.items()
                for number, line in enumerate(text.split("\n"), 1) if pattern.search(line)]

    def outcome_types(self):
        """name -> the places that define a type of this name."""
        found = defaultdict(list)
        for path, text in self.texts.items():
            if path.startswith(OUTCOME_EXEMPT):
                continue
            for match in OUTCOME.finditer(text):
                line = text.count("\n", 0, match.start(1)) + 1
                found[match.group(1)].append(f"{path}:{line}")
        return dict(found)

    def foreign_includes_of_cli(self):
        """Includes of cli other than <p2/…>, cli/…, small libraries and the standard library."""
        foreign = []
        for path, includes in self.includes.items():
            if not path.startswith("cli/"):
                continue
            for name, target, angled in includes:
                own = name.startswith(("p2/", "cli/", "boost/", "fmt/", "nlohmann/"))
                standard = angled and target is None and ("/" not in name or name.startswith("sys/"))
                third_party = angled and name.endswith((".hpp", ".h")) and not is_standard_c(name)
                if not own and (not standard or third_party):
                    foreign.append(f"{path}: {name}")
        return foreign

    def lines_by_folder(self):
        folders = defaultdict(lambda: [0, 0])
        for path, lines in self.lines.items():
            folder = "/".join(path.split("/")[:2]) if path.count("/") > 1 else path.split("/")[0]
            folders[folder][0] += 1
            folders[folder][1] += lines
        return {folder: {"files": count, "lines": lines}
                for folder, (count, lines) in sorted(folders.items())}


def is_standard_c(name):
    return name in ("unistd.h", "fcntl.h", "signal.h", "spawn.h", "stdio.h", "stdlib.h", "string.h",
                    "errno.h", "time.h") or name.startswith("sys/")


def build_seconds(folder):
    """Seconds of CPU, by the first folder below CMake's, of the latest command for each output."""
    latest = {}
    with open(os.path.join(folder, ".ninja_log"), encoding="utf-8") as log:
        for line in log:
            fields = line.rstrip("\n").split("\t")
            if line.startswith("#") or len(fields) < 5:
                continue
            start, end, _, output, command = fields[:5]
            latest[output] = (int(end) - int(start), command, int(start))
    # One command may have several outputs.
    commands = {(command, start): (duration, output)
                for output, (duration, command, start) in latest.items()}
    seconds = defaultdict(float)
    for duration, output in commands.values():
        if not output.startswith(("/", "_deps")):
            seconds[output.split("/")[0]] += duration / 1000
    return dict(sorted(seconds.items(), key=lambda each: -each[1]))


def measure(root):
    tree = Tree(root)
    sizes = {suffix: [lines for path, lines in tree.lines.items() if path.endswith(suffix)]
             for suffix in (".h", ".cpp")}
    cli_lines = sum(lines for path, lines in tree.lines.items() if path.startswith("cli/"))
    all_lines = sum(tree.lines.values())
    direct, transitive = tree.direct_solver_users(), tree.transitive_solver_users()
    outcome_types = tree.outcome_types()
    return {
        "product_files": len(tree.texts),
        "headers": len(sizes[".h"]),
        "sources": len(sizes[".cpp"]),
        "median_header_lines": statistics.median(sizes[".h"] or [0]),
        "median_source_lines": statistics.median(sizes[".cpp"] or [0]),
        "lines": all_lines,
        "single_client_headers": len(tree.single_client_headers()),
        "single_clients": tree.single_client_headers(),
        "unused_headers": sorted(header for header, files in tree.clients().items()
                                 if not files and not header.startswith(PUBLIC)),
        "cli_files": sum(path.startswith("cli/") for path in tree.texts),
        "cli_lines": cli_lines,
        "cli_percent": round(100 * cli_lines / max(1, all_lines), 1),
        "cli_foreign_includes": len(tree.foreign_includes_of_cli()),
        "cli_foreign": tree.foreign_includes_of_cli(),
        "solver_headers": sum(path.endswith(".h") for path in direct),
        "solver_sources": sum(path.endswith(".cpp") for path in direct),
        "solver_sources_transitively": sum(path.endswith(".cpp") for path in transitive),
        "solver_includes_outside": sum(not path.startswith(SOLVER_FOLDERS) for path in transitive),
        "solver_outside": sorted(path for path in transitive
                                 if not path.startswith(SOLVER_FOLDERS)),
        "length_error": len(tree.occurrences("length_error")),
        "length_error_places": tree.occurrences("length_error"),
        "outcome_types": sum(len(places) for places in outcome_types.values()),
        "outcome_type_places": outcome_types,
        "folders": tree.lines_by_folder(),
    }


def print_table(found):
    rows = [
        ("product files", f"{found['product_files']} ({found['headers']} headers, "
                          f"{found['sources']} sources)"),
        ("lines", f"{found['lines']}"),
        ("median lines of a header, a source", f"{found['median_header_lines']:g}, "
                                               f"{found['median_source_lines']:g}"),
        ("headers with a single client", f"{found['single_client_headers']}"),
        ("headers without a client", f"{len(found['unused_headers'])}"),
        ("cli", f"{found['cli_files']} files, {found['cli_lines']} lines, "
                f"{found['cli_percent']} % of the product"),
        ("includes of cli beside the public API", f"{found['cli_foreign_includes']}"),
        ("files with a solver header", f"{found['solver_headers']} headers, "
                                       f"{found['solver_sources']} sources directly, "
                                       f"{found['solver_sources_transitively']} sources in all"),
        ("of these outside encodings and proofs/definition",
         f"{found['solver_includes_outside']}"),
        ("occurrences of length_error", f"{found['length_error']}"),
        ("outcome types beside p2::Outcome, Result, Answer", ", ".join(
            f"{name} {len(places)}" for name, places in found["outcome_type_places"].items())
         or "none"),
    ]
    width = max(len(label) for label, _ in rows)
    for label, value in rows:
        print(f"{label:<{width}}  {value}")
    print()
    for folder, each in found["folders"].items():
        print(f"{folder:<{width}}  {each['files']:4} files {each['lines']:6} lines")


def print_places(found):
    def section(title, lines):
        if lines:
            print(f"\n{title}")
            for line in lines:
                print(f"  {line}")
    section("Headers with a single client:",
            [f"{header}  <- {client}" for header, client in found["single_clients"].items()])
    section("Headers without a client:", found["unused_headers"])
    section("Includes of cli beside the public API:", found["cli_foreign"])
    section("Solver headers outside encodings and proofs/definition:", found["solver_outside"])
    section("length_error:", found["length_error_places"])
    section("Outcome types:", [f"{name}  {place}"
                               for name, places in found["outcome_type_places"].items()
                               for place in places])


def violations(found, limits):
    places = {"single_client_headers": [f"{header} <- {client}"
                                        for header, client in found["single_clients"].items()],
              "cli_foreign_includes": found["cli_foreign"],
              "solver_includes_outside": found["solver_outside"],
              "length_error": found["length_error_places"]}
    for key, limit in limits.items():
        if key not in found or not isinstance(found[key], (int, float)):
            yield f"{key}: no such measure"
        elif found[key] > limit:
            yield f"{key}: {found[key]}, expected at most {limit}"
            yield from (f"  {place}" for place in places.get(key, []))


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description="Measures the architecture of the product.")
    parser.add_argument("--root", default=root, help="another checkout")
    parser.add_argument("--list", action="store_true", help="also the places")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", nargs="?", const="", metavar="LIMITS.json",
                        help="compare with the limits of a file, or with the built-in ones")
    parser.add_argument("--build", metavar="DIR", help="a build folder of Ninja")
    arguments = parser.parse_args()

    found = measure(arguments.root)
    if arguments.build:
        found["build_seconds"] = build_seconds(arguments.build)
    if arguments.check is not None:
        limits = dict(LIMITS)
        if arguments.check:
            with open(arguments.check, encoding="utf-8") as file:
                limits = json.load(file)
        lines = list(violations(found, limits))
        print("\n".join(lines) if lines else "within all limits")
        return 1 if lines else 0
    if arguments.json:
        json.dump(found, sys.stdout, indent=2)
        print()
        return 0
    print_table(found)
    if arguments.build:
        seconds = found["build_seconds"]
        print(f"\nCPU time of the build: {sum(seconds.values()) / 60:.1f} min")
        for folder, each in seconds.items():
            print(f"  {folder:<20} {each / 60:6.1f} min")
    if arguments.list:
        print_places(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
