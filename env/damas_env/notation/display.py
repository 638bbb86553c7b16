"""Text from files, made safe to show on a terminal."""


def visible(text: str) -> str:
    r"""``text`` with nothing in it that a terminal would obey: only what can be seen, spaces and line ends.

    Other white space becomes a space; control characters, escape sequences, direction marks and the like are written
    as escapes (``\x1b``).
    """
    if text.isprintable():
        return text
    return "".join(map(_shown, text))


def one_line(text: str) -> str:
    """What is :func:`visible` of ``text``, on one line, with single spaces."""
    return " ".join(visible(text).split())


def _shown(character: str) -> str:
    if character.isprintable() or character == "\n":
        return character
    return " " if character.isspace() else character.encode("unicode_escape").decode()
