"""The Python examples of the documentation run, document by document, in one namespace each.

Sections that import JAX or PyTorch are left out where these are not installed.
"""

import importlib.util
import os
import re
from pathlib import Path

import pytest

import p2_verify

SOURCE = Path(__file__).parents[2]
SECTION = re.compile(r"^(?=## |\*\*.*\*\*$)", re.M)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
OPTIONAL = {name: importlib.util.find_spec(name) is not None for name in ("jax", "torch")}


def run(document, folder):
    """Runs the blocks of the sections that can be; the names that they define."""
    names = {"__name__": "documentation", "p2": p2_verify}
    number = 0
    for section in SECTION.split((SOURCE / document).read_text()):
        blocks = BLOCK.findall(section)
        needed = {name for name in OPTIONAL if any(f"import {name}" in each for each in blocks)}
        if not all(OPTIONAL[name] for name in needed):
            continue
        for block in blocks:
            number += 1
            file = folder / f"block{number}.py"
            file.write_text(block)
            exec(compile(block, str(file), "exec"), names)
    assert number or not any(OPTIONAL.values()), document
    return names


@pytest.mark.parametrize("document", ["README.md", "docs/python.md"])
def test_examples_run(document, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(SOURCE)
    run(document, tmp_path)
    assert os.getcwd() == str(SOURCE)


@pytest.mark.skipif(not OPTIONAL["jax"], reason="JAX is not installed")
def test_the_quick_start_names_the_users_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(SOURCE)
    names = run("README.md", tmp_path)
    assert "hidden @ w2" in block_line(tmp_path, names["verdict"].counterexample.source[0])


@pytest.mark.skipif(not OPTIONAL["torch"], reason="torch is not installed")
def test_the_quick_start_of_pytorch_names_the_users_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(SOURCE)
    names = run("README.md", tmp_path)
    verdict = names["check"](output_layouts=names["Partial"]())
    assert "self.down" in block_line(tmp_path, verdict.counterexample.source[0])


def block_line(folder, source):
    file, line = source.split(" ")[0].rsplit(":", 1)
    assert Path(file).parent == folder
    return Path(file).read_text().splitlines()[int(line) - 1]


def test_site_has_every_document():
    text = (SOURCE / "mkdocs.yml").read_text()
    for path in (SOURCE / "docs").glob("*.md"):
        assert path.name in text, path
