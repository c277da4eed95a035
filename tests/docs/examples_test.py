"""The examples in the documents are true: every file in them is read, every command is run, its output compared.

usage: examples_test.py P2_VERIFY P2_CHECK SOURCE_FOLDER DOCUMENT…

Fenced blocks of a document, by the first word after the fence:
  console      `$ command`, continued by `\\` at the end of a line, and its output. `…` alone is any lines or none,
               `…` in a line any text.
  p2, p2c, json  a file, under the name that is the second word, or under one of its own; it must be read without exit
               code 2, unless its name starts with `wrong` or `bad`.
  text         a file, if it has a name.
  others       not run.
A table whose header has the cells `KIND: instruction` and `groups` is compared with what the program lowers
(`INSTANCE` below). Commands of a document run in one temporary folder, in their order; /tmp is a folder there. A command without
output is only to end in exit code 0 or 1. One that needs a part that the build was without is skipped.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

P2_VERIFY, P2_CHECK = (pathlib.Path(program).resolve() for program in sys.argv[1:3])
SOURCE = pathlib.Path(sys.argv[3]).resolve()

# The instance of the tables of docs/languages.md.
INSTANCE = {"devices": 8, "hierarchy": [{"name": name, "size": 2} for name in ("rack", "node", "gpu")],
            "axes": [{"name": "data", "size": 4}, {"name": "shard", "size": 2}], "reduce": ["data"],
            "placement": [[2, 1, 2], [1, 2, 1]]}


def blocks(text):
    """(line, info words, text) of every fenced block."""
    pattern = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.M | re.S)
    return [(text.count("\n", 0, found.start()) + 1, found.group(1).split(), found.group(2))
            for found in pattern.finditer(text)]


def sessions(text):
    """(command, expected output) of a console block."""
    result = []
    lines = iter(text.splitlines())
    for line in lines:
        if not line.startswith("$ "):
            assert result, f"output before the first command: {line}"
            result[-1][1].append(line)
            continue
        command = line[2:]
        while command.endswith("\\"):
            command = command[:-1] + next(lines).strip()
        result.append((command, []))
    return result


def matches(expected, output):
    """Whether the output is the one expected, in which `…` stands for anything."""
    if expected == ["…"]:
        return True
    pattern = ""
    for line in expected:
        if line.strip() == "…":
            pattern += r"(?:[^\n]*\n)*"
        else:
            pattern += re.escape(line).replace("…", r"[^\n]*") + r"\n"
    return re.fullmatch(pattern, output) is not None


def run(command, folder, here):
    environment = dict(os.environ, PATH=f"{folder}/build/release/bin{os.pathsep}{os.environ['PATH']}")
    command = command.replace("/tmp/", f"{folder}/tmp/")
    done = subprocess.run(["bash", "-c", command], cwd=here, env=environment, text=True, timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.replace(f"{folder}/tmp/", "/tmp/")


def verify(words, folder):
    return subprocess.run([P2_VERIFY, *words], cwd=folder, text=True, capture_output=True)


def check_file(kind, name, folder):
    """Complaints about a file that a document shows."""
    if name.startswith(("wrong", "bad")):
        return []
    words = {"p2": ["check", name], "p2c": ["define", name, "--max-group", "2"],
             "json": ["place", "--system", name, "--axes", "8"]}[kind]
    # A program may use a collective that the document defines.
    if kind == "p2" and list(pathlib.Path(folder).glob("*.p2c")):
        words += ["--collectives", *(str(path) for path in pathlib.Path(folder).glob("*.p2c")
                                     if not path.name.startswith("wrong"))]
    done = verify(words, folder)
    return [f"exit 2: {done.stderr.strip()}"] if done.returncode == 2 else []


def check_tables(text, folder):
    """(line, complaint) of every row of the tables of instructions that the program lowers to other groups."""
    kind = None
    rows = 0
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\| \(?(\w+)\)?: instruction \| groups \|", line)
        if header:
            kind = header.group(1)
        elif not line.startswith("|"):
            kind = None
        row = re.match(r"\| `(\w+)\((.*)\)` \| `(.*)` \|$", line)
        if kind is None or row is None:
            continue
        rows += 1
        collective, shape, groups = row.groups()
        slice_, form = re.match(r"(\{.*?\}|\S+), (.*)", shape).groups()
        step = {"collective": collective, "slice": slice_, "form": form,
                "groups": json.loads("[" + groups.replace("{", "[").replace("}", "]") + "]")}
        path = pathlib.Path(folder, "row.json")
        path.write_text(json.dumps(INSTANCE | {"synthesis_hierarchy": kind, "steps": [step]}))
        done = verify(["check", str(path)], folder)
        if done.returncode not in (0, 1):
            yield number, done.stderr.strip()
    if "instruction | groups" in text and rows < 10:
        yield 1, f"{rows} rows of instructions found, expected at least 10"


def check_document(path):
    text = path.read_text()
    complaints = []
    commands = 0
    last = 0
    with tempfile.TemporaryDirectory() as folder:
        programs = pathlib.Path(folder, "build/release/bin")
        programs.mkdir(parents=True)
        for name in ("tmp", "docs/plots"):
            pathlib.Path(folder, name).mkdir(parents=True)
        (programs / "p2-verify").symlink_to(P2_VERIFY)
        (programs / "p2-check").symlink_to(P2_CHECK)
        shutil.copytree(SOURCE / "examples", pathlib.Path(folder, "examples"))
        for line, info, body in blocks(text):
            kind = info[0] if info else ""
            if kind == "console":
                here = folder
                for command, expected in sessions(body):
                    commands += 1
                    if command.startswith("cd "):
                        here = f"{folder}/{command[3:]}"
                        continue
                    if not expected:
                        code, output = run(command, folder, here)
                        if code > 1:
                            complaints.append((line, f"$ {command}\nexit {code}\n{output}"))
                        continue
                    # `echo $?` shows the exit code of the command before it.
                    if command == "echo $?":
                        output = f"{last}\n"
                    else:
                        last, output = run(command, folder, here)
                    if re.search(r"^p2-verify: --backend: this build has no \w+, expected ", output, re.M):
                        print(f"skipped: $ {command}\n{output}")  # an optional part
                    elif not matches(expected, output):
                        complaints.append((line, f"$ {command}\n{output}"))
            elif kind == "text" and len(info) > 1:
                pathlib.Path(folder, info[1]).write_text(body)
            elif kind in ("p2", "p2c", "json"):
                name = info[1] if len(info) > 1 else f"block{line}.{kind}"
                pathlib.Path(folder, name).write_text(body)
                complaints += [(line, each) for each in check_file(kind, name, folder)]
        complaints += check_tables(text, folder)
    for line, complaint in complaints:
        print(f"{path.relative_to(SOURCE)}:{line}: {complaint}")
    print(f"{path.relative_to(SOURCE)}: {commands} commands, {len(complaints)} wrong")
    return not complaints


def main():
    documents = [SOURCE / name for name in sys.argv[4:]]
    right = [check_document(path) for path in documents]
    return 0 if all(right) else 1


sys.exit(main())
