"""What `make screenshots` looks for in pages is found there, and not in pages that are well."""

import re

import pytest
from screenshots import look, picture, problems, served, show, visit
from support.browser import CHROMIUM, Browser

pytest.importorskip("websockets", reason="websockets, which drives the browser, is missing")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
LONG = "word" * 200
ROW = "<tr>" + "<td>cells</td>" * 60 + "</tr>"
BAD = {
    "error": ("<script>throw Error('broken')</script>", "console: .*broken"),
    "missing": ("<img src='none.png'>", "console: .*404"),
    "request": ("<img src='http://192.0.2.1/x.png'>", "request to http://192.0.2.1/x.png"),
    "wide": (f"<p>{LONG}</p>", "the page is [0-9]+ pixels wide"),
    "cut table": (f"<div style='overflow: hidden'><table>{ROW}</table></div>", "table .* is cut"),
    "cut code": (f"<pre style='overflow: hidden'>{LONG}</pre>", "pre .* is cut off"),
    "overlap": (
        "<p>first words</p><p style='margin-top: -2.2em'>others</p>",
        "'others' is on 'first words'",
    ),
}
GOOD = {
    "text": "<h1>A page</h1><p>with <b>text</b>, <code>code</code> and <sub>more</sub></p>",
    "table": f"<div style='overflow-x: auto'><table>{ROW}</table></div>",
    "code": f"<pre style='overflow: auto'><code>{LONG}</code></pre>",
}
DARK = "<style>@media (prefers-color-scheme: dark) { body { background: #222 } }</style><p>text</p>"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    for name, body in {**{k: x for k, (x, _) in BAD.items()}, **GOOD, "dark": DARK}.items():
        text = f"<!doctype html><link rel=icon href='data:,'><body>{body}"
        (folder / f"{name.replace(' ', '_')}.html").write_text(text)
    return folder


@pytest.fixture(scope="module")
def page(site):
    """What is wrong with a page of the site."""
    with served(site) as base, Browser("about:blank") as browser:

        def found(name, width=700, theme="light"):
            visit(browser, f"{base}{name.replace(' ', '_')}.html")
            show(browser, width, theme)
            return problems(browser, base, theme), browser

        yield found


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_found(page, name):
    found, _ = page(name)
    assert len(found) >= 1
    assert any(re.search(BAD[name][1], line) for line in found), found


@pytest.mark.parametrize("name", GOOD)
def test_pages_that_are_well_have_no_problems(page, name):
    assert page(name)[0] == []


def test_a_page_that_stays_light_is_found(page):
    assert page("text", theme="dark")[0] == ["the page is not dark"]
    assert page("dark", theme="dark")[0] == page("dark", theme="light")[0] == []


def test_pictures_are_as_wide_as_the_window_and_show_the_whole_page(page):
    _, browser = page("dark", width=400, theme="dark")
    assert browser.run("matchMedia('(prefers-color-scheme: dark)').matches")
    assert int.from_bytes(picture(browser, 400)[16:20]) == 400


def test_all_sizes_and_themes_are_looked_at(site, tmp_path):
    wrong = look(site, tmp_path, only="cut_code")
    assert sum("is cut off" in line for line in wrong) == 4
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        f"cut_code_{width}_{theme}.png" for width in (1400, 400) for theme in ("light", "dark")
    }
