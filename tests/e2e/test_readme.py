"""What README shows must run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import millstream

README = (Path(__file__).parents[2] / "README.md").read_text()


@pytest.mark.spark
@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_every_python_example_runs(code):
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"\d+ None", done.stdout.strip())


def test_every_make_target_and_command_it_names_exists():
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
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
