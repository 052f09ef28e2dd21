"""The short examples run, are short, and do what they say."""

import re
from importlib import import_module
from pathlib import Path

import pytest
from support.compilers import needs

import armlet

FOLDER = Path(__file__).parents[1] / "examples"
SHORT = [
    "control_loop",
    "identify_from_log",
    "learning_environment",
    "microcontroller",
    "mpc_casadi",
    "operational_space",
    "own_formulation",
    "payload",
    "reach_by_sampling",
    "residual_torch",
]


def code(name):
    """The lines of an example without its docstring and empty lines."""
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    return [line for line in text.partition('"""\n\n')[2].splitlines() if line.strip()]


@pytest.mark.parametrize("name", SHORT)
def test_short_examples_are_short(name):
    assert len(code(name)) < 60


def test_the_page_lists_the_short_examples():
    page = (FOLDER.parent / "docs" / "examples.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)\.py` \|", page, re.MULTILINE)
    assert sorted(listed) == sorted(SHORT)


def printed(name, capsys):
    module = import_module(name)
    module.main()
    return capsys.readouterr().out


def numbers(text):
    return [float(x.replace(",", "")) for x in re.findall(r"\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?", text)]


def test_the_hand_reaches_its_target_in_a_loop(capsys):
    text = printed("control_loop", capsys)
    assert numbers(text.splitlines()[-1])[0] < 5


@pytest.mark.long
def test_the_hand_follows_its_circle(capsys):
    text = printed("operational_space", capsys)
    assert numbers(text.splitlines()[1])[1] < 3


def test_the_arm_swings_up_as_planned(capsys):
    pytest.importorskip("casadi", reason="CasADi is not installed: it is in the dev extra")
    text = printed("mpc_casadi", capsys)
    assert numbers(text.splitlines()[-1])[0] < 1e-6


def test_an_arm_is_identified_from_its_log(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    met, near, *file = printed("identify_from_log", capsys).splitlines()
    assert numbers(met)[1] < 1
    assert numbers(near)[0] >= 0.95 * numbers(near)[1]
    if file:  # cvxpy is installed
        model, found = (armlet.load(x) for x in ("puma560", "identified.urdf"))
        assert found.joint_names == model.joint_names
        assert numbers(file[0])[0] < 1


def test_a_payload_is_weighed():
    example = import_module("payload")
    found = example.weigh(seconds=4.0)
    assert abs(found.mass - example.MASS) < 5 * found.deviation
    assert abs(found.com - example.CENTRE).max() < 1e-3


@pytest.mark.long
def test_a_derivative_tells_where_a_payload_takes_the_arm(capsys):
    _, small, _, corrected = printed("sensitivity", capsys).splitlines()
    assert numbers(small)[-1] < 2
    assert numbers(corrected)[2] < numbers(corrected)[1] / 5


def test_a_policy_improves():
    environment = import_module("learning_environment")
    rewards = environment.improve(environment.Reach(200), rounds=6)
    assert rewards[-1] > 0.8 * rewards[0]  # both are below zero


def test_friction_is_learned_beside_the_model():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    first, last = import_module("residual_torch").learn(rounds=100)
    assert last < first / 3


@needs("gcc")
def test_code_for_a_microcontroller_passes_its_own_test(tmp_path):
    example = import_module("microcontroller")
    assert "malloc" not in example.project(tmp_path / "scara")
    text, size = example.compile_and_run(tmp_path / "scara")
    assert "passed: scara_inverse_dynamics" in text
    assert size < 4096


def test_a_formulation_of_your_own_is_counted(capsys):
    assert "carried_weights" in printed("own_formulation", capsys)
    del armlet.FORMULATIONS["gravity_torque"]["carried_weights"]
