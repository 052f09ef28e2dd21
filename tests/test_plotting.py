"""The look of figures, and the files they are saved as."""

import re
import shutil
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from support.browser import CHROMIUM, Browser

from armlet.errors import ArmletError
from armlet.plotting import (
    COLOURS,
    DARK,
    FAINT,
    GRID,
    INK,
    PAPER,
    check,
    figure_html,
    graph_objects,
    page,
    panels,
    save,
    with_theme,
)

ROOT = Path(__file__).parents[1]
THEMES = {"light": lambda colour: colour, "dark": DARK.__getitem__}
# How colours look to people who are colour-blind (Machado, Oliveira and Fernandes 2009).
SIGHT = {
    "all colours": np.eye(3),
    "protanopia": np.array(
        [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]]
    ),
    "deuteranopia": np.array(
        [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]]
    ),
    "tritanopia": np.array(
        [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]]
    ),
}


def linear(colour):
    """Red, green and blue as amounts of light."""
    x = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)


def lab(light):
    """Coordinates in which distances are those that people see (CIE 1976)."""
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    x = to_xyz @ np.clip(light, 0, 1) / np.array([0.9505, 1, 1.089])
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(a, b):
    """How much lighter one colour is than the other, as web pages are judged (WCAG 2)."""
    low, high = sorted(np.array([0.2126, 0.7152, 0.0722]) @ linear(x) for x in (a, b))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("theme", THEMES)
def test_any_two_curves_can_be_told_apart_by_people_who_are_colour_blind(theme, sight):
    seen = [lab(SIGHT[sight] @ linear(THEMES[theme](colour))) for colour in COLOURS]
    assert min(np.linalg.norm(x - y) for x, y in combinations(seen, 2)) > 13


@pytest.mark.parametrize("theme", THEMES)
def test_text_and_curves_stand_out_from_the_paper(theme):
    def against_paper(colour):
        return contrast(THEMES[theme](colour), THEMES[theme](PAPER))

    assert against_paper(INK) > 10
    assert against_paper(FAINT) > 4.5
    assert min(map(against_paper, COLOURS)) > 2.2
    assert 1.1 < against_paper(GRID) < 2


def test_looks_are_set_in_one_file():
    """Colours and templates of Plotly are written nowhere else."""
    drawn = [
        path
        for folder in ("src/armlet", "examples", "docs", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
    ]
    for path in drawn:
        text = path.read_text(encoding="utf-8")
        if {"view", "plotting.py"}.isdisjoint(path.parts):
            assert not re.search(r'"#[0-9a-f]{6}"|template="plotly|"black"', text), path
        if path.name not in ("plotting.py", "extras.py"):
            assert not re.search(r"write_html\(|plotly\.subplots|write_fig", text), path


# ------------------------------------------------------------------ files


@pytest.fixture
def figure():
    pytest.importorskip("plotly", reason="plotly is not installed: it is in the dev extra")
    found = panels(2, 1, height=400, title="a </script> title")
    line = {"color": COLOURS[0]}
    found.add_trace(graph_objects().Scatter(x=[0, 1], y=[1, 2], line=line, name="a"), 1, 1)
    found.add_hline(y=1, line_color=COLOURS[3], row=2, col=1)
    return found


def test_the_dark_figure_has_no_light_colour(figure):
    dark = with_theme(figure, "dark")
    assert not [colour for colour in DARK if colour in dark.to_json()]
    assert dark.data[0].line.color == DARK[COLOURS[0]]
    assert len(dark.data) == len(figure.data)
    assert with_theme(figure, "light") is figure
    with pytest.raises(ArmletError, match="theme is 'grey': expected light or dark"):
        with_theme(figure, "grey")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("run.pdf", r"run.pdf ends in '.pdf': a figure is saved as .html, .png, .svg"),
        ("run", r"run ends in '': a figure is saved as"),
        ("none/run.html", "none is no folder"),
        ("folder.html", "this is a folder"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_any_work(tmp_path, name, message):
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(ArmletError, match=message):
        check(tmp_path / name)


@pytest.mark.parametrize(("package", "name"), [("plotly", "x.html"), ("kaleido", "x.png")])
def test_a_missing_package_is_named_before_any_work(monkeypatch, tmp_path, package, name):
    monkeypatch.setitem(sys.modules, package, None)
    message = rf'{package} is needed for that.*pip install "armlet\[plot\]"'
    with pytest.raises(ArmletError, match=message):
        check(tmp_path / name)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_a_page_is_light_or_dark_as_its_reader_has_it(figure, tmp_path):
    pytest.importorskip("websockets", reason="websockets, which drives the browser, is missing")
    save(figure, tmp_path / "page.html")
    with Browser((tmp_path / "page.html").as_uri()) as shown:
        shown.until("document.querySelectorAll('.main-svg').length > 0")
        for theme, colour in (("dark", DARK[COLOURS[0]]), ("light", COLOURS[0])):
            media = [{"name": "prefers-color-scheme", "value": theme}]
            shown.call("Emulation.setEmulatedMedia", features=media)
            rgb = ", ".join(str(int(colour[k : k + 2], 16)) for k in (1, 3, 5))
            line = "document.querySelector('.scatterlayer path.js-line').style.stroke"
            shown.until(f"{line} === 'rgb({rgb})'")
            paper = THEMES[theme](PAPER)
            rgb = ", ".join(str(int(paper[k : k + 2], 16)) for k in (1, 3, 5))
            shown.until(f"getComputedStyle(document.body).backgroundColor === 'rgb({rgb})'")
        assert shown.run("document.title") == "a </script> title"
        assert shown.errors == []
        assert [url for url in shown.requests if url.startswith(("http", "ws"))] == []


def test_a_page_holds_several_figures_and_the_library_once(figure):
    text = page("two", figure_html(figure) + figure_html(figure))
    assert text.count('class="figure"') == 2
    assert text.count("* plotly.js v") == 1
    assert not re.search(r"""<(?:script|link)[^>]*(?:src|href)=["']https?:""", text)


@pytest.mark.parametrize(("name", "start"), [("x.png", b"\x89PNG"), ("x.svg", b"<svg")])
@pytest.mark.parametrize("theme", THEMES)
def test_a_picture_is_drawn_in_either_theme(figure, tmp_path, name, start, theme):
    pytest.importorskip("kaleido", reason="kaleido is not installed: it is in the plot extra")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    try:
        save(figure, tmp_path / name, theme=theme)
    except ArmletError as error:
        pytest.skip(f"kaleido cannot run the browser here: {error.__cause__}")
    assert (tmp_path / name).read_bytes().startswith(start)


def test_a_picture_without_a_browser_says_what_to_do(figure, tmp_path, monkeypatch):
    pytest.importorskip("kaleido", reason="kaleido is not installed: it is in the plot extra")
    monkeypatch.setenv("BROWSER_PATH", shutil.which("false") or "/nonexistent")
    with pytest.raises(
        ArmletError, match=r"x.svg: cannot be written: kaleido draws svg files with"
    ):
        save(figure, tmp_path / "x.svg")
    assert not (tmp_path / "x.svg").exists()
