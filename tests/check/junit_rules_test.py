"""The JUnit XML of `check` obeys the rules of the two schemas in common use.

usage: junit_rules_test.py P2_VERIFY SOURCE_FOLDER

The rules are those of junit-10.xsd of Jenkins' xunit-plugin and of JUnit.xsd of windyroad/JUnit-Schema (Apache Ant), written out
below: attributes, their values, order and number of child elements. Beyond the schemas the counts must be right.
"""

import copy
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

P2_VERIFY = pathlib.Path(sys.argv[1]).resolve()
EXAMPLES = pathlib.Path(sys.argv[2]).resolve() / "examples"

TEXT = r"(?s:.*)"
TOKEN = r"(?s:.+)"
INTEGER = r"[+-]?[0-9]+"
DECIMAL = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)"
DATE_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
SUREFIRE_TIME = r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?"

# element → (required attributes, optional attributes, pattern of the names of its children)
JENKINS = {
    "testsuites": ({}, {"name": TEXT, "time": SUREFIRE_TIME, "tests": TEXT, "failures": TEXT, "errors": TEXT},
                   "(testsuite )*"),
    "testsuite": ({"name": TEXT, "tests": TEXT, "failures": TEXT, "errors": TEXT},
                  {"group": TEXT, "time": SUREFIRE_TIME, "skipped": TEXT, "timestamp": TEXT, "hostname": TEXT, "id": TEXT,
                   "package": TEXT, "file": TEXT, "log": TEXT, "url": TEXT},
                  "(testsuite |properties |testcase |system-out |system-err )*"),
    "testcase": ({"name": TEXT}, {"time": TEXT, "classname": TEXT, "group": TEXT},
                 "(skipped |error |failure |system-out |system-err )*"),
    "properties": ({}, {}, "(property )*"),
    "failure": ({}, {"type": TEXT, "message": TEXT}, ""),
    "error": ({}, {"type": TEXT, "message": TEXT}, ""),
    "skipped": ({}, {"type": TEXT, "message": TEXT}, ""),
    "system-out": ({}, {}, ""),
    "system-err": ({}, {}, ""),
}
ANT = {
    "testsuites": ({}, {}, "(testsuite )*"),
    "testsuite": ({"name": TOKEN, "timestamp": DATE_TIME, "hostname": TOKEN, "tests": INTEGER, "failures": INTEGER,
                   "errors": INTEGER, "time": DECIMAL, "package": TEXT, "id": INTEGER}, {"skipped": INTEGER},
                  "properties (testcase )*system-out system-err "),
    "testcase": ({"name": TEXT, "classname": TEXT, "time": DECIMAL}, {}, "(skipped |error |failure )?"),
    "properties": ({}, {}, "(property )*"),
    "failure": ({"type": TEXT}, {"message": TEXT}, ""),
    "error": ({"type": TEXT}, {"message": TEXT}, ""),
    "skipped": ({}, {"message": TEXT}, ""),
    "system-out": ({}, {}, ""),
    "system-err": ({}, {}, ""),
}


def complaints(root):
    for schema, rules in (("Jenkins", JENKINS), ("Ant", ANT)):
        for element in root.iter():
            if element.tag not in rules:
                yield f"{schema}: unknown element {element.tag}"
                continue
            required, optional, children = rules[element.tag]
            for name in required.keys() - element.attrib.keys():
                yield f"{schema}: {element.tag} lacks {name}"
            for name, value in element.attrib.items():
                pattern = (required | optional).get(name)
                if pattern is None:
                    yield f"{schema}: {element.tag} may not have {name}"
                elif not re.fullmatch(pattern, value):
                    yield f"{schema}: {element.tag} {name}=\"{value}\""
            names = "".join(child.tag + " " for child in element)
            if not re.fullmatch(children, names):
                yield f"{schema}: the children of {element.tag} are {names}"
    for number, suite in enumerate(root.iter("testsuite")):
        cases = suite.findall("testcase")
        counts = {"tests": len(cases), "failures": len(suite.findall("testcase/failure")),
                  "errors": len(suite.findall("testcase/error")), "skipped": len(suite.findall("testcase/skipped")),
                  "id": number}
        for name, count in counts.items():
            if suite.get(name) != str(count):
                yield f"{name}=\"{suite.get(name)}\", expected {count}"


def report(words, folder, expected):
    done = subprocess.run([P2_VERIFY, "check", *words, "--format", "junit"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == expected, f"{words}: exit {done.returncode}\n{done.stderr}"
    return ElementTree.fromstring(done.stdout)


def wrong_copies(root):
    """Copies of a report, each with one thing changed that a schema or the counts forbid."""
    def changed(change):
        other = copy.deepcopy(root)
        change(other)
        return other
    suite, case = ".//testsuite", ".//testcase"
    yield changed(lambda other: other.set("disabled", "0"))
    yield changed(lambda other: other.find(suite).set("time", "1e-3"))
    yield changed(lambda other: other.find(suite).set("timestamp", "today"))
    yield changed(lambda other: other.find(suite).set("tests", "99"))
    yield changed(lambda other: other.find(suite).attrib.pop("hostname"))
    yield changed(lambda other: other.find(suite).append(ElementTree.Element("testcase", other.find(case).attrib)))
    yield changed(lambda other: other.find(case).set("line", "3"))
    yield changed(lambda other: other.find(case).attrib.pop("classname"))
    yield changed(lambda other: other.find(case).append(ElementTree.Element("note")))


def main():
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "broken.p2").write_text("devices 2\nAllReduce{0,2}\n")
        refused = f"{EXAMPLES}/programs/refused/*.p2"
        subprocess.run([P2_VERIFY, "check", refused, "--baseline", "known", "--update-baseline"], cwd=folder,
                       capture_output=True, check=True)
        subprocess.run([P2_VERIFY, "synth", "--hierarchy", "2,2", "--axes", "4", "--reduce", "0", "--size", "2", "--format",
                        "json", "--output", "programs.json"], cwd=folder, check=True)
        cases = [
            ([f"{EXAMPLES}/programs/valid/*.p2", f"{EXAMPLES}/msccl/**/*.xml", refused], 1),
            (["broken.p2", "absent.p2"], 2),
            ([f"{EXAMPLES}/programs/valid/figure10-blueconnect.p2", "--engine", "z3", "--rlimit", "1"], 3),
            ([refused, "--baseline", "known"], 0),
            (["programs.json", "--engine", "all"], 0),
            (["--before", f"{EXAMPLES}/hlo/all-reduce.hlo", "--after", f"{EXAMPLES}/hlo/refused/crossed-hosts.hlo"], 1),
            (["--dump", f"{EXAMPLES}/hlo/refused/dump"], 1),
        ]
        seen = set()
        for words, expected in cases:
            root = report(words, folder, expected)
            seen |= {element.tag for element in root.iter()}
            wrong += [f"{words}: {each}" for each in complaints(root)]
        missing = {"failure", "error", "skipped", "testcase"} - seen
        wrong += [f"no example has {element}" for element in missing]
        wrong += [f"wrong copy {number} is accepted" for number, other in enumerate(wrong_copies(root))
                  if not list(complaints(other))]
    for each in wrong:
        print(each)
    print(f"{len(cases)} reports, {len(wrong)} complaints")
    return 1 if wrong else 0


sys.exit(main())
