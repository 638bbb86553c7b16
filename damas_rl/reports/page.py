"""Web pages in one file: text, tables and pictures, nothing that has to be fetched, fit for paper too."""

import base64
from collections.abc import Iterable, Sequence
from html import escape

from damas_env.notation import visible

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 Georgia, 'Times New Roman', serif; color: #1d1d1b; background: #fff; max-width: 64rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin-bottom: .3rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .5rem; border-bottom: 1px solid #bbb; }
p, ul { max-width: 48rem; }
table { border-collapse: collapse; margin: .8rem 0; font: 14px/1.4 system-ui, sans-serif; }
caption { text-align: left; font-style: italic; padding-bottom: .3rem; }
th, td { padding: .2rem .7rem .2rem 0; text-align: left; vertical-align: top; }
thead th { border-bottom: 2px solid #1d1d1b; }
tbody tr { border-bottom: 1px solid #ddd; break-inside: avoid; }
tbody th { font-weight: normal; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
figure { margin: 1rem 0; break-inside: avoid; }
figure img { max-width: 100%; height: auto; }
figcaption { font-size: .9rem; color: #444; max-width: 48rem; }
pre { background: #f4f2ec; padding: .7rem; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere;
  font: 13px/1.4 ui-monospace, monospace; }
code { font: .9em ui-monospace, monospace; }
p code { overflow-wrap: anywhere; }
.swatch { display: inline-block; width: .8em; height: .8em; margin-right: .4em; }
.columns { columns: 2 18rem; } .columns table { margin-top: 0; } .columns .wide { overflow: visible; }
@media print { body { font-size: 11pt; margin: 0; max-width: none; } table { font-size: 9pt; }
  .wide { overflow: visible; } td:not(.number) { overflow-wrap: anywhere; } h2 { break-after: avoid; } }
@media screen { figure { overflow-x: auto; } figure img { min-width: 40rem; } }
"""


class Html(str):
    """Text that is HTML already; any other text is escaped before it comes into a page."""

    __slots__ = ()


def html(content: object) -> Html:
    """Any text as HTML: marks escaped, control characters made visible."""
    return content if isinstance(content, Html) else Html(escape(visible(str(content))))


def page(title: str, *parts: Html) -> str:
    """A whole page."""
    # No address is allowed at all: the page cannot call anywhere, whatever a file of a run may hold.
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{html(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{_STYLE}</style>\n</head>\n<body>\n'
        f"<main>\n<h1>{html(title)}</h1>\n" + "\n".join(parts) + "\n</main>\n</body>\n</html>\n"
    )


def section(title: str, *parts: Html) -> Html:
    """A part of a page under a heading of its own."""
    return Html("\n".join((f"<section>\n<h2>{html(title)}</h2>", *parts, "</section>")))


def paragraph(*parts: object) -> Html:
    """A paragraph of texts that follow each other."""
    return Html(f"<p>{''.join(map(html, parts))}</p>")


def items(entries: Iterable[object]) -> Html:
    """A list."""
    return Html("<ul>" + "".join(f"<li>{html(entry)}</li>" for entry in entries) + "</ul>")


def code(text: object) -> Html:
    """A name, a file or a command within a text."""
    return Html(f"<code>{html(text)}</code>")


def block(text: str) -> Html:
    """Lines of commands."""
    lines = "\n".join(map(html, text.splitlines()))
    return Html(f"<pre>{lines}</pre>")


def swatch(color: str) -> Html:
    """A square of a colour, as in a legend."""
    return Html(f'<span class="swatch" style="background:{escape(color)}"></span>')


def table(header: Sequence[object], rows: Iterable[Sequence[object]], caption: str = "", numbers: int = 0) -> Html:
    """A table whose first cell of a row names it; the last ``numbers`` columns are set to the right."""
    first = len(header) - numbers

    def cells(row: Sequence[object], tag: str) -> str:
        made = []
        for index, cell in enumerate(row):
            kind = ' class="number"' if index >= first else ""
            name, scope = (tag, ' scope="col"') if tag == "th" else ("td", "")
            if tag == "td" and index == 0:
                name, scope = "th", ' scope="row"'
            made.append(f"<{name}{scope}{kind}>{html(cell)}</{name}>")
        return "<tr>" + "".join(made) + "</tr>"

    told = f"<caption>{html(caption)}</caption>" if caption else ""
    head = f"<thead>{cells(header, 'th')}</thead>" if any(header) else ""
    body = "\n".join(cells(row, "td") for row in rows)
    return Html(f'<div class="wide"><table>{told}{head}<tbody>\n{body}\n</tbody></table></div>')


def columns(*parts: Html) -> Html:
    """Parts that flow into two columns where there is room."""
    return Html(f'<div class="columns">{"".join(parts)}</div>')


def picture(svg: bytes, alt: str, caption: str) -> Html:
    """An SVG picture with its caption; ``alt`` says what it shows to those who cannot see it."""
    data = base64.b64encode(svg).decode()
    image = f'<img alt="{html(alt)}" src="data:image/svg+xml;base64,{data}">'
    return Html(f"<figure>{image}<figcaption>{html(caption)}</figcaption></figure>")
