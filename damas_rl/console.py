"""The console on which everything is shown: texts from files, such as names in PDN tags, cannot steer the terminal."""

from collections.abc import Iterable

import rich.console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from damas_env.notation import visible


class Console(rich.console.Console):
    """A Rich console that shows control characters of the texts handed to it as escapes; its own styles still work."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of a renderable; only Rich's own control segments hold control characters."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)

    @property
    def colored(self) -> bool:
        """True on a terminal that shows colours, unless the user wants none (``NO_COLOR``)."""
        return self.color_system is not None and not self.no_color
