"""What is true of the whole repository, whoever adds to it."""

import configparser
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGES = sorted(found.parent for found in REPOSITORY.glob("packages/**/pyproject.toml"))

# Folders of one machine, where an absolute path begins: not `curator_core/work/` or `s3://b/root/`.
MACHINE_PATH = re.compile(
    r"(?<![\w.*~{})/-])(?:file://)?/(?:work|root|home/\w+|opt/(?:wheels|pypi))\b"
)


def repository_files() -> list[Path]:
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    paths = (REPOSITORY / name for name in names.stdout.split("\0") if name)
    return [path for path in paths if path.is_file()]


def machine_paths(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if MACHINE_PATH.search(line)]


def test_no_file_names_a_folder_of_one_machine() -> None:
    found = {
        str(path.relative_to(REPOSITORY)): lines
        for path in repository_files()
        if path != Path(__file__)
        if (lines := machine_paths(path.read_text(errors="replace")))
    }
    assert not found


@pytest.mark.parametrize(
    "line", ["cd /work/main", "--find-links=/opt/wheels", "file:///opt/pypi/simple", '"/root/.x"']
)
def test_machine_paths_are_seen(line: str) -> None:
    assert machine_paths(line) == [line]


@pytest.mark.parametrize("line", ["tests/work/x", "s3://bucket/root/a", "{run_dir}/work/a", "a/b"])
def test_other_paths_are_let_pass(line: str) -> None:
    assert not machine_paths(line)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_every_package_has_the_same_shape(package: Path) -> None:
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    source = package / "src" / project["name"].replace("-", "_")
    assert source.name == f"curator_{package.name}"
    assert (package / "README.md").read_text().startswith(f"# {project['name']}\n")
    assert f"## {project['version']}" in (package / "CHANGELOG.md").read_text()
    assert (source / "py.typed").exists()
    for name, module in project.get("entry-points", {}).get("curator_core", {}).items():
        assert (name, module) == (package.name, f"{source.name}.plugin")
        assert (source / "plugin.py").exists()


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_packages_take_ranges(package: Path) -> None:
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    extras = project.get("optional-dependencies", {}).values()
    requirements = [*project["dependencies"], *(line for extra in extras for line in extra)]
    assert all(">=" in requirement for requirement in requirements)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_every_package_is_licensed(package: Path) -> None:
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    assert project["license"] == "Apache-2.0"
    assert project["license-files"] == ["LICENSE"]
    assert project["authors"] == [{"name": "Curator contributors"}]
    assert (package / "LICENSE").read_bytes() == (REPOSITORY / "LICENSE").read_bytes()


def test_mypy_knows_every_package() -> None:
    settings = configparser.ConfigParser(interpolation=None)
    settings.read(REPOSITORY / "packages" / "mypy.ini")
    known = {
        entry.replace("$MYPY_CONFIG_FILE_DIR", "packages")
        for entry in settings["mypy"]["mypy_path"].split(":")
    }
    assert known == {f"{package.relative_to(REPOSITORY)}/src" for package in PACKAGES}


def test_the_development_environment_has_every_package() -> None:
    members = tomllib.loads((REPOSITORY / "hatch.toml").read_text())["envs"]["dev"]["workspace"]
    found = {path for pattern in members["members"] for path in REPOSITORY.glob(pattern)}
    assert {path for path in found if path.is_dir()} == set(PACKAGES)
