#!/usr/bin/env python3
"""Pages in a real browser: headless Chromium, driven over the WebDriver protocol.

  browser_test.py reports P2_VERIFY ROOT SCREENSHOTS      ten reports: content, console, keyboard, labels; how
                                                          long a report of 2,000 passes takes to open
  browser_test.py playground P2_VERIFY ROOT SITE          every example of the page against the command line

Exit code 77, with the reason, where there is no browser or no built page.
"""

import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

SKIPPED = 77
MAX_OPEN_SECONDS = 2.0
MAX_CHECK_SECONDS = 1.0

# What a screen reader needs: names of controls and pictures, heads of columns, one main part, no doubled id.
LABELS = """
const problems = [];
const named = each => each.textContent.trim() || each.getAttribute('aria-label') || each.title ||
  each.getAttribute('aria-labelledby') || (each.labels && each.labels.length);
for (const each of document.querySelectorAll('button, input, select, textarea, a, summary, iframe'))
  if (!named(each)) problems.push('no name: ' + each.outerHTML.slice(0, 80));
for (const each of document.querySelectorAll('[role=img]'))
  if (!each.getAttribute('aria-label')) problems.push('picture without a name');
for (const each of document.querySelectorAll('table'))
  if (!each.tHead || [...each.tHead.rows[0].cells].some(cell => cell.scope !== 'col'))
    problems.push('table without heads: ' + each.outerHTML.slice(0, 80));
if (document.querySelectorAll('main').length !== 1) problems.push('not one main part');
if (document.querySelectorAll('h1').length !== 1) problems.push('not one h1');
if (!document.documentElement.lang) problems.push('no language');
const ids = [...document.querySelectorAll('[id]')].map(each => each.id);
if (new Set(ids).size !== ids.length) problems.push('an id twice');
for (const each of document.querySelectorAll('a[href^="#"]'))
  if (!document.getElementById(each.getAttribute('href').slice(1))) problems.push('link to nowhere: ' + each.href);
return problems;
"""

# WCAG: text of body size has a contrast of 4.5 : 1 against the ground that it stands on.
CONTRAST = """
const light = color => { const [r, g, b] = color.match(/[\\d.]+/g).map(Number).map(v => v / 255)
  .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const ground = each => { for (; each; each = each.parentElement) { const color = getComputedStyle(each).backgroundColor;
  if (!/, 0\\)$/.test(color)) return color; } return 'rgb(255, 255, 255)'; };
const problems = [];
for (const each of document.querySelectorAll('p, td, th, h1, h2, h3, a, summary, label, .word, figcaption, code span')) {
  const [a, b] = [light(getComputedStyle(each).color), light(ground(each))].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5) problems.push(each.outerHTML.slice(0, 80));
}
return problems.slice(0, 5);
"""


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


class Browser:
    """A session of chromedriver."""

    def __init__(self, dark=False):
        binary = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
        driver = shutil.which("chromedriver")
        if not binary or not driver:
            skip("no chromium or no chromedriver (Debian: chromium, chromium-driver)")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen([driver, f"--port={self.port}"], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        self.profile = tempfile.mkdtemp(prefix="p2-browser-")
        arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1000,1400",
                     "--disable-background-networking", f"--user-data-dir={self.profile}"]
        if dark:
            arguments.append("--blink-settings=preferredColorScheme=0")
        options = {"binary": binary, "args": arguments}
        capabilities = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        for attempt in range(50):
            try:
                answer = self.request("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
                break
            except OSError:
                if attempt == 49:
                    raise
                time.sleep(0.2)
        self.session = f"/session/{answer['sessionId']}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.request("DELETE", self.session)
        finally:
            self.process.terminate()
            self.process.wait()
            shutil.rmtree(self.profile, ignore_errors=True)

    def request(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, method=method,
                                         headers={"Content-Type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def open(self, path):
        self.request("POST", self.session + "/url", {"url": path})

    def run(self, script, *arguments):
        return self.request("POST", self.session + "/execute/sync", {"script": script, "args": list(arguments)})

    def press(self, keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.request("POST", self.session + "/actions",
                     {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def console(self):
        return [each["message"] for each in self.request("POST", self.session + "/se/log", {"type": "browser"})]

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.request("GET", self.session + "/screenshot")))


def require(condition, message):
    if not condition:
        raise AssertionError(message)


def p2_verify(program, *words, cwd):
    return subprocess.run([program, *words], cwd=cwd, capture_output=True, text=True, check=False)


def reports_of(root):
    """Name, words of the command, and a part of the text that the page has."""
    systems = "examples/systems/"
    return [
        ("check-program", ["check", "examples/programs/refused/figure4b-counted-twice.p2"], "counted twice"),
        ("check-many", ["check", "examples/programs/**/*.p2", "examples/msccl/**/*.xml",
                        "examples/onesided/**/*.plan"], "files:"),
        ("check-modules", ["check", "--before", "examples/hlo/all-reduce.hlo", "--after",
                           "examples/hlo/refused/crossed-hosts.hlo"], "contributions"),
        ("place", ["place", "--hierarchy", "node=4,gpu=16", "--axes", "data=8,shard=8"], "Placement"),
        ("cost", ["cost", "--system", systems + "a100-4nodes.json", "--axes", "data=8,shard=8", "--reduce",
                  "data", "--placement", "[[2,4],[2,4]]", "--top", "5"], "fastest program on the hardware"),
        ("synth", ["synth", "--hierarchy", "2,4", "--axes", "8", "--reduce", "0", "--size", "3"], "total: 25"),
        ("define", ["define", "examples/collectives/sound/gather.p2c"], "satisfiable"),
        ("prove", ["prove", "lemma-b1", "--max-devices", "6"], "holds everywhere"),
        ("pipeline", ["pipeline", "--schedule", "eager-1f1b", "--stages", "3", "--microbatches", "4",
                      "--latency", "1"], "makespan 22"),
        ("reshard", ["reshard", "--shape", "1024,1024,512", "--from", "2x4:S0,R,R", "--to", "3x4:S0,S1,R",
                     "--pad"], "lower bound"),
        ("parallelize", ["parallelize", "examples/strategy/mlp.json"], "optimal"),
        ("run", ["run", "examples/programs/valid/figure3a-allreduce.p2", "--iterations", "1"], "whole program"),
    ]


def check_report(browser, page, part):
    browser.open(page.as_uri())
    text = browser.run("return document.body.textContent")
    require(part in text, f"{page.name}: no '{part}'")
    require(browser.run(LABELS) == [], f"{page.name}: {browser.run(LABELS)}")
    require(browser.run(CONTRAST) == [], f"{page.name}: contrast: {browser.run(CONTRAST)}")
    loaded = browser.run("return performance.getEntriesByType('resource').map(each => each.name)")
    require(loaded == [], f"{page.name}: loads {loaded}")
    require(browser.console() == [], f"{page.name}: the console is not empty")
    broad = browser.run("return document.documentElement.scrollWidth > document.documentElement.clientWidth")
    require(not broad, f"{page.name}: wider than the window")


def check_index(browser, page):
    """Filters and sorts with the keyboard alone."""
    browser.open(page.as_uri())
    rows = "return [...document.querySelectorAll('#files tbody tr')].filter(each => !each.hidden).length"
    everything = browser.run(rows)
    browser.run("document.querySelector('input[type=search]').focus()")
    browser.press("onesided")
    some = browser.run(rows)
    require(0 < some < everything, f"the filter shows {some} of {everything}")
    said = browser.run("return document.querySelector('output').textContent")
    require(said == f"{some} of {everything} shown", said)
    browser.press("\ue004")  # Tab: the first verdict
    browser.press(" ")
    require(browser.run(rows) < some, "a verdict that is not chosen is hidden")
    browser.press(" ")
    browser.run("document.querySelectorAll('#files th button')[2].focus()")
    browser.press("\ue007")  # Enter
    require(browser.run("return document.querySelectorAll('#files th')[2].getAttribute('aria-sort')") == "ascending",
            "the column is not sorted")
    names = browser.run("return [...document.querySelectorAll('#files tbody tr')].map(each => each.cells[2].textContent)")
    require(names == sorted(names, key=str.lower), "files are not in order")
    browser.run("location.hash = 'file-1'")
    time.sleep(0.2)
    require(browser.run("return document.getElementById('file-1').open"), "a link opens the section")


def write_dump(folder, passes):
    """A module and its versions after so many passes, one of which is wrong."""
    def module(number):
        groups = "{{0,1},{2,3}}" if number == passes // 2 else "{{0,1,2,3}}"
        return ("HloModule jit_f, num_partitions=4\n\n%sum (a: f32[], b: f32[]) -> f32[] {\n"
                "  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n  ROOT %add = f32[] add(%a, %b)\n}\n\n"
                "ENTRY %main (x: f32[8]) -> f32[8] {\n  %x = f32[8] parameter(0)\n"
                f"  ROOT %y{number} = f32[8] all-reduce(%x), channel_id={number + 1}, replica_groups={groups}, "
                "use_global_device_ids=true, to_apply=%sum\n}\n")
    name = "module_0001.jit_f."
    (folder / f"{name}before_optimizations.txt").write_text(module(0))
    for i in range(1, passes + 1):
        (folder / f"{name}{i:04}.optimization.after_pass-{i}.before_pass-{i + 1}.txt").write_text(module(i))


def check_large(program, browser, folder):
    dump = folder / "dump"
    dump.mkdir()
    write_dump(dump, 2000)
    page = folder / "large.html"
    ran = p2_verify(program, "check", "--dump", str(dump), "--format", "html", "--output", str(page), cwd=folder)
    require(ran.returncode == 1, f"check --dump: exit {ran.returncode}: {ran.stderr}")
    seconds = []
    for _ in range(3):
        start = time.monotonic()
        browser.open(page.as_uri())
        rows = browser.run("return document.querySelectorAll('#files tbody tr').length")
        seconds.append(time.monotonic() - start)
    require(rows >= 1999, f"{rows} rows")
    print(f"a report of {rows} comparisons, {page.stat().st_size} bytes, opens in {min(seconds):.2f} s")
    require(min(seconds) < MAX_OPEN_SECONDS, f"opens in {min(seconds):.2f} s")


def test_reports(program, root, screenshots):
    screenshots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, Browser() as light, Browser(dark=True) as dark:
        folder = Path(temporary)
        require(dark.run("return matchMedia('(prefers-color-scheme: dark)').matches"), "the dark browser is not dark")
        for name, words, part in reports_of(root):
            page = folder / f"{name}.html"
            ran = p2_verify(program, *words, "--format", "html", "--output", str(page), cwd=root)
            require(page.exists(), f"{name}: no page: {ran.stderr}")
            for browser, suffix in ((light, ""), (dark, "-dark")):
                check_report(browser, page, part)
                browser.screenshot(screenshots / f"{name}{suffix}.png")
        check_index(light, folder / "check-many.html")
        check_large(program, light, folder)
    print(f"{len(reports_of(root))} reports, screenshots in {screenshots}")


def verdict_of(program, root, example):
    """What the command line says."""
    with tempfile.TemporaryDirectory() as temporary:
        names = example.get("files") or [None, example["name"]]
        paths = []
        for name, text in zip(names, (example.get("before"), example["text"])):
            if not text:
                continue
            path = Path(temporary) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            paths.append(str(path))
        words = ["check", "--before", paths[0], "--after", paths[1]] if len(paths) == 2 else ["check", paths[0]]
        ran = p2_verify(program, *words, "--format", "json", cwd=root)
    answer = json.loads(ran.stdout)
    return answer["results"][0]["verdict"] if answer["results"] else "not judged"


def test_playground(program, root, site):
    if not (site / "p2.js").exists():
        skip(f"no page in {site} (emcmake cmake -S docs/playground -B build/playground)")
    with Browser() as browser:
        browser.open((site / "index.html").as_uri())
        for _ in range(100):
            if browser.run("return document.getElementById('verdict').textContent") == "ready":
                break
            time.sleep(0.1)
        require(browser.run(LABELS) == [], f"labels: {browser.run(LABELS)}")
        require(browser.run(CONTRAST) == [], f"contrast: {browser.run(CONTRAST)}")
        examples = browser.run("return examples")
        certified = 0
        slowest = 0
        for index, example in enumerate(examples):
            name = example["name"]
            answer = browser.run("return check(examples[arguments[0]])", index)
            expected = verdict_of(program, root, example)
            if name.endswith(".p2c"):  # sound or not is for a solver, which the page does not have
                require(answer["verdict"] == "unknown", f"{name}: {answer['verdict']}")
                continue
            require(answer["verdict"] == expected, f"{name}: {answer['verdict']}, the command line: {expected}")
            require("<!doctype html>" in answer["page"], f"{name}: no report")
            slowest = max(slowest, answer["milliseconds"] / 1000)
            if "certificate" in answer:
                certified += 1
                require(answer["certificate"]["verdict"] == "accepted", f"{name}: {answer['certificate']}")
        require(certified >= 9, f"{certified} certificates")
        # With the keyboard: choose an example, check it, share it, and open what was shared.
        browser.run("document.getElementById('example').focus()")
        browser.press("\ue015")  # down
        time.sleep(1)
        verdict = browser.run("return document.getElementById('verdict').textContent")
        require(verdict in ("valid", "invalid"), verdict)
        browser.run("document.getElementById('share').click()")
        time.sleep(0.3)
        shared = browser.run("return location.href")
        text = browser.run("return document.getElementById('text').value")
        browser.open("about:blank")
        browser.open(shared)
        time.sleep(2)
        require(browser.run("return document.getElementById('text').value") == text, "the link has another text")
        require(browser.run("return document.getElementById('verdict').textContent") == verdict, "another verdict")
        # What is pasted stays text.
        browser.run("document.getElementById('text').value = '<img src=x onerror=alert(1)>'; run()")
        time.sleep(0.5)
        require(browser.run("return document.querySelectorAll('main img').length") == 0, "markup")
        loaded = browser.run("return performance.getEntriesByType('resource').map(each => each.name)")
        require(all(each.startswith("file://") for each in loaded), f"loads {loaded}")
        errors = [each for each in browser.console() if "SEVERE" in each or "rror" in each]
        require(errors == [], f"console: {errors}")
        require(slowest < MAX_CHECK_SECONDS, f"an example takes {slowest:.2f} s")
    print(f"{len(examples)} examples as on the command line, {certified} certificates accepted, "
          f"the slowest takes {slowest:.2f} s")


def main():
    what, program, root, folder = sys.argv[1:]
    program, root, folder = os.path.abspath(program), Path(root).resolve(), Path(folder).resolve()
    {"reports": test_reports, "playground": test_playground}[what](program, root, folder)


if __name__ == "__main__":
    main()
