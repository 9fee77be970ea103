"""The page of a drive: one self-contained HTML file for light and dark color schemes, and the files beside it."""

from __future__ import annotations

import base64
import io
import os
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from soqo._foundation.figure_style import ThemeName, find_theme, theme_context
from soqo._simulation.result import package_versions
from soqo.experiments.presentation import read_resource, write_atomically, write_csv
from soqo.plants._contenders import ORACLE, TOLD_NOTHING
from soqo.plants._figures import draw_drive, policy_colors
from soqo.plants._result import Drive

THEMES: tuple[ThemeName, ThemeName] = ("light", "dark")

_LINKS = "".join(f'<li><a href="#{name.lower()}">{name}</a></li>' for name in ("Picture", "Costs", "About"))

_CAPTION = (
    "Left: the plant at one moment, and the position of its first actuator at the end of the first run. Right: what "
    "each policy costs on average, lost power (solid) and wear (light); bars that end with dots are cut."
)

_FOCUS = "GLIDE"
_RIVALS = {"FTM": "following v", "deadband": "a deadband", "interpolation 0.5": "interpolation"}
"""What the policy is compared with in the sentence at the top."""


def write_page(result: Drive, folder: str | os.PathLike[str], *, command: str = "") -> Path:
    """Write the page of a drive, the costs as CSV, and the picture in both themes (extra ``lab``).

    Parameters
    ----------
    result : Drive
        The result.
    folder : str or path-like
        The folder, which is created if it does not exist.
    command : str
        The command that made the result, for the page.

    Returns
    -------
    pathlib.Path
        The page, ``index.html``.

    Examples
    --------
    >>> import tempfile
    >>> from soqo import FTM
    >>> from soqo.plants import Quadratic, drive
    >>> result = drive(Quadratic([[1.0]]), {"FTM": FTM()}, rounds=5, seeds=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_page(result, folder).name
    'index.html'
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    pictures = {theme: _render(result, theme) for theme in THEMES}
    for theme, svg in pictures.items():
        write_atomically(place / f"picture-{theme}.svg", svg)
    header, rows = result.table()
    write_csv(place / "costs.csv", [header, *rows])
    return write_atomically(place / "index.html", _render_page(result, pictures, command))


def _render(result: Drive, theme: ThemeName) -> bytes:
    """Return the picture as SVG."""
    buffer = io.BytesIO()
    figure = draw_drive(result, theme=theme)
    with theme_context(find_theme(theme)):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def _render_page(result: Drive, pictures: dict[ThemeName, bytes], command: str) -> str:
    """Return the HTML of the page."""
    plant = result.plant
    hours = result.rounds * plant.round_minutes / 60.0
    runs = "one run" if len(result.seeds) == 1 else f"{len(result.seeds)} runs"
    length = f"{result.rounds:,} rounds of {plant.round_minutes:g} minutes ({hours / 24.0:.1f} days), {runs}"
    heading = escape(plant.title)
    style = files("soqo.plants").joinpath("page.css").read_text(encoding="utf-8")
    return Template(read_resource("page.html")).substitute(
        title=heading,
        refresh="",
        style=f"{read_resource('page.css')}\n{style}\n{_render_colors(result)}",
        body="\n".join(
            (
                f'<header class="top"><h1>{heading}</h1><nav aria-label="Contents"><ul>{_LINKS}</ul></nav></header>',
                f'<main id="main">\n<p class="finding">{_render_finding(result)}</p>',
                f'<section id="picture" class="card">\n<figure>\n{_render_picture(pictures, heading)}',
                f"<figcaption>{_CAPTION}</figcaption>\n</figure>\n</section>",
                '<section id="costs" class="card">\n<h2>What each policy costs</h2>',
                f'<div class="scroll">{_render_table(result, length)}</div>\n</section>',
                '<section id="about" class="card">\n<h2>About this page</h2>',
                f"<p>{escape(' '.join([plant.describe(result.conditions), *_describe_told(result)]))}</p>",
                f"<dl>\n{_render_facts(result, length, command)}\n</dl>\n</section>\n</main>",
            )
        ),
        scripts="",
    )


def _describe_told(result: Drive) -> list[str]:
    """Return what GLIDE is told about the plant, if GLIDE told nothing is beside it."""
    plant = result.plant
    if plant.trusted_distance is None or TOLD_NOTHING not in result:
        return []
    told = f"the cost is nearly quadratic up to |x - v| = {plant.trusted_distance:.2g} {plant.position_unit}"
    return [f"GLIDE is told that {told}{', and that v is the minimizer' if plant.v_is_minimizer else ''}."]


def _render_picture(pictures: dict[ThemeName, bytes], title: str) -> str:
    """Return the picture, in the colors that the reader prefers."""
    return (
        '<div class="scroll"><picture>\n'
        f'<source media="(prefers-color-scheme: dark)" srcset="{_data_address(pictures["dark"])}">\n'
        f'<img src="{_data_address(pictures["light"])}" alt="{title}: a map, costs, and positions over time">\n'
        "</picture></div>"
    )


def _render_finding(result: Drive) -> str:
    """Return the result in a sentence."""
    focus = _FOCUS if _FOCUS in result else result.names[0]
    total = result[focus].total
    text = f"{escape(focus)} costs {_format(total)} kW"
    if ORACLE in result and focus != ORACLE:
        percent = 100.0 * (total / result[ORACLE].total - 1.0)
        side = f"{abs(percent):.1f} % {'above' if percent >= 0.0 else 'below'}"
        text += f", {side} the benchmark that knows the shape of the cost"
    rivals = [f"{words} {_format(result[name].total)}" for name, words in _RIVALS.items() if name in result]
    return f"{text}; {', '.join(rivals)} kW." if rivals else f"{text}."


def _format(kilowatts: float) -> str:
    return f"{kilowatts:,.0f}" if kilowatts >= 100.0 else f"{kilowatts:,.2f}"


def _render_table(result: Drive, length: str) -> str:
    """Return the table of costs, with what each policy says about itself."""
    header, rows = result.table()
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = []
    for k, (row, words) in enumerate(zip(rows, result.explanations, strict=True)):
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        focus = ' class="focus"' if row[0] == _FOCUS else ""
        name = f'<th scope="row"><span class="swatch policy-{k}"></span>{escape(row[0])}</th>'
        body.append(f'<tr{focus}>{name}{cells}<td class="words">{escape(words)}</td></tr>')
    lines = "\n".join(body)
    return (
        f"<table><caption>Means over {escape(length)}; the same conditions and the same noise for all</caption>\n"
        f'<thead><tr>{head}<th scope="col" class="words">what it says at the end of the first run</th></tr></thead>\n'
        f"<tbody>\n{lines}\n</tbody></table>"
    )


def _render_facts(result: Drive, length: str, command: str) -> str:
    """Return the origin of the numbers, and links to files."""
    versions = ", ".join(f"{name} {version}" for name, version in package_versions().items())
    rows = [("Command", f"<code>{escape(command)}</code>")] if command else []
    rows += [
        ("Length", escape(length)),
        ("Seeds", ", ".join(map(str, result.seeds))),
        ("Plant", f"<code>{escape(repr(result.plant))}</code>"),
        ("Versions", escape(versions)),
        ("Files", ", ".join(f'<a href="{n}">{n}</a>' for n in ("costs.csv", "picture-light.svg", "picture-dark.svg"))),
    ]
    return "\n".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in rows)


def _render_colors(result: Drive) -> str:
    """Return the CSS with the colors of the policies."""
    light, dark = (
        " ".join(
            f".policy-{k} {{ background: {color}; }}"
            for k, color in enumerate(policy_colors(result.names, find_theme(theme)).values())
        )
        for theme in THEMES
    )
    return f"{light}\n@media (prefers-color-scheme: dark) {{ {dark} }}"


def _data_address(svg: bytes) -> str:
    """Return a picture as an address that a page can hold."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
