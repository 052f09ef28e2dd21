"""Which files a model may have read: those in its own folder and in folders named by the user."""

import os
from pathlib import Path

import pytest

import armlet
from armlet import ModelError
from armlet.formats.files import Folders

HERE = "arm.urdf, line 3"


@pytest.fixture
def disk(tmp_path):
    """A package with a model in it, a folder beside it, and a secret above both."""
    for name in (
        "pkg/package.xml",
        "pkg/urdf/arm.urdf",
        "pkg/urdf/sub/part.urdf",
        "pkg/meshes/a.stl",
        "other/b.stl",
        "secret.txt",
        "plain/arm.urdf",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("<package><name>called</name></package>", encoding="utf-8")
    return tmp_path


def found(disk, name, own="pkg/urdf", named=()):
    path = Folders(disk / own, [disk / x for x in named]).file(name, HERE)
    return path.relative_to(disk).as_posix()


@pytest.mark.parametrize(
    ("name", "options", "file"),
    [
        ("sub/part.urdf", {}, "pkg/urdf/sub/part.urdf"),
        ("./sub/../arm.urdf", {}, "pkg/urdf/arm.urdf"),
        ("b.stl", {"named": ["other"]}, "other/b.stl"),
        ("../meshes/a.stl", {}, "pkg/meshes/a.stl"),
        ("package://pkg/meshes/a.stl", {}, "pkg/meshes/a.stl"),
        ("package://called/meshes/a.stl", {}, "pkg/meshes/a.stl"),
        ("model://other/b.stl", {"named": ["."]}, "other/b.stl"),
        ("package://other/b.stl", {"named": ["other"]}, "other/b.stl"),
        ("package://plain/arm.urdf", {"own": "plain"}, "plain/arm.urdf"),
    ],
)
def test_a_file_is_found_in_the_folders_that_are_allowed(disk, name, options, file):
    assert found(disk, name, **options) == file


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("package://pkg/meshes/a.stl", "ws/src/repo/pkg/meshes/a.stl"),
        ("package://called/meshes/a.stl", "ws/src/repo/pkg/meshes/a.stl"),
        ("package://bare/x.stl", "ws/src/bare/x.stl"),
    ],
)
def test_a_package_is_found_anywhere_below_a_folder_that_is_named(disk, name, file):
    for path in ("ws/a/pkg/x.stl", "ws/src/bare/x.stl", "ws/.git/bare/x.stl"):
        (disk / path).parent.mkdir(parents=True)
        (disk / path).touch()
    (disk / "ws/src/repo").mkdir()
    (disk / "pkg").rename(disk / "ws/src/repo/pkg")
    assert found(disk, name, own="plain", named=["ws"]) == file


def test_no_link_below_a_folder_that_is_named_leads_to_a_package(disk):
    (disk / "plain" / "pkg").symlink_to(disk / "pkg")
    (disk / "plain" / "deep").mkdir()
    (disk / "plain" / "deep" / "pkg").symlink_to(disk / "pkg")
    with pytest.raises(ModelError, match="is in none of the folders"):
        found(disk, "package://pkg/meshes/a.stl", own="other", named=["plain"])


def test_an_absolute_path_is_read_only_from_an_allowed_folder(disk):
    there = str(disk / "other" / "b.stl")
    for name in (there, f"file://{there}"):
        assert found(disk, name, named=["other"]) == "other/b.stl"
        with pytest.raises(ModelError, match="outside the folders"):
            found(disk, name)


@pytest.mark.parametrize(
    "name",
    [
        "../../secret.txt",
        "sub/../../../secret.txt",
        "/etc/passwd",
        "file:///etc/passwd",
        "package://pkg/../secret.txt",
        "package://called/../secret.txt",
    ],
)
def test_no_path_leads_out_of_the_folders(disk, name):
    with pytest.raises(ModelError, match=r"^arm.urdf, line 3: the file .* outside .* --folders"):
        found(disk, name)


@pytest.mark.parametrize("name", ["package://etc/passwd", "package://../secret.txt", "model://./x"])
def test_a_package_is_not_any_folder_of_that_name(disk, name):
    with pytest.raises(ModelError, match="is in none of the folders"):
        found(disk, name)


def test_without_a_package_the_folder_above_is_not_read(disk):
    with pytest.raises(ModelError, match="outside the folders"):
        found(disk, "../secret.txt", own="plain")


def test_no_link_leads_out_of_the_folders(disk):
    (disk / "plain" / "link.txt").symlink_to(disk / "secret.txt")
    (disk / "plain" / "up").symlink_to(disk)
    for name in ("link.txt", "up/secret.txt", "package://up/secret.txt"):
        with pytest.raises(ModelError, match=r"outside the folders|in none of the folders"):
            found(disk, name, own="plain")
    assert found(disk, "link.txt", own="plain", named=["."]) == "secret.txt"


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 5000, "https://host/a.stl"])
def test_what_cannot_be_a_file_is_refused(disk, name):
    with pytest.raises(ModelError, match=r"^arm.urdf, line 3: the file"):
        found(disk, name)


def test_a_missing_file_is_named_with_the_folders_and_the_cure(disk):
    with pytest.raises(ModelError, match=r"'c.stl' is in none of .*plain: name its folder by fold"):
        found(disk, "c.stl", own="plain")


def test_what_is_no_regular_file_is_not_opened(disk):
    os.mkfifo(disk / "plain" / "pipe")
    with pytest.raises(ModelError, match="in none of the folders"):
        found(disk, "pipe", own="plain")


def test_meshes_are_found_in_the_package_and_keep_their_names(disk):
    text = (
        '<robot name="r"><link name="a"><visual><geometry><mesh filename="package://pkg/meshes/'
        'a.stl"/></geometry></visual><visual><geometry><mesh filename="package://far/b.stl"/>'
        '</geometry></visual><visual><geometry><mesh filename="/etc/passwd"/></geometry></visual>'
        "</link></robot>"
    )
    path = disk / "pkg" / "urdf" / "arm.urdf"
    path.write_text(text, encoding="utf-8")
    robot = armlet.load(path)
    paths = [str(disk / "pkg" / "meshes" / "a.stl"), "", ""]
    assert [mesh.path for mesh in robot.meshes["a"]] == paths
    robot.to_urdf(disk / "plain" / "again.urdf")
    again = armlet.load(disk / "plain" / "again.urdf")
    assert [mesh.path for mesh in again.meshes["a"]] == ["", "", ""]
    assert [m.file for m in again.meshes["a"]] == [m.file for m in robot.meshes["a"]]
    found = armlet.load(disk / "plain" / "again.urdf", folders=[disk / "pkg"])
    assert found == again
    assert [mesh.path for mesh in found.meshes["a"]] == paths


def test_a_folder_that_the_user_names_must_exist(monkeypatch, disk):
    with pytest.raises(ModelError, match="no such folder"):
        Folders(disk, ["nowhere"])
    with pytest.raises(ModelError, match="expected paths"):
        Folders(disk, [3])
    monkeypatch.setenv("HOME", str(disk))
    assert Folders(disk / "plain", "~/other").roots[1] == Path(os.path.realpath(disk / "other"))
