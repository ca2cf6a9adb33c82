"""What else describes the package says what pyproject.toml says."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_codemeta_has_the_version_and_the_words_of_the_project() -> None:
    facts = json.loads((ROOT / "codemeta.json").read_text())
    assert (facts["version"], facts["identifier"]) == (PROJECT["version"], PROJECT["name"])
    assert facts["description"] == PROJECT["description"]


def test_the_recipe_for_conda_has_every_dependency() -> None:
    yaml = pytest.importorskip("yaml")
    recipe = yaml.safe_load((ROOT / "packaging" / "conda.yaml").read_text())
    assert recipe["package"] == {"name": PROJECT["name"], "version": PROJECT["version"]}
    (python, *found) = (
        line.replace("matplotlib-base", "matplotlib").replace(" ", "") for line in recipe["requirements"]["run"]
    )
    assert python == f"python{PROJECT['requires-python']}"
    assert sorted(found) == sorted(PROJECT["dependencies"])
    assert recipe["build"]["entry_points"] == [f"nasbench = {PROJECT['scripts']['nasbench']}"]


def test_the_action_checks_each_archive_and_fails_if_one_does(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    (job,) = yaml.safe_load((ROOT / ".github" / "workflows" / "archive.yml").read_text())["jobs"].values()
    (check,) = (step["run"] for step in job["steps"] if step.get("name") == "Check")
    command = tmp_path / ".venv" / "bin" / "nasbench"
    command.parent.mkdir(parents=True)
    command.write_text('#!/bin/sh\necho "$@" >> calls\ncase "$3" in *bad*) exit 1;; esac\n')
    command.chmod(0o755)
    (tmp_path / "submissions").mkdir()
    for name, code in (("a.zip", 0), ("bad.zip", 1), ("c.zip", 1)):
        (tmp_path / "submissions" / name).touch()
        (tmp_path / "calls").unlink(missing_ok=True)
        assert subprocess.run(["bash", "-e", "-c", check], cwd=tmp_path, check=False).returncode == code
    assert re.findall(r"submissions/(\w+)\.zip", (tmp_path / "calls").read_text()) == ["a", "bad", "c"]


def test_the_container_uses_the_targets_that_there_are() -> None:
    text = (ROOT / "packaging" / "Containerfile").read_text()
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"RUN make (\w+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    for extra in re.findall(r"EXTRAS=(\w+)", text):
        assert extra in PROJECT["optional-dependencies"]
