"""The Python examples of the documentation run, document by document, in one namespace each."""

import os
import re
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

SOURCE = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


@pytest.mark.parametrize("document", ["README.md", "docs/python.md"])
def test_examples_run(document, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(SOURCE)
    blocks = BLOCK.findall((SOURCE / document).read_text())
    assert blocks, document
    names = {"__name__": "documentation"}
    for number, block in enumerate(blocks, 1):
        file = tmp_path / f"block{number}.py"
        file.write_text(block)
        exec(compile(block, str(file), "exec"), names)
    assert os.getcwd() == str(SOURCE)


def test_the_quick_start_names_the_users_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(SOURCE)
    names = {"__name__": "documentation"}
    blocks = BLOCK.findall((SOURCE / "README.md").read_text())
    for number, block in enumerate(blocks, 1):
        file = tmp_path / f"block{number}.py"
        file.write_text(block)
        exec(compile(block, str(file), "exec"), names)
    assert "hidden @ w2" in block_line(tmp_path, names["verdict"].counterexample.source[0])


def block_line(folder, source):
    file, line = source.split(" ")[0].rsplit(":", 1)
    assert Path(file).parent == folder
    return Path(file).read_text().splitlines()[int(line) - 1]


def test_site_has_every_document():
    text = (SOURCE / "mkdocs.yml").read_text()
    for path in (SOURCE / "docs").glob("*.md"):
        assert path.name in text, path
