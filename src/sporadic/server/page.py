"""The explorer's files, read once when the service starts: no path from a request reaches the file system."""

import gzip
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from sporadic.storage import digest

KINDS = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}


@dataclass(frozen=True)
class File:
    """One file, which a browser keeps and asks again whether it has changed."""

    content: bytes
    kind: str

    @cached_property
    def tag(self) -> str:
        return f'"{digest(self.content)[:32]}"'

    @cached_property
    def zipped(self) -> bytes:
        return gzip.compress(self.content, 6, mtime=0)

    def response(self, request: Request) -> Response:
        headers = {"ETag": self.tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        if request.headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=headers)
        content = self.content
        if "gzip" in request.headers.get("accept-encoding", ""):
            content, headers["Content-Encoding"] = self.zipped, "gzip"
        return Response(content, headers=headers, media_type=f"{self.kind}; charset=utf-8")


def explorer_files() -> dict[str, File]:
    """By name. The script of Plotly is that of the installed package."""
    folder = files("sporadic.server") / "explorer"
    found = {
        each.name: File(each.read_bytes(), KINDS[each.name.rpartition(".")[2]])
        for each in folder.iterdir()
        if each.name.rpartition(".")[2] in KINDS
    }
    script = files("plotly") / "package_data" / "plotly.min.js"
    return found | {"plotly.js": File(script.read_bytes(), KINDS["js"])}
