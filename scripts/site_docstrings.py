"""What mkdocs.yml does to docstrings before it reads them."""

import re
from typing import Any

import griffe

_SHARED = re.compile(r"^( +)(\w+(?:, \w+)+): (.*(?:\n\1 +\S.*)*)", re.MULTILINE)


class SharedDescriptions(griffe.Extension):
    """``a, b: what both are`` becomes an entry for each of them; griffe knows no shared ones."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """See :class:`griffe.Extension`."""
        if obj.docstring:
            obj.docstring.value = _SHARED.sub(_entries, obj.docstring.value)


def _entries(match: re.Match[str]) -> str:
    return "\n".join(f"{match[1]}{name}: {match[3]}" for name in match[2].split(", "))
