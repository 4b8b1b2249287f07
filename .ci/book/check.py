"""Checks the links of a built book: each page, file and anchor that a page names must exist.

    python3 check.py DIR

Addresses elsewhere (https://...) are not visited.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The ids of a page, and what it links to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif name in ("href", "src") and value and tag != "base":
                self.links.append(value)


def faults(root: Path) -> tuple[list[str], int]:
    # the page of all pages for printing has the same links again, as anchors of its own
    paths = [path for path in sorted(root.rglob("*.html")) if path.name not in ("print.html", "toc.html")]
    pages = {path.resolve(): Page(path) for path in paths}
    found, links = [], 0
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            links += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            where = f"{path.relative_to(root.resolve())}: {link}"
            if not target.exists():
                found.append(f"{where}: there is no such file")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                found.append(f"{where}: there is no such anchor")
    return found, links


def main() -> None:
    root = Path(sys.argv[1])
    if not (root / "index.html").exists():
        sys.exit(f"{root} is no book")
    found, links = faults(root)
    if found:
        sys.exit("\n".join(found))
    print(f"{links} links hold")


main()
