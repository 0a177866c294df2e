"""The HTML of a report: page, sections, tables, figures and numbers. What is called text is escaped here."""

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def page(title: str, summary: str, facts: Mapping[str, Any], sections: Iterable[str]) -> str:
    """A whole page. The policy in its head forbids a browser to fetch anything."""
    style = files("sporadic.report").joinpath("style.css").read_text(encoding="utf-8")
    paragraphs = [escape(text.strip()) for text in summary.split("\n\n") if text.strip()]
    lead = "".join(f'<p class="{"lead" if not n else "more"}">{text}</p>\n' for n, text in enumerate(paragraphs))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
{lead}{_cards(facts)}</header>
<main>
{"".join(sections)}</main>
<footer>Written by sporadic {escape(version("sporadic"))}. All of it is in this one file: copy or print it.</footer>
</body>
</html>
"""


def _cards(facts: Mapping[str, Any]) -> str:
    cards = (
        f"<div><dt>{escape(str(what))}</dt><dd>{escape(_plain(fact))}</dd></div>\n" for what, fact in facts.items()
    )
    return f'<dl class="facts">\n{"".join(cards)}</dl>\n' if facts else ""


def section(heading: str, content: str) -> str:
    """A part of the page; one that has nothing to say is left out."""
    return f"<section>\n<h2>{escape(heading)}</h2>\n{content}</section>\n" if content else ""


def paragraph(text: str, kind: str = "text") -> str:
    return f'<p class="{kind}">{escape(text)}</p>\n'


def bullets(texts: Iterable[str]) -> str:
    return "<ul>\n" + "".join(f"<li>{escape(text)}</li>\n" for text in texts) + "</ul>\n"


def glossary(terms: Iterable[tuple[str, str]]) -> str:
    entries = (f"<dt>{escape(term)}</dt>\n<dd>{escape(meaning)}</dd>\n" for term, meaning in terms)
    return f'<dl class="glossary">\n{"".join(entries)}</dl>\n'


def commands(lines: Iterable[tuple[str, str]]) -> str:
    shown = (f"<i># {escape(why)}</i>\n{escape(command)}\n" for why, command in lines)
    return f"<pre><code>{''.join(shown)}</code></pre>\n"


def table(
    head: Sequence[str],
    rows: Iterable[tuple[str, Sequence[str]]],
    *,
    groups: Sequence[tuple[str, int]] = (),
    ours: str | None = None,
) -> str:
    """A table of cells in HTML, under a head and beside row names that are text.

    `groups` are headings over several columns each; the row named `ours` is set off.
    """
    above = "".join(f'<th scope="colgroup" colspan="{span}">{escape(text)}</th>' for text, span in groups)
    top = "".join(f'<th scope="col">{escape(text)}</th>' for text in head)
    body = ""
    for name, cells in rows:
        opening = '<tr class="ours">' if name == ours else "<tr>"
        body += f'{opening}<th scope="row">{escape(name)}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>\n'
    lines = (f"<tr>{line}</tr>\n" for line in (above, top) if line)
    return f'<div class="wide"><table>\n<thead>\n{"".join(lines)}</thead>\n<tbody>\n{body}</tbody>\n</table></div>\n'


def picture(figure: "Figure", caption: str) -> str:
    file = BytesIO()
    figure.savefig(file, format="png", dpi=144)
    image = base64.b64encode(file.getvalue()).decode()
    return (
        f'<figure>\n<div class="wide"><img src="data:image/png;base64,{image}" alt="{escape(caption)}"></div>\n'
        f"<figcaption>{escape(caption)}</figcaption>\n</figure>\n"
    )


# -- numbers -----------------------------------------------------------------------------------------------------------
def ranked(
    values: Sequence[float], show: Callable[[float], str], badness: Callable[[float], float] = lambda value: value
) -> list[str]:
    """Numbers as cells, the best of them (and what looks the same) in bold; a lone one is best of nothing."""
    shown = [show(value) for value in values]
    bad = [badness(value) if np.isfinite(value) else np.inf for value in values]
    if len(values) < 2 or not np.isfinite(min(bad)):
        return shown
    best = shown[int(np.argmin(bad))]
    return [f"<strong>{text}</strong>" if text == best else text for text in shown]


def decimals(value: float) -> str:
    return f"{value:.3f}".replace("-", "−") if np.isfinite(value) else "–"


def percent(share: float) -> str:
    return f"{100 * share:.0f}\u00a0%" if np.isfinite(share) else "–"


def significant(value: float) -> str:
    """Three digits that count, and thousands apart."""
    if not np.isfinite(value):
        return "–"
    return f"{value:,.0f}" if 1_000 <= abs(value) < 1e9 else f"{value:#.3g}".rstrip(".")


def _plain(fact: Any) -> str:
    return f"{fact:,}" if isinstance(fact, int) else str(fact)
