"""The pages: all plants, one plant, the API, and the request for a token. They work without the network."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template
from typing import Any
from urllib.parse import parse_qs

from anyio.to_thread import run_sync
from starlette.responses import HTMLResponse, RedirectResponse, Response

from soqo._foundation.optional_imports import require_extra
from soqo._version import __version__
from soqo.service._api import ROUTES
from soqo.service._gate import COOKIE, client_of
from soqo.service._live import fleet_view, follow_fleet, follow_plant, plant_view
from soqo.service._plants import Plant
from soqo.service._problems import RequestError
from soqo.service._routes import Request, Route, field_type, openapi_document
from soqo.service._schemas import PlantPage

_COOKIE_SECONDS = 30 * 24 * 3600

_MAX_LISTED = 200
"""The number of plants on a page."""


def _render(title: str, template: str, markup: Mapping[str, str], script: str = "", status: int = 200) -> HTMLResponse:
    """Return a page, whose template is filled with markup."""
    tags = f'{_no_map_styles()}<script src="/static/plotly.js" defer></script>' if script == "plant" else ""
    tags += f'<script src="/static/live.js" defer data-page="{script}"></script>' if script else ""
    body = _template(template).substitute(markup)
    text = _template("page").substitute(title=escape(title), scripts=tags, body=body, version=__version__)
    return HTMLResponse(text, status, headers={"Cache-Control": "no-store"})


@cache
def _template(name: str) -> Template:
    return Template((files("soqo.service") / "templates" / f"{name}.html").read_text(encoding="utf-8"))


def _fill(template: str, rows: list[dict[str, Any]]) -> str:
    """Return a template for each row, with its values as texts."""
    return "".join(
        _template(template).substitute({key: escape(str(value)) for key, value in row.items()}) for row in rows
    )


# ---- plants ----------------------------------------------------------------------------------------------------------


async def show_fleet(request: Request) -> HTMLResponse:
    """Show all plants."""
    page = PlantPage(after=request.query.after, limit=_MAX_LISTED)
    rows = await fleet_view(request, page)
    more = f'<p><a href="/?after={escape(rows[-1]["name"])}">Further plants</a></p>' if len(rows) == _MAX_LISTED else ""
    if not rows:
        return _render("Plants · soqo", "no_plants", {}, "fleet")
    return _render("Plants · soqo", "fleet", {"rows": _fill("fleet_row", rows), "more": more}, "fleet")


async def show_plant(request: Request) -> HTMLResponse:
    """Show a plant."""
    shown = await request.server.plants.look(request.name, _facts)
    rows = _fill("plant_row", shown.pop("rows"))
    values = {key: escape(str(value)) for key, value in shown.items()}
    return _render(f"{request.name} · soqo", "plant", {**values, "rows": rows}, "plant")


def _facts(plant: Plant) -> dict[str, Any]:
    """Return what the page of a plant holds before its stream begins."""
    view, status = plant_view(plant), plant.status()
    rows = []
    for k in range(plant.actuators.dim):
        limits = [status.settings[name] for name in ("low", "high")]
        low, high = (limit[k] if isinstance(limit, list) else limit for limit in limits)
        row = {"name": plant.actuators.name(k), "unit": plant.actuators.unit(k)}
        ends = {name: "" if limit is None else repr(limit) for name, limit in (("low", low), ("high", high))}
        rows.append({**row, **ends, "range": _range(low, high, row["unit"])})
    known = {name: getattr(status, name) for name in ("name", "state", "round", "missed", "alarms")}
    return {**known, "explain": view["explain"], "policy": repr(plant.arguments["policy"]), "rows": rows}


def _range(low: float | None, high: float | None, unit: str) -> str:
    if low is None and high is None:
        return "none"
    ends = " to ".join("no limit" if limit is None else f"{limit:g}" for limit in (low, high))
    return f"{ends} {unit}".rstrip()


# ---- the API ---------------------------------------------------------------------------------------------------------


async def show_api(_: Request) -> HTMLResponse:
    """Show the API, from its OpenAPI document."""
    document = openapi_document(ROUTES)
    operations = (
        _operation(method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    )
    return _render("API · soqo", "api", {"version": __version__, "api": "\n".join(operations)})


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    """Return the section of a route: its summary, the rest of its description, its fields and its statuses."""
    summary = operation["summary"]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    query = {one["name"]: one["schema"] for one in operation["parameters"] if one["in"] == "query"}
    texts = {
        "method": method,
        "path": path,
        "summary": summary,
        "description": operation["description"].removeprefix(summary).lstrip(". "),
        "statuses": ", ".join(operation["responses"]),
    }
    tables = _fields("Body", body.get("properties", {}), body.get("required", ())) + _fields("Query", query)
    return _template("api_operation").substitute({key: escape(text) for key, text in texts.items()}, tables=tables)


def _fields(title: str, fields: Mapping[str, dict[str, Any]], required: Sequence[str] = ()) -> str:
    """Return a table of fields with their types."""
    rows = [
        {
            "name": name,
            "required": " (required)" if name in required else "",
            "type": field_type(field),
            "description": field.get("description", ""),
        }
        for name, field in fields.items()
    ]
    table = f"<table><caption>{title}</caption><tbody>{_fill('api_field', rows)}</tbody></table>"
    return f'<div class="scroll">{table}</div>' if rows else ""


# ---- tokens ----------------------------------------------------------------------------------------------------------


async def show_login(_: Request) -> HTMLResponse:
    """Ask for a token."""
    return _render("Token · soqo", "login", {"alert": ""})


async def log_in(request: Request) -> Response:
    """Keep a token in a cookie, which pages use to look."""
    try:
        secret = parse_qs(request.body.decode("utf-8", "replace"), max_num_fields=5).get("token", [""])[0].strip()
        await request.server.tokens.find(secret, client_of(request.scope))
    except ValueError:
        raise RequestError(422, "argument", "the form has too many fields") from None
    except RequestError as error:
        if error.status != 401:
            raise
        alert = '<p class="alert" role="alert">The token is not known, or was revoked.</p>'
        return _render("Token · soqo", "login", {"alert": alert}, status=401)
    answer = RedirectResponse("/", 303)
    secure = request.scope["scheme"] == "https"
    answer.set_cookie(COOKIE, secret, _COOKIE_SECONDS, httponly=True, samesite="strict", secure=secure)
    return answer


async def log_out(_: Request) -> Response:
    """Forget the cookie."""
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(COOKIE)
    return answer


# ---- files -----------------------------------------------------------------------------------------------------------


async def send_file(request: Request) -> Response:
    """Send a style or a script."""
    if request.file not in _FILES:
        raise RequestError(404, "not-found", "there is no such file")
    content, tag = await run_sync(_compressed, request.file)
    headers = {"ETag": tag, "Cache-Control": "no-cache", "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    if request.headers.get(b"if-none-match") == tag.encode():
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=_FILES[request.file], headers=headers)


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


_FORM = b"application/x-www-form-urlencoded"

PAGES = (
    Route("GET", "/plants/{name}", show_plant, is_page=True),
    Route("GET", "/plants/{name}/live", show_plant),
    Route("GET", "/plants/{name}/stream", follow_plant),
    Route("GET", "/", show_fleet, any_plant=True, query=PlantPage),
    Route("GET", "/stream", follow_fleet, any_plant=True),
    Route("GET", "/docs", show_api, any_plant=True),
    Route("GET", "/static/{file}", send_file, scope=None),
    Route("GET", "/login", show_login, scope=None),
    Route("POST", "/login", log_in, scope=None, content_type=_FORM),
    Route("POST", "/logout", log_out, scope=None, content_type=_FORM),
)
