"""The page that shows the API, from its OpenAPI document, without a script."""

from __future__ import annotations

from html import escape
from typing import Any


def api_page(document: dict[str, Any]) -> str:
    """Return the contents of the page.

    Parameters
    ----------
    document : dict
        The OpenAPI document.
    """
    parts = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parts.append(_operation(method.upper(), path, operation))
    return "\n".join(parts)


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    parameters = [one for one in operation.get("parameters", []) if one["in"] == "query"]
    tables = ""
    if body is not None:
        required = body.get("required", [])
        rows = [(name, field, name in required) for name, field in body["properties"].items()]
        tables += _table("Body", rows)
    if parameters:
        tables += _table("Query", [(one["name"], {**one["schema"], **one}, one.get("required")) for one in parameters])
    statuses = ", ".join(operation["responses"])
    return (
        f'<section class="card"><h2><span class="method">{method}</span> <code>{escape(path)}</code></h2>'
        f"<p><b>{escape(operation['summary'])}.</b> {escape(_rest(operation))}</p>{tables}"
        f"<p class='note'>Statuses: {statuses}</p></section>"
    )


def _rest(operation: dict[str, Any]) -> str:
    """Return the description without what the summary says already."""
    text: str = operation.get("description", "")
    return text.removeprefix(operation["summary"]).lstrip(". ")


def _table(title: str, rows: list[tuple[str, dict[str, Any], Any]]) -> str:
    cells = "".join(
        f"<tr><th scope='row'><code>{escape(name)}</code>{' (required)' if required else ''}</th>"
        f"<td>{escape(field_type(field))}</td><td>{escape(field.get('description', ''))}</td></tr>"
        for name, field, required in rows
    )
    return f"<div class='scroll'><table><caption>{title}</caption><tbody>{cells}</tbody></table></div>"


def field_type(field: dict[str, Any]) -> str:
    """Return the type of a field in words."""
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(field_type(one) for one in field["anyOf"] if one.get("type") != "null"))
    if "enum" in field:
        return " or ".join(map(repr, field["enum"]))
    kind = field.get("type", "value")
    if kind == "array" and "prefixItems" in field:
        return f"pair of {field_type(field['prefixItems'][0])}"
    if kind == "array":
        return f"list of {field_type(field['items'])}"
    return str(kind)
