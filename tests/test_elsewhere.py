"""A few tests of every kind in other settings than this one; `make test-elsewhere` has them all."""

import pytest
from elsewhere import SLICE, Outcome, Setting, main, read, run, settings, table

from armlet.runtime.engine import ARCHITECTURES

LEFT_OUT = ("Python", "of this machine", "sandybridge", "order", "draws")
EVERYWHERE = [x for x in settings() if not any(name in x.name for name in LEFT_OUT)]


@pytest.mark.parametrize("setting", EVERYWHERE, ids=lambda setting: setting.name)
def test_a_slice_passes_elsewhere(setting):
    result = run(setting, SLICE)
    if result.note and not result.failed:
        pytest.skip(result.note)
    assert not result.failed, result.note
    assert result.passed > 10


def test_every_kind_of_machine_is_tried():
    names = " ".join(setting.name for setting in settings())
    kernels = ("Haswell", "SkylakeX", "Zen", "Prescott", *ARCHITECTURES)
    pythons = ("Python 3.11", "Python 3.12", "Python 3.13", "lowest versions")
    systems = ("ASCII locale", "no home", "another working directory")
    others = ("several BLAS threads", "NumPy without", "one core", "other draws", "random order")
    assert [x for x in (*kernels, *pythons, *systems, *others) if x not in names] == []


def test_what_fails_is_named(tmp_path, capsys):
    report = tmp_path / "report.xml"
    report.write_text(
        "<testsuite><testcase classname='tests.test_a' name='test_b'><failure/></testcase>"
        "<testcase classname='tests.test_a' name='test_c'><skipped/></testcase>"
        "<testcase classname='tests.test_a' name='test_d'/></testsuite>"
    )
    result = read(report)
    assert (result.passed, result.failed, result.skipped) == (1, ["test_a::test_b"], 1)
    rows = table({"here": result, "there": Outcome(note="not installed")})
    assert rows.row_count == 2
    assert main(["--list"]) == 0
    assert "random order" in capsys.readouterr().out
    assert run(Setting("nowhere", ("no_such_file",))).failed
