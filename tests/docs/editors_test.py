"""The grammars for editors and the EBNF of docs/languages.md have the words of the parsers.

usage: editors_test.py SOURCE_FOLDER

The words are taken from the arrays in the sources of the parsers. Each must get a scope of its own from the
TextMate grammar and be in a keyword group of the Vim syntax file; conversely these files and the EBNF may
have no other words.
"""

import json
import pathlib
import re
import sys

SOURCE = pathlib.Path(sys.argv[1]).resolve()
EDITORS = SOURCE / "docs" / "editors"


def array(path, name):
    """The strings of a constant in a source file."""
    text = (SOURCE / path).read_text()
    found = re.search(name + r"\b[^=;]*=\s*(?:\{+)?(.*?);", text, re.S)
    assert found, f"{path} has no {name}"
    return re.findall(r'"((?:[^"\\]|\\.)*)"', found.group(1))


def listed(text):
    """The words of `a, b or c`."""
    return [word for word in re.split(r"[, ]+", text) if word != "or"]


def parser_words():
    """language → {header or None: words}: a word with a header has a meaning behind that header only."""
    headers = array("engine/program/program_file.cpp", "kHeaderKeys")
    collectives = [path.read_text() for path in (SOURCE / "engine/collective").glob("*.p2c")]
    names = [re.search(r"^collective (\w+)", text, re.M).group(1) for text in collectives]
    forms = re.findall(r'word == "(\w+)"\) return Form::', (SOURCE / "engine/program/program.cpp").read_text())
    dialects = re.findall(r'\? "(\w+)" : "(\w+)"', re.search(
        r"to_string\(Dialect dialect\).*?}", (SOURCE / "engine/program/instruction.cpp").read_text(), re.S).group(0))
    words = {
        None: headers + names + forms + ["root", "skip"],
        "synthesis-hierarchy": array("engine/program/instruction.cpp", "kKindNames"),
        "dialect": list(dialects[0]),
        "goal": listed(" ".join(array("engine/program/goal.h", "kGoals"))),
    }
    assert len(headers) >= 9 and len(names) == 5 and len(forms) == 3 and len(words["goal"]) == 6, words
    return {"p2": words, "p2c": {None: array("engine/collective/language/parser.cpp", "kReserved")}}


def scope(grammar, line, word):
    """The scope that a TextMate grammar gives the last occurrence of a word in a line."""
    start = 0
    while start < len(line):
        best = None
        for pattern in grammar["patterns"]:
            found = re.compile(pattern["match"]).search(line, start)
            if found and found.group(0) and (best is None or found.start() < best[0].start()):
                best = (found, pattern)
        if best is None:
            return None
        found, pattern = best
        spans = [(found.span(), pattern.get("name"))]
        spans += [(found.span(int(group)), capture["name"]) for group, capture in pattern.get("captures", {}).items()]
        for (first, last), name in spans:
            if name and line[first:last] == word and first == line.rfind(word):
                return name
        start = found.end()
    return None


def check_textmate(language, words):
    grammar = json.loads((EDITORS / f"vscode/syntaxes/{language}.tmLanguage.json").read_text())
    for header, some in words.items():
        for word in some:
            line = f"{header} {word}" if header else word
            name = scope(grammar, line, word)
            if name is None or name.startswith(("variable.other", "entity")):
                yield f"{language}.tmLanguage.json gives '{line}' the scope {name}"
    known = {word for some in words.values() for word in some}
    for pattern in grammar["patterns"]:
        for choice in re.findall(r"\(([A-Za-z|'-]+)\)", pattern["match"]):
            for word in set(choice.split("|")) - known:
                yield f"{language}.tmLanguage.json has the word '{word}', which the parser does not have"


def check_vim(language, words):
    text = (EDITORS / f"vim/syntax/{language}.vim").read_text()
    found = set()
    for line in re.findall(r"^syntax keyword \w+ (.*)$", text, re.M):
        found |= {word for word in line.split() if word not in ("contained", "skipwhite") and "=" not in word}
    if language == "p2c" and re.search(r"^syntax match p2cState .*s", text, re.M):
        found |= {"s", "s'"}
    known = {word for some in words.values() for word in some}
    yield from (f"{language}.vim lacks '{word}'" for word in sorted(known - found))
    yield from (f"{language}.vim has '{word}', which the parser does not have" for word in sorted(found - known))


def check_ebnf(language, words, grammar):
    grammar = re.sub(r"\(\*.*?\*\)", "", grammar, flags=re.S)
    found = {first or second for first, second in re.findall(r'"([^"]+)"|\'([^\']+)\'', grammar)}
    symbols = set(array("engine/collective/language/parser.cpp", "kSymbols")) | {'"', "0"}
    if language == "p2":
        symbols = set("[]{}(),;=._-")
    found -= symbols | {"_", "-", "."}
    known = {word for some in words.values() for word in some} - {"root"}
    yield from (f"the EBNF of {language} lacks '{word}'" for word in sorted(known - found))
    yield from (f"the EBNF of {language} has '{word}', which the parser does not have" for word in sorted(found - known))


def check_ends(language):
    """Highlighted examples: no keyword inside a comment or a text."""
    grammar = json.loads((EDITORS / f"vscode/syntaxes/{language}.tmLanguage.json").read_text())
    line, word = {"p2": ("skip # devices", "devices"), "p2c": ('collective X "and"', "and")}[language]
    if scope(grammar, line, word) is not None:
        yield f"{language}.tmLanguage.json finds '{word}' in '{line}'"


def main():
    grammars = re.findall(r"^```ebnf\n(.*?)^```", (SOURCE / "docs/languages.md").read_text(), re.M | re.S)
    assert len(grammars) == 2
    complaints = []
    words = parser_words()
    for (language, some), grammar in zip(words.items(), grammars):
        for check in (check_textmate(language, some), check_vim(language, some),
                      check_ebnf(language, some, grammar), check_ends(language)):
            complaints += check
    for path in (EDITORS / "vscode").glob("*.json"):
        json.loads(path.read_text())
    for complaint in complaints:
        print(complaint)
    count = sum(len(each) for some in words.values() for each in some.values())
    print(f"{count} words, {len(complaints)} complaints")
    return 1 if complaints else 0


sys.exit(main())
