"""Parts that all apps with HTML pages share: security headers, style sheets and scripts."""

from contextlib import suppress

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp

from groundwire.gateway.http.fixed_headers import FixedHeaders
from groundwire.render.html import read_part

_ASSETS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def with_page_policy(app: ASGIApp, *, posts_forms: bool = False) -> ASGIApp:
    """Wrap an app, so that every response has security headers.

    Pages load files of their own site only, cannot be shown in a frame, and are not cached. With
    ``posts_forms``, forms but not scripts may send data to that site; without ``posts_forms``,
    scripts but not forms may.
    """
    form, connect = ("'self'", "'none'") if posts_forms else ("'none'", "'self'")
    headers = {
        "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
        f"img-src 'self'; connect-src {connect}; base-uri 'none'; form-action {form}; "
        "frame-ancestors 'none'",
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin" if posts_forms else "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "cache-control": "no-store",
    }
    return FixedHeaders(app, headers=headers)


async def asset(request: Request) -> Response:
    """Return a style sheet, script or icon from the folder of templates, but never a template."""
    name = request.path_params["name"]
    kind = _ASSETS.get(name.rpartition(".")[2])
    if kind is not None and "/" not in name:
        with suppress(OSError, ValueError):
            return Response(read_part(name), media_type=kind)
    return PlainTextResponse("There is no such file.", status_code=404)
