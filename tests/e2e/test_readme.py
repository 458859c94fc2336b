"""What README shows must run, and what the pages name must exist."""

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import millstream
from millstream.api.options import Sorted
from millstream.runtime.options import Options

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = re.findall(r"```python\n(.*?)```\n\nIt prints:\n\n```text\n(.*?)```", README, re.DOTALL)


@pytest.mark.spark
@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_every_example_prints_what_it_is_said_to(code, output):
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == output.strip()


def test_no_example_is_without_its_output():
    assert len(EXAMPLES) == README.count("```python\n") > 0


def test_the_options_it_names_are_the_ones_there_are():
    rows = re.findall(r"^\| (`.*?`) \|", README.partition("## Options")[2].partition("\n## ")[0], re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(.*?)`", row)}
    runtime = {field.name for field in fields(Options)} - {"interval", "drain", "epochs"}
    writers = {
        "engine": "auto",
        "kernel": "auto",
        "partitions": 1,
        "partialAggregation": True,
        "checkpointLocation": "/",
    }
    assert Sorted.of(writers).sink == {}
    assert named == runtime | set(writers) | {"foreachBatch.per"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_names_that_a_page_mentions_are_there(page):
    text = page.read_text()
    for path, names in re.findall(r"`((?:[\w.'-]+/)+[\w.'-]*)`((?:(?:,| and)\s`\w+`)*)", text):
        found = next((base / path for base in (ROOT, ROOT / "src/millstream") if (base / path).exists()), None)
        assert found, path
        for name in re.findall(r"`(\w+)`", names):
            assert re.search(rf"^\s*(def|class) {name}\b", found.read_text(), re.MULTILINE), (path, name)
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / link).exists(), link


def test_every_make_target_and_command_it_names_exists():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`make (\w+)`", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_public_names_are_there_and_no_others():
    for name in millstream.__all__:
        assert getattr(millstream, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        millstream.nonsense  # noqa: B018


def test_importing_the_slot_does_not_import_the_front_end():
    code = "import sys, millstream.runtime.slot; print('millstream.api' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"
