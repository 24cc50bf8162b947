"""Folders of dead drivers are removed, those of living ones are kept."""

import os
from pathlib import Path
from typing import Any

from curator_ray.temp_folders import RUN_FOLDER_PREFIX, FolderLock, remove_abandoned_folders

OWNER = """
import os, sys
from curator_ray.temp_folders import FolderLock
lock = FolderLock(os.environ["FOLDER"])
print("locked", flush=True)
sys.stdin.read()
"""

LONG_AGO = 1_000_000_000


def names(parent: Path) -> list[str]:
    return sorted(path.name.removeprefix(RUN_FOLDER_PREFIX) for path in parent.iterdir())


def make_folder(parent: Path, name: str) -> Path:
    folder = parent / f"{RUN_FOLDER_PREFIX}{name}"
    (folder / "node").mkdir(parents=True)
    (folder / "node" / "w.status").touch()
    return folder


class TestRemoveAbandonedFolders:
    def test_folders_of_a_killed_driver(self, script: Any, tmp_path: Path) -> None:
        parent = tmp_path / "temp"
        parent.mkdir()
        mine = FolderLock(f"{parent}/{RUN_FOLDER_PREFIX}mine")
        driver = script(OWNER, FOLDER=f"{parent}/{RUN_FOLDER_PREFIX}other")
        assert driver.stdout.readline() == "locked\n"
        (parent / f"{RUN_FOLDER_PREFIX}other" / "node").mkdir()
        remove_abandoned_folders(str(parent))
        assert names(parent) == ["mine", "other"]

        driver.kill()
        driver.wait()
        remove_abandoned_folders(str(parent))
        assert names(parent) == ["mine"]
        mine.release()
        remove_abandoned_folders(str(parent))
        assert names(parent) == []

    def test_without_a_driver_only_old_folders(self, tmp_path: Path) -> None:
        for name in ("new", "old", "old, and still in use"):
            make_folder(tmp_path, name)
        for path in tmp_path.glob(f"{RUN_FOLDER_PREFIX}old*"):
            os.utime(path, (LONG_AGO, LONG_AGO))
        os.utime(tmp_path / f"{RUN_FOLDER_PREFIX}old" / "node", (LONG_AGO, LONG_AGO))
        remove_abandoned_folders(str(tmp_path))
        assert names(tmp_path) == ["new", "old, and still in use"]

    def test_other_folders_and_links_are_kept(self, tmp_path: Path) -> None:
        (tmp_path / "other").mkdir()
        (tmp_path / f"{RUN_FOLDER_PREFIX}link").symlink_to(tmp_path / "other")
        for path in (tmp_path / "other", tmp_path / f"{RUN_FOLDER_PREFIX}link"):
            os.utime(path, (LONG_AGO, LONG_AGO), follow_symlinks=False)
        remove_abandoned_folders(str(tmp_path))
        remove_abandoned_folders(str(tmp_path / "nowhere"))
        assert names(tmp_path) == ["link", "other"]

    def test_folders_that_changed_a_moment_ago_are_spared(self, tmp_path: Path) -> None:
        for name in ("held", "new", "old"):
            folder = tmp_path / f"curator-ray-{name}"
            folder.mkdir()
            lock = FolderLock(str(folder), exists=True)
            if name == "held":
                held = lock
            else:
                lock.release()
            for path in (folder / "driver.lock", folder) if name != "new" else ():
                os.utime(path, (LONG_AGO, LONG_AGO))
        remove_abandoned_folders(str(tmp_path), "curator-ray-", 600)
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            "curator-ray-held",
            "curator-ray-new",
        ]
        held.release()
