"""Rule sets as YAML files: the fields of :class:`~damas_env.rules.RuleSet`, draw laws as a list of mappings.

Files come from anywhere: they are read up to a size, without references, and every fault is one sentence.
"""

import difflib
from collections.abc import Hashable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any

from damas_env.draw_laws import TERMINATIONS, DrawLaw
from damas_env.errors import shown
from damas_env.presets import RULE_SETS
from damas_env.rules import RuleSet
from damas_env.termination import Termination

LARGEST_FILE = 65_536
"""Bytes that a file of rules can have."""

_DEEPEST = 8
_TERMINATIONS = {termination.name: termination for termination in TERMINATIONS}


def to_yaml(rules: RuleSet) -> str:
    """A rule set as YAML, with every field; :func:`from_yaml` reads it back to an equal one."""
    import yaml

    values = {key.name: getattr(rules, key.name) for key in fields(RuleSet)}
    values["draw_laws"] = [
        {key.name: _plain(getattr(law, key.name)) for key in fields(DrawLaw) if getattr(law, key.name) != key.default}
        for law in rules.draw_laws
    ]
    text: str = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100)
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, Termination):
        return value.name
    return list(value) if isinstance(value, tuple) else value


def from_yaml(text: str, source: str = "the YAML text") -> RuleSet:
    """The rule set that a YAML text describes.

    ``name`` and ``title`` must be given, and ``plies``, ``counter`` and ``termination`` of each draw law; what else is
    left out is as in Brazilian draughts (a draw law without conditions always stands).

    Args:
        text: YAML, one mapping.
        source: what to call the text in messages.

    Raises:
        ValueError: no rule set stands there; one sentence says why.
    """
    values = _fields_of(_load(text, source), RuleSet, f"{source}: a rule set")
    laws = values.get("draw_laws", [])
    if not isinstance(laws, list):
        raise ValueError(f"{source}: draw_laws is a list of draw laws, not {shown(laws)}.")
    values["draw_laws"] = tuple(_draw_law(law, f"{source}: draw law {number}") for number, law in enumerate(laws, 1))
    try:
        return RuleSet(**values)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None


def read_rules(path: str) -> RuleSet:
    """The rule set of a YAML file.

    Raises:
        ValueError: the file cannot be read, holds no rule set, or changes a rule set under its own name.
    """
    try:
        if not Path(path).is_file():
            raise ValueError(f"There is no file of rules {path!r}.")
        with open(path, "rb") as file:
            content = file.read(LARGEST_FILE + 1)
        text = content.decode("utf-8")
    except OSError as error:
        raise ValueError(f"The rules {path!r} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no YAML file: it is not written in UTF-8.") from None
    if len(content) > LARGEST_FILE:
        raise ValueError(f"{path} is too large for a file of rules (more than {LARGEST_FILE} bytes).")
    rules = from_yaml(text, path)
    known = RULE_SETS.get(rules.name, rules)
    if known != rules:
        raise ValueError(
            f"{path} calls itself {rules.name!r}, which means another rule set; give it a name of its own."
        )
    return known


def _draw_law(law: object, source: str) -> DrawLaw:
    values = _fields_of(law, DrawLaw, source)
    termination = values["termination"]
    if not isinstance(termination, Hashable) or termination not in _TERMINATIONS:
        raise ValueError(f"{source}: termination is one of {', '.join(_TERMINATIONS)}, not {shown(termination)}.")
    values["termination"] = _TERMINATIONS[termination]
    for key in ("material", "resets", "pieces"):
        if key in values:
            if not isinstance(values[key], list):
                raise ValueError(f"{source}: {key} is a list, such as [a, b], not {shown(values[key])}.")
            values[key] = tuple(values[key])
    try:
        return DrawLaw(**values)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None


def _fields_of(values: object, kind: type, source: str) -> dict[str, Any]:
    """The mapping ``values`` if it has all fields that ``kind`` needs and none that it does not know."""
    if not isinstance(values, Mapping):
        raise ValueError(f"{source} is a mapping of fields to values, not {shown(values)}.")
    known = {key.name: key for key in fields(kind)}
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(str(key)[:40], known, n=1) if isinstance(key, str) else []
            hint = f"; did you mean {near[0]!r}?" if near else f" (it has {', '.join(known)})."
            raise ValueError(f"{source} has no field {shown(key)}{hint}")
    missing = [name for name, key in known.items() if key.default is MISSING and key.default_factory is MISSING]
    missing = [name for name in missing if name not in values]
    if missing:
        raise ValueError(f"{source} needs the field {missing[0]!r}.")
    return dict(values)


def _load(text: str, source: str) -> object:
    """The content of one YAML document without references and without repeated keys."""
    import yaml

    if len(text) > LARGEST_FILE:
        raise ValueError(f"{source} is too long for a rule set (more than {LARGEST_FILE} characters).")
    try:
        return yaml.load(text, Loader=_loader())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" in line {mark.line + 1}" if mark else ""
        raise ValueError(f"{source} is no YAML of rules: {error.problem or error.context}{where}.") from None
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"{source} is no YAML of rules: {str(error).splitlines()[0][:80]}.") from None


@cache
def _loader() -> Any:
    """The loader of :func:`_load`; a class made at the first use, so that importing this module needs no YAML."""
    import yaml

    class RulesLoader(yaml.SafeLoader):
        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                event = self.peek_event()
                raise yaml.composer.ComposerError(None, None, "references are not allowed", event.start_mark)
            if self.depth == _DEEPEST:
                event = self.peek_event()
                raise yaml.composer.ComposerError(None, None, "it is nested too deeply", event.start_mark)
            self.depth += 1
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen = set()
            for key, _ in node.value:
                word = (key.tag, key.value) if isinstance(key, yaml.ScalarNode) else None
                if word is None or word in seen or key.tag == "tag:yaml.org,2002:merge":
                    problem = f"the key {shown(key.value)} stands there twice" if word in seen else "a key is no word"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                seen.add(word)
            return super().construct_mapping(node, deep)

    return RulesLoader
