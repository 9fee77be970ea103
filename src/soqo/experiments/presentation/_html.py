"""Pieces of HTML: text with the paper's symbols, numbers, tables, folds and the terms that a page explains."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from string import Template

from soqo._simulation.summary import format_short
from soqo.experiments.presentation._style import render_color_rules, typeset


def read_resource(name: str) -> str:
    """Return the text of a file of this package, so that other pages look alike.

    Parameters
    ----------
    name : str
        ``"page.html"``, the frame with the places title, refresh, style, body and scripts, ``"page.css"``, or a script.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> read_resource("page.html").splitlines()[0]
    '<!DOCTYPE html>'
    """
    return files("soqo.experiments.presentation").joinpath(name).read_text(encoding="utf-8")


def render_frame(title: str, body: str, *, colors: Iterable[str] = (), refresh: str = "", scripts: str = "") -> str:
    """Return a whole page from HTML, with the colors of its curves for light and dark pages."""
    style = read_resource("page.css").replace("/* colors */", render_color_rules(colors))
    frame = Template(read_resource("page.html"))
    return frame.substitute(title=title, refresh=refresh, style=style, body=body, scripts=scripts)


# ---- text and numbers ----------------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """Return a text as HTML with the paper's symbols, also for attributes."""
    return escape(typeset(text), quote=True)


def render_text(text: str) -> str:
    """Return a text as HTML, with the paper's symbols, powers above and indices below the line.

    Examples
    --------
    >>> render_text("R_val grows as T^(1/2), and |eta|_1 & T^p do not")
    'R<sub>val</sub> grows as T<sup>1/2</sup>, and |η|<sub>1</sub> &amp; T<sup>p</sup> do not'
    """
    shown = re.sub(r"\bsqrt\(", "√(", escape(typeset(text)))
    shown = re.sub(r"\^\((-?[\w/]+)\)|\^(-?\w+)", lambda match: f"<sup>{match[1] or match[2]}</sup>", shown)
    return re.sub(r"(?<=[RCxv|])_(val|basis|[\dt*])(?![\w/])", r"<sub>\1</sub>", shown)


def render_title(title: str) -> str:
    """Return a title as HTML, capitalized and without line breaks inside of equations.

    Examples
    --------
    >>> render_title("small steps, eta = 1")
    'Small steps, η&nbsp;=&nbsp;1'
    """
    # str.capitalize would change names such as SCaLE.
    return plain(title[:1].upper() + title[1:]).replace(" = ", "&nbsp;=&nbsp;")


def format_number(value: float) -> str:
    """Format a number in the style of the axes.

    Examples
    --------
    >>> [format_number(value) for value in (0.25, -1.23e6, float("inf"))]
    ['0.25', '−1.23·10<sup>6</sup>', '∞']
    """
    if not math.isfinite(value):
        return "∞"
    digits, _, exponent = format_short(value).replace("-", "\N{MINUS SIGN}").partition("e")
    return f"{digits}·10<sup>{exponent}</sup>" if exponent else digits


def format_interval(low: float, high: float) -> str:
    """Format the ends of an interval."""
    return f"{format_number(low)} to {format_number(high)}"


def common_unit(values: Iterable[float]) -> tuple[float, str]:
    """Return the power of ten in which several numbers are short, if none is far above the smallest, and words.

    Examples
    --------
    >>> common_unit([1.4e5, 4.6e6]), common_unit([2.0, 3e9]), common_unit([0.2, 12.0])
    ((100000.0, ', in units of 10<sup>5</sup>'), (1.0, ''), (1.0, ''))
    """
    sizes = [abs(value) for value in values if math.isfinite(value) and value]
    if not sizes or max(sizes) >= 1e3 * min(sizes) or max(sizes) < 1e3:
        return 1.0, ""
    power = math.floor(math.log10(min(sizes)))
    return 10.0**power, f", in units of 10<sup>{power}</sup>"


def pluralize(count: int, noun: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> pluralize(1, "setting"), pluralize(5, "setting")
    ('1 setting', '5 settings')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


def make_anchor(kind: str, name: str) -> str:
    """Return an id that a link can refer to."""
    return f"{kind}-{re.sub(r'[^A-Za-z0-9_.-]', '-', name)}"


# ---- tables, lists and folds ---------------------------------------------------------------------------------------


def render_row(head: str, cells: Iterable[str], *, kind: str = "", numbers: bool = False) -> str:
    """Return a row of a table from HTML."""
    opening = '<td class="number">' if numbers else "<td>"
    listed = "".join(f"{opening}{cell}</td>" for cell in cells)
    mark = f' class="{kind}"' if kind else ""
    return f'<tr{mark}><th scope="row">{head}</th>{listed}</tr>'


def render_table(kind: str, caption: str, heads: Iterable[str], rows: Iterable[str], *, label: str = "") -> str:
    """Return a table from HTML, in a box that scrolls; the label is for screen readers, the caption by default."""
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    body = "\n".join(rows)
    told = label or re.sub(r"<[^>]+>", "", caption)
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{told}"><table class="{kind}"><caption>{caption}'
        f"</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def render_facts(facts: Mapping[str, str], kind: str = "") -> str:
    """Return a list of names with what they are, from HTML; empty ones are left out."""
    listed = "\n".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts.items() if value)
    return f"<dl{kind}>\n{listed}\n</dl>"


def render_fold(summary: str, content: str, *, kind: str = "fold", anchor: str = "") -> str:
    """Return content that a reader can unfold, from HTML."""
    place = f' id="{anchor}"' if anchor else ""
    return f'<details class="{kind}"{place}><summary>{summary}</summary>\n{content}\n</details>'


# ---- terms ---------------------------------------------------------------------------------------------------------


@cache
def _terms() -> Mapping[str, str]:
    """Return the words of the page that the paper does not have, or that a reader may want to look up."""
    return tomllib.loads(read_resource("terms.toml"))


def render_glossary() -> str:
    """Return a card with all terms."""
    items = "\n".join(
        f'<div id="{_term_anchor(name)}"><dt>{escape(name)}</dt><dd>{render_text(text)}</dd></div>'
        for name, text in _terms().items()
    )
    return f'<section id="terms" class="card">\n<h2>Terms</h2>\n<dl class="terms">\n{items}\n</dl>\n</section>'


def render_term(name: str, shown: str | None = None) -> str:
    """Return a link to a term, with its meaning as a tooltip.

    Examples
    --------
    >>> render_term("soqo", "soqo's")
    '<a class="term" href="#term-soqo" title="The library that computed this page.">soqo&#x27;s</a>'
    """
    return f'<a class="term" href="#{_term_anchor(name)}" title="{plain(_terms()[name])}">{escape(shown or name)}</a>'


def link_terms(html: str, names: Sequence[str]) -> str:
    """Return HTML in which the first use of each of some terms is a link."""
    for name in names:
        html = re.sub(rf"\b{re.escape(name)}\b", lambda match: render_term(match[0]), html, count=1)
    return html


def _term_anchor(name: str) -> str:
    return f"term-{re.sub(r'[^a-z0-9]+', '-', name.lower())}"
