"""docs/_walk.py does what pages say, in their order."""

import _walk

PAGE = """# A page

Text.

    echo 40 > number

## More

```python
with open("number") as file:
    number = int(file.read())
```

and

```python
assert number == 40
```

    echo $((2 + 40)) > number
"""


def test_commands_and_python_are_done_in_their_order(tmp_path, monkeypatch, capsys):
    (tmp_path / "page.md").write_text(PAGE)
    monkeypatch.setattr(_walk, "DOCS", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert [step.kind for step in _walk.steps("page")] == ["shell", "python", "python", "shell"]
    _walk.follow(["page"])
    assert (tmp_path / "number").read_text() == "42\n"
    lines = capsys.readouterr().out.splitlines()
    assert [line.rpartition("  ")[2] for line in lines] == ["page: A page", "page: More"]


def test_the_walk_goes_from_the_installation_to_a_report():
    done = [step.text for page in ("install", *_walk.PAGES) for step in _walk.steps(page)]
    text = "\n".join(done)
    for step in (
        'pip install ".[',
        "robot.inverse_dynamics(",
        'armlet.load("arm.urdf")',
        "gcc ",
        "armlet simulate",
        "--plot run.html",
        "armlet.identify(",
        "report.html",
    ):
        text = text.partition(step)[2]
        assert text, f"{step} is missing, or comes before the step that it needs"
