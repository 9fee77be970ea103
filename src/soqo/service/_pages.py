"""The pages: all plants, one plant, the API, and the request for a token. They work without the network."""

from __future__ import annotations

import gzip
import re
from collections.abc import Awaitable, Callable
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template
from typing import Any
from urllib.parse import parse_qs

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from soqo._foundation.optional_imports import require_extra
from soqo._version import __version__
from soqo.service._api import access_of, state_of
from soqo.service._api_page import api_page
from soqo.service._gate import COOKIE
from soqo.service._live import MAX_LISTED, fleet_view, has_room, plant_view, stream_fleet, stream_plant
from soqo.service._plant import Plant
from soqo.service._problems import problem

_COOKIE_SECONDS = 30 * 24 * 3600


def make_page_router() -> APIRouter:
    """Return the routes of pages, their files and their streams."""
    router = APIRouter(include_in_schema=False)
    routes: dict[str, Callable[..., Awaitable[Response]]] = {
        "/": show_fleet,
        "/plants/{name}/live": show_plant,
        "/stream": follow_fleet,
        "/plants/{name}/stream": follow_plant,
        "/docs": show_api,
        "/login": show_login,
        "/static/{file}": send_file,
    }
    for path, function in routes.items():
        router.add_api_route(path, function, methods=["GET"])
    router.add_api_route("/login", log_in, methods=["POST"])
    router.add_api_route("/logout", log_out, methods=["POST"])
    return router


def render(title: str, body: str, script: str = "") -> HTMLResponse:
    """Return a page."""
    tag = f'{_no_map_styles()}<script src="/static/plotly.js" defer></script>' if script == "plant" else ""
    tag += f'<script src="/static/live.js" defer data-page="{script}"></script>' if script else ""
    text = _template("page.html").substitute(title=escape(title), scripts=tag, body=body, version=__version__)
    return HTMLResponse(text, headers={"Cache-Control": "no-store"})


@cache
def _template(file: str) -> Template:
    return Template((files("soqo.service") / "templates" / file).read_text(encoding="utf-8"))


# ---- all plants ------------------------------------------------------------------------------------------------------


async def show_fleet(request: Request, after: str = "") -> Response:
    """Show all plants."""
    access = access_of(request)
    access.require("read", access.plants[0] if access.plants else None)
    rows = await fleet_view(state_of(request), access, after[:64])
    more = f'<p><a href="/?after={escape(rows[-1]["name"])}">Further plants</a></p>' if len(rows) == MAX_LISTED else ""
    if not rows:
        hint = (
            "<p class='card'>There is no plant yet. Create one with <code>POST /plants</code> "
            "(<a href='/docs'>API</a>), with <code>soqo.Client(url).create(...)</code>, or start the server with "
            "<code>--demo</code> to see a simulated one.</p>"
        )
        return render("Plants · soqo", f"<h1>Plants</h1>{hint}", "fleet")
    head = "".join(
        f'<th scope="col"{kind}>{title}</th>'
        for title, kind in (
            ("Plant", ""),
            ("State", ""),
            ("Round", ' class="number"'),
            ("Saving against following v", ' class="number"'),
            ("Alarms", ' class="number"'),
            ("Missed readings", ' class="number"'),
            ("Last call", ' class="number"'),
        )
    )
    body = "".join(_fleet_row(row) for row in rows)
    return render(
        "Plants · soqo",
        f"""<h1>Plants</h1>
<p id="summary" class="finding" role="status"></p>
<div class="card"><table class="fleet"><thead><tr>{head}</tr></thead><tbody id="plants">{body}</tbody></table></div>
{more}""",
        "fleet",
    )


def _fleet_row(row: dict[str, Any]) -> str:
    name = escape(row["name"])
    cells = "".join(
        f'<td data-field="{field}" data-label="{label}"{kind}></td>'
        for field, label, kind in (
            ("saving", "Saving", ' class="number"'),
            ("alarms", "Alarms", ' class="number"'),
            ("missed", "Missed readings", ' class="number"'),
            ("last_call", "Last call", ' class="number"'),
        )
    )
    return (
        f'<tr data-plant="{name}"><th scope="row"><a href="/plants/{name}">{name}</a></th>'
        f'<td data-field="state" data-label="State"><span class="state {row["state"]}">{row["state"]}</span></td>'
        f'<td data-field="round" data-label="Round" class="number">{row["round"]}</td>{cells}</tr>'
    )


async def follow_fleet(request: Request) -> Response:
    """Stream how all plants are."""
    access, state = access_of(request), state_of(request)
    access.require("read", access.plants[0] if access.plants else None)
    if not has_room(state):
        return problem(503, "too many live pages are open", "unavailable", {"Retry-After": "10"})
    return _stream(stream_fleet(state, access))


# ---- one plant -------------------------------------------------------------------------------------------------------


async def show_plant(request: Request, name: str) -> Response:
    """Show a plant."""
    access_of(request).require("read", name)
    state = state_of(request)
    view = await state.look(name, plant_view)
    actuators = await state.look(name, _actuators)
    policy = await state.look(name, lambda plant: repr(plant.arguments["policy"]))
    rows = "".join(
        f'<tr data-low="{_limit(one["low"])}" data-high="{_limit(one["high"])}" data-unit="{escape(one["unit"])}">'
        f'<th scope="row">{escape(one["name"])}</th>'
        f'<td class="number" data-field="x"></td><td class="number" data-field="v"></td>'
        f'<td class="number">{_range(one)}</td><td class="number" data-field="offset"></td>'
        f'<td class="number" data-field="curvature"></td></tr>'
        for one in actuators
    )
    status = view["status"]
    values = {name: status[name] for name in ("name", "state", "round", "missed", "alarms")}
    body = _template("plant.html").substitute(
        {key: escape(str(value)) for key, value in values.items()},
        explain=escape(view["explain"]),
        policy=escape(policy),
        rows=rows,
    )
    return render(f"{name} · soqo", body, "plant")


def _actuators(plant: Plant) -> list[dict[str, Any]]:
    """Return the name, the unit and the limits of each actuator."""
    found = []
    for k in range(plant.actuators.dim):
        limits = {name: _entry(plant.settings[name], k) for name in ("low", "high")}
        found.append({"name": plant.actuators.name(k), "unit": plant.actuators.unit(k), **limits})
    return found


def _entry(limit: Any, k: int) -> float | None:
    found: float | None = limit[k] if isinstance(limit, list) else limit
    return found


def _limit(value: float | None) -> str:
    return "" if value is None else repr(value)


def _range(actuator: dict[str, Any]) -> str:
    low, high, unit = actuator["low"], actuator["high"], escape(actuator["unit"])
    if low is None and high is None:
        return "none"
    return (
        f"{'no limit' if low is None else f'{low:g}'} to {'no limit' if high is None else f'{high:g}'} {unit}".rstrip()
    )


async def follow_plant(request: Request, name: str) -> Response:
    """Stream what is new about a plant."""
    access_of(request).require("read", name)
    state = state_of(request)
    stored = await state.find(name)
    if not has_room(state):
        return problem(503, "too many live pages are open", "unavailable", {"Retry-After": "10"})
    last = request.headers.get("last-event-id", "")
    return _stream(stream_plant(state, name, stored.id, int(last) if last.isdigit() and len(last) < 16 else 0))


def _stream(messages: Any) -> Response:
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(messages, media_type="text/event-stream", headers=headers)


# ---- tokens, the API, files ------------------------------------------------------------------------------------------


async def show_login() -> Response:
    """Ask for a token."""
    return _login_page("")


def _login_page(message: str, status: int = 200) -> Response:
    alert = f'<p class="alert" role="alert">{escape(message)}</p>' if message else ""
    page = render(
        "Token · soqo",
        f"""<h1>A token is needed</h1>{alert}
<form method="post" action="/login" class="card">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button>Show the plants</button>
<p class="note">An administrator creates one with <code>soqo token create NAME --scope read</code>. It is kept in a
cookie of this browser, which can look and change nothing.</p></form>""",
    )
    page.status_code = status
    return page


async def log_in(request: Request) -> Response:
    """Keep a token in a cookie, which pages use to look."""
    tokens = state_of(request).tokens
    client = request.client.host if request.client else "local"
    secret = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=5).get("token", [""])[0]
    await run_sync(tokens.reload)
    if tokens.find(secret.strip()) is None:
        if not tokens.failures.allow(client):
            return problem(429, "too many wrong tokens: wait a minute", "rate", {"Retry-After": "60"})
        return _login_page("The token is not known, or was revoked.", 401)
    answer = RedirectResponse("/", 303)
    secure = request.url.scheme == "https"
    answer.set_cookie(
        COOKIE, secret.strip(), max_age=_COOKIE_SECONDS, httponly=True, samesite="strict", secure=secure, path="/"
    )
    return answer


async def log_out() -> Response:
    """Forget the cookie."""
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(COOKIE, path="/")
    return answer


async def show_api(request: Request) -> Response:
    """Show the API, from its OpenAPI document."""
    return render("API · soqo", api_page(request.app.openapi()))


async def send_file(request: Request, file: str) -> Response:
    """Send a style or a script."""
    if file not in _FILES:
        return problem(404, "there is no such file", "not-found")
    content, tag = await run_sync(_compressed, file)
    headers = {"ETag": tag, "Cache-Control": "no-cache", "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=_FILES[file], headers=headers)


_FILES = {"live.css": "text/css", "live.js": "text/javascript", "plotly.js": "text/javascript"}


def _plotly() -> str:
    text: str = require_extra("plotly.offline", "service").get_plotlyjs()
    return text


@cache
def _no_map_styles() -> str:
    """Return elements whose ids keep Plotly from adding the style sheets of its maps, which the policy forbids."""
    found = sorted(set(re.findall(r'getElementById\("([0-9a-f]{64})"\)', _plotly())))
    return "".join(f'<meta id="{one}">' for one in found)


@cache
def _compressed(file: str) -> tuple[bytes, str]:
    """Return a file, compressed, and its tag."""
    folder = files("soqo.service") / "static"
    text = _plotly() if file == "plotly.js" else (folder / file).read_text(encoding="utf-8")
    content = gzip.compress(text.encode(), mtime=0)
    return content, f'"{sha256(content).hexdigest()[:16]}"'
