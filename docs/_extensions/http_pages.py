"""The reference of the HTTP API, from the OpenAPI document of the server."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from typing import Any

import httpx

from generated_pages import escape, heading, write
from soqo.service import create_app
from soqo.service._routes import field_type


def setup(app: Any) -> dict[str, bool]:
    """Write the page before the sources are read."""
    app.connect("builder-inited", lambda _: write_page())
    return {"parallel_read_safe": True, "parallel_write_safe": True}


async def read_document() -> dict[str, Any]:
    """Return the OpenAPI document, as a server would."""
    with tempfile.TemporaryDirectory() as folder:
        transport = httpx.ASGITransport(create_app(f"{folder}/plants.sqlite", require_token=False))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            document: dict[str, Any] = (await client.get("/openapi.json")).json()
    return document


def write_page() -> None:
    """Write a section for each request."""
    logging.getLogger("httpx").setLevel(logging.WARNING)
    document = asyncio.run(read_document())
    schemas = document["components"]["schemas"]
    parts = [
        heading("The HTTP API"),
        "Requests and answers are JSON. Where the server needs a token, send ``Authorization: Bearer TOKEN``. Errors "
        "are problem documents (RFC 9457), whose ``detail`` says what is wrong. The server has the same at ``/docs``, "
        "and for programs at ``/openapi.json``. :doc:`/how-to/serve-plants` shows the API in use.\n",
    ]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parts.append(_section(f"{method.upper()} {path}", operation, schemas))
    write("http", "\n".join(parts))


def _section(title: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    """Return what a request is for, its fields, the fields of the answer, and the statuses."""
    text = operation.get("description") or f"{operation['summary']}."
    parts = [heading(title, "-"), f"{escape(text)}\n"]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body is not None:
        parts.append(_fields("Body", body))
    query = [one for one in operation.get("parameters", []) if one["in"] == "query"]
    if query:
        fields = {one["name"]: {**one["schema"], **one} for one in query}
        parts.append(_fields("Query", {"properties": fields}))
    for answer in operation["responses"].values():
        schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
        named = schemas.get(schema.get("$ref", "").rpartition("/")[2])
        if named is not None and "properties" in named and "ValidationError" not in named["title"]:
            parts.append(_fields("Answer", named))
            break
    parts.append(f"Statuses: {', '.join(operation['responses'])}\n")
    return "\n".join(parts)


def _fields(title: str, schema: dict[str, Any]) -> str:
    """Return a table of fields with their types."""
    required = schema.get("required", [])
    rows = "\n".join(
        f"   * - ``{name}``{' (required)' if name in required and title == 'Body' else ''}\n"
        f"     - {escape(field_type(field))}\n"
        f"     - {escape(field.get('description', '')) or '..'}"
        for name, field in schema["properties"].items()
    )
    return f".. list-table:: {title}\n   :widths: 25 25 50\n\n{rows}\n"
