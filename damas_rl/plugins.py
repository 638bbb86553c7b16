"""Code of one's own: modules that add networks, searches and players under names of their own (docs/extending.md).

The environment variable ``DAMAS_PLUGINS`` names them, as modules or as ``.py`` files with commas in between. They are
imported when something is asked for that the package itself does not have. Nothing that is written in a checkpoint or
a configuration is ever imported: such files come from anywhere, the variable comes from the user.
"""

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Collection
from pathlib import Path

VARIABLE = "DAMAS_PLUGINS"

HINT = f"One of your own is found if {VARIABLE} names its module (docs/extending.md)."
"""What to say after refusing a name that a plugin might have added."""

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,40}")


class PluginError(ValueError):
    """A module that cannot be imported, or a name that it cannot take; the message is one sentence."""


def known(kinds: Collection[str], name: str) -> bool:
    """True if ``kinds`` holds a name, if need be after the plugins have added theirs.

    Raises:
        PluginError: a plugin cannot be imported.
    """
    if name not in kinds:
        load_plugins()
    return name in kinds


def load_plugins() -> None:
    """Imports the modules that ``DAMAS_PLUGINS`` names; those that are there already stay as they are.

    Raises:
        PluginError: one cannot be imported; says why.
    """
    for name in filter(None, map(str.strip, os.environ.get(VARIABLE, "").split(","))):
        try:
            if name.endswith(".py"):
                _import_file(Path(name))
            else:
                importlib.import_module(name)
        except PluginError:
            raise
        except (Exception, SystemExit) as error:
            raise PluginError(f"{VARIABLE}: {name} could not be imported: {type(error).__name__}: {error}.") from error


def check_name(kinds: Collection[str], name: str) -> None:
    """PluginError unless a plugin may add ``name`` to ``kinds``."""
    if not _NAME.fullmatch(name):
        raise PluginError(f"A name to register is lower-case letters, digits, - and _, not {name!r}.")
    if name in kinds:
        raise PluginError(f"The name {name!r} is taken; choose another one.")


def _import_file(path: Path) -> None:
    """Imports a file as the module that it would be if its folder were on Python's path."""
    if not path.is_file():
        raise PluginError(f"{VARIABLE}: there is no file {str(path)!r}.")
    there = sys.modules.get(path.stem)
    if there is not None:
        if not Path(getattr(there, "__file__", None) or os.devnull).samefile(path):
            raise PluginError(f"{VARIABLE}: {path} needs another name; a module {path.stem!r} is there already.")
        return
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise PluginError(f"{VARIABLE}: {path} is no Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
