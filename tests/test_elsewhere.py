"""A few tests of every kind on other machines than this one; `make test-elsewhere` has them all."""

import pytest
from elsewhere import (
    SLICE,
    Outcome,
    Setting,
    environment,
    kernels,
    main,
    output,
    read,
    run,
    settings,
    table,
    vector_features,
)

from armlet.runtime.engine import ARCHITECTURES

SETTINGS = settings()
NAME = {"ids": lambda setting: setting.name}
MACHINES = [x for x in SETTINGS if not (x.version or x.options)]
PROCESSORS = [x for x in SETTINGS if "ARMLET_CPU" in x.variables]


@pytest.mark.parametrize("setting", MACHINES, **NAME)
def test_a_slice_passes_elsewhere(setting):
    result = run(setting, SLICE)
    if result.note and not result.failed:
        pytest.skip(result.note)
    assert not result.failed, result.note
    assert result.passed > 10


@pytest.mark.parametrize("setting", PROCESSORS, **NAME)
def test_blas_numpy_and_armlet_take_code_for_an_older_processor(setting):
    if setting.missing:
        pytest.skip(setting.missing)
    variables = environment(setting)
    script = "from armlet.runtime.engine import cpu; print(cpu().name)"
    assert output(variables, script).strip() == setting.variables["ARMLET_CPU"]
    newer = setting.variables["NPY_DISABLE_CPU_FEATURES"].split()
    assert not set(vector_features(variables)).intersection(newer)
    assert f"BLAS {kernels(variables) or 'not OpenBLAS'}" in setting.name


def test_every_kind_of_machine_is_tried():
    names = " ".join(setting.name for setting in SETTINGS)
    processors = ("Prescott", "Sandybridge", "Haswell", "Zen", "SkylakeX", "BLAS threads")
    pythons = ("Python 3.11", "Python 3.12", "Python 3.13", "lowest versions")
    others = ("one core", "bare account", "other draws", "random order")
    assert [x for x in (*processors, *pythons, *others) if x not in names] == []
    assert {x.variables["ARMLET_CPU"] for x in PROCESSORS} == set(ARCHITECTURES)


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
