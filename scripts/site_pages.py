"""What mkdocs.yml does to pages: they are read in the source tree too, where links lead to files that no page holds."""

import re
from typing import Any

_OUTSIDE = re.compile(r"\[([^]]+)\]\(\.\./[^)]*\)")
_ROLE = re.compile(r":(?:class|func|meth|mod|data|attr):<code>~?([^<]*)</code>")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links to source files become their text."""
    return _OUTSIDE.sub(r"\1", markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Roles of docstrings, such as ``:class:`Game```, become the code that they name."""
    return _ROLE.sub(r"<code>\1</code>", html)
