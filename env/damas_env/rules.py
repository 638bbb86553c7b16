"""Rule sets as data: how pieces move and capture, how a game ends, how a board is numbered.

No other module of this package but ``presets`` knows a rule set by name. Movement reaches the kernels as
``RuleSet.spec`` (compiled in), draw laws as ``RuleSet.tables`` (a record).
"""

import difflib
import re
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike

import numpy as np

from damas_env.board import GEOMETRY, main_diagonal
from damas_env.draw_laws import (
    EVENT_CAPTURE,
    EVENT_CHANGE,
    EVENT_CROWNING,
    EVENT_MAN_MOVE,
    MAX_COUNTERS,
    MAX_LAWS,
    MOST_PLIES,
    DrawLaw,
    compile_tables,
    counter_names,
    parse_balance,
    refuse_other_types,
)
from damas_env.errors import quoted, shown
from damas_env.kernel import Spec

__all__ = [
    "EVENT_CAPTURE",
    "EVENT_CHANGE",
    "EVENT_CROWNING",
    "EVENT_MAN_MOVE",
    "MAX_COUNTERS",
    "DrawLaw",
    "RuleSet",
    "get_rules",
]

SIZE_MASK = 15
MEN_CAPTURE_BACKWARD = 1 << 4
MEN_CAPTURE_KINGS = 1 << 5
FLYING_KINGS = 1 << 6
KING_LANDS_ADJACENT = 1 << 7
REMOVE_AT_END = 1 << 8
MAJORITY_QUANTITY = 1 << 9
MAJORITY_KINGS = 1 << 10
PROMOTION_STOP = 1 << 11
PROMOTION_CONTINUE = 1 << 12

_MAJORITY = {"none": 0, "quantity": MAJORITY_QUANTITY, "quantity_kings": MAJORITY_QUANTITY | MAJORITY_KINGS}
_PROMOTION = {"end": 0, "stop": PROMOTION_STOP, "continue": PROMOTION_CONTINUE}
_NAME = re.compile(r"\w(?:[\w .-]{0,62}\w)?")
_LONGEST_TITLE = 200
_RULE_FILES = (".yaml", ".yml")
MOST_MOVES = 1024
"""Room for the legal moves of one position on the largest board."""

MAX_HISTORY = 501
"""Most positions that are remembered to see repetitions; keeps the occurrences of one position within int8."""

_BOARD_OF_GAME_TYPE = {
    20: (10, False), 21: (8, False), 22: (8, True), 23: (8, False), 24: (8, True), 25: (8, False), 26: (8, False),
    28: (8, True), 29: (8, False),
}  # fmt: skip
"""(size, mirrored) of the boards that PDN numbers name; Thai (31) is left out, its files differ."""


@dataclass(frozen=True)
class RuleSet:
    """Everything that tells one game of draughts from another.

    Attributes:
        name, title: short name for commands and files, and one line for people.
        size: rows and columns, 6, 8 or 10.
        men_rows: rows that each side fills with men at the start.
        mirrored: White's left-hand corner square is *not* playable.
        square_one: where numbering starts as White sees the board, ``"top_left"`` or ``"bottom_right"``.
        first: ``"white"`` or ``"black"`` moves first.
        men_capture_backward, men_capture_kings, flying_kings: as they say.
        king_lands_adjacent: a capturing king must stop right behind the captured piece.
        remove_at_end: captured pieces block until the whole move ends (else they are lifted at once).
        majority: compulsory choice among captures: ``"none"``, ``"quantity"`` (most pieces) or
            ``"quantity_kings"`` (most pieces, then most kings among them).
        promotion: a man is crowned only where its move ends (``"end"``), its move ends on the crowning row
            (``"stop"``), or it goes on as a king at once (``"continue"``).
        draw_laws: see :class:`DrawLaw`.
        repetition: occurrences of one position (same side to move) that draw the game; 0 = never.
        ply_cap: longest game in plies; 0 = no limit.
        ply_cap_draws: the cap is a draw by rule (else it truncates the game).
        notation: how squares are written in PDN files, ``"algebraic"`` or ``"numeric"``.
        game_type: PDN GameType number; 0 = the game has none.
        draw_by_agreement: the players may agree to a draw.
    """

    name: str
    title: str
    size: int = 8
    men_rows: int = 3
    mirrored: bool = False
    square_one: str = "top_left"
    first: str = "white"
    men_capture_backward: bool = True
    men_capture_kings: bool = True
    flying_kings: bool = True
    king_lands_adjacent: bool = False
    remove_at_end: bool = True
    majority: str = "quantity"
    promotion: str = "end"
    draw_laws: tuple[DrawLaw, ...] = field(default=())
    repetition: int = 3
    ply_cap: int = 0
    ply_cap_draws: bool = False
    notation: str = "algebraic"
    game_type: int = 0
    draw_by_agreement: bool = True

    def __post_init__(self) -> None:
        refuse_other_types(f"Rule set {quoted(str(self.name))}", self)
        if not _NAME.fullmatch(self.name) or self.name.endswith(_RULE_FILES):
            raise ValueError(
                f"A rule set's name is up to 64 letters, digits, '-', '_', '.' or spaces, and not that of a YAML file, "
                f"but this one is {quoted(self.name)}."
            )
        if len(self.title) > _LONGEST_TITLE or not self.title.isprintable():
            raise ValueError(f"Rule set {self.name!r}: title is one line of at most {_LONGEST_TITLE} characters.")

        def choice(key: str, allowed: tuple[object, ...]) -> None:
            if getattr(self, key) not in allowed:
                options = ", ".join(map(str, allowed))
                raise ValueError(f"Rule set {self.name!r}: {key}={shown(getattr(self, key))}, choose from {options}.")

        choice("size", tuple(GEOMETRY))
        choice("men_rows", tuple(range(1, self.size // 2)))
        choice("square_one", ("top_left", "bottom_right"))
        choice("first", ("white", "black"))
        choice("majority", tuple(_MAJORITY))
        choice("promotion", tuple(_PROMOTION))
        choice("notation", ("algebraic", "numeric"))
        choice("repetition", (0, 2, 3, 4, 5))
        for key, most in (("ply_cap", MOST_PLIES), ("game_type", 99)):
            if not 0 <= getattr(self, key) <= most:
                value = shown(getattr(self, key))
                raise ValueError(f"Rule set {self.name!r}: {key}={value}, choose 0 (none) to {most}.")
        self._check_draw_laws()
        self._check_contradictions()

    def _check_contradictions(self) -> None:
        """ValueError for fields that do not go together."""
        faults = []
        if self.king_lands_adjacent and not self.flying_kings:
            faults.append("king_lands_adjacent needs flying_kings, for other kings land nowhere else anyway")
        if self.ply_cap_draws and not self.ply_cap:
            faults.append("ply_cap_draws needs a ply_cap that draws")
        if self.promotion == "end" and not self.men_capture_backward:
            faults.append(
                "promotion 'end' lets men capture on from the crowning row, which needs men_capture_backward; "
                "choose 'stop' or 'continue'"
            )
        size, mirrored = _BOARD_OF_GAME_TYPE.get(self.game_type, (self.size, self.mirrored))
        if (size, mirrored) != (self.size, self.mirrored):
            board = f"{'a mirrored' if mirrored else 'an unmirrored'} board of {size}x{size}"
            faults.append(
                f"game_type {self.game_type} is played on {board}; choose 0 if PDN has no number for the game"
            )
        if faults:
            raise ValueError(f"Rule set {self.name!r}: {faults[0]}.")

    def _check_draw_laws(self) -> None:
        """ValueError for draw laws that are too many, contradict each other or can never stand."""
        if len(self.draw_laws) > MAX_LAWS or len(self.counter_names) > MAX_COUNTERS:
            raise ValueError(f"Rule set {self.name!r}: at most {MAX_LAWS} draw laws on {MAX_COUNTERS} counters.")
        if len(set(self.draw_laws)) < len(self.draw_laws):
            raise ValueError(f"Rule set {self.name!r}: a draw law stands there twice.")
        for counter in self.counter_names:
            laws = [law for law in self.draw_laws if law.counter == counter]
            if len({frozenset(law.resets) for law in laws}) > 1:
                raise ValueError(f"Rule set {self.name!r}: laws of counter {counter!r} name different resets.")
            if len({law.pauses for law in laws}) > 1:
                raise ValueError(f"Rule set {self.name!r}: some laws of counter {counter!r} pause and some do not.")
        for number, law in enumerate(self.draw_laws, 1):
            for side in (side for balance in law.material for side in parse_balance(balance)):
                if side.kings[0] + side.men[0] > self.men:
                    raise ValueError(
                        f"Rule set {self.name!r}: draw law {number} lists more than {self.men} pieces of a side."
                    )
            if not law.can_stand(self.men):
                raise ValueError(f"Rule set {self.name!r}: no position fulfils the conditions of draw law {number}.")

    @property
    def num_squares(self) -> int:
        """Playable squares."""
        return GEOMETRY[self.size].num_squares

    @property
    def men(self) -> int:
        """Men of each side at the start, also the most pieces that a side can have."""
        return self.men_rows * self.size // 2

    @property
    def spare_actions(self) -> int:
        """Actions for further moves that share their (from, to) with another one: enough for a full move list."""
        return self.max_moves

    @property
    def num_actions(self) -> int:
        """Size of the action space: one action for each (from, to), then the spare ones."""
        return self.num_squares**2 + self.spare_actions

    @property
    def max_moves(self) -> int:
        """Room for the legal moves of one position, with a wide margin over the worst known (docs/actions.md)."""
        return 128 if self.size <= 8 else MOST_MOVES

    @property
    def first_color(self) -> int:
        """Colour that moves first: 0 = White, 1 = Black."""
        return 0 if self.first == "white" else 1

    @cached_property
    def counter_names(self) -> tuple[str, ...]:
        """The counters of the draw laws, in order of appearance."""
        return counter_names(self.draw_laws)

    @cached_property
    def counter_limits(self) -> np.ndarray:
        """int64[4]: the largest limit of the laws of each counter; 1 for unused slots."""
        limits = np.ones(MAX_COUNTERS, dtype=np.int64)
        for law in self.draw_laws:
            slot = self.counter_names.index(law.counter)
            limits[slot] = max(limits[slot], law.plies)
        return limits

    @cached_property
    def initial_boards(self) -> np.ndarray:
        """uint64[4]: the starting position; it looks the same to both sides."""
        geometry = GEOMETRY[self.size]
        own = sum(1 << int(bit) for bit in geometry.bit_of_view[-self.men :])
        other = sum(1 << int(bit) for bit in geometry.bit_of_view[: self.men])
        return np.array([own, 0, other, 0], dtype=np.uint64)

    @cached_property
    def spec(self) -> Spec:
        """Movement flags for kernels."""
        return Spec(
            self.size
            | MEN_CAPTURE_BACKWARD * self.men_capture_backward
            | MEN_CAPTURE_KINGS * self.men_capture_kings
            | FLYING_KINGS * self.flying_kings
            | KING_LANDS_ADJACENT * self.king_lands_adjacent
            | REMOVE_AT_END * self.remove_at_end
            | _MAJORITY[self.majority]
            | _PROMOTION[self.promotion]
        )

    @cached_property
    def history_length(self) -> int:
        """Positions that may have to be remembered to see repetitions: no capture or man move in between."""
        progress = {"capture", "man_move"}
        limits = [law.plies for law in self.draw_laws if law.always and set(law.resets) <= progress]
        return min([*limits, self.ply_cap or MAX_HISTORY, MAX_HISTORY - 1]) + 1

    @cached_property
    def tables(self) -> np.void:
        """Draw laws for kernels; rule sets of one board size share the type."""
        most = (self.size // 2 - 1) * self.size // 2
        return compile_tables(
            self.draw_laws, most, main_diagonal(self.size), self.repetition, self.ply_cap, self.ply_cap_draws
        )


def get_rules(rules: "str | PathLike[str] | RuleSet") -> RuleSet:
    """The rule set of that name, from that YAML file, or the rule set itself.

    Args:
        rules: a name (see ``damas rules``), a path that ends in ``.yaml`` or ``.yml``, or a rule set.

    Raises:
        ValueError: no such rule set (the message names the nearest and lists all), or a file that holds none.
    """
    from damas_env.presets import RULE_SETS  # here, since it builds on this module

    if isinstance(rules, RuleSet):
        return rules
    listed = f"Choose from: {', '.join(RULE_SETS)}; or give a YAML file."
    if not isinstance(rules, str | PathLike):
        raise ValueError(f"rules={shown(rules)} is neither the name of a rule set nor a RuleSet. {listed}")
    text = str(rules)
    if text in RULE_SETS:
        return RULE_SETS[text]
    if text.lower().endswith(_RULE_FILES):
        from damas_env.rule_files import read_rules

        return read_rules(text)
    near = difflib.get_close_matches(text[:80], RULE_SETS, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"Unknown rule set {quoted(text)}.{hint} {listed}")
