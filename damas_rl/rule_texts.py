"""Rule sets in words, made from the fields of the rule set alone."""

from collections.abc import Sequence
from typing import NamedTuple

from damas_env.draw_laws import MOST_PIECES, DrawLaw, parse_balance
from damas_env.rules import RuleSet
from damas_rl.rule_phrases import LANGUAGES, PHRASES, TITLES


class Section(NamedTuple):
    """A heading and the sentences under it."""

    heading: str
    sentences: list[str]


def explain(rules: RuleSet, language: str = "en") -> list[Section]:
    """A rule set in words; ``language`` is one of ``LANGUAGES``."""
    words = _Words(language)
    return [
        Section(words(heading), sentences)
        for heading, sentences in (
            ("board", _board(rules, words)),
            ("men", _men(rules, words)),
            ("kings", _kings(rules, words)),
            ("captures", _captures(rules, words)),
            ("crowning", [words(f"crowned_{rules.promotion}")]),
            ("end", _end(rules, words)),
            ("notation", _notation(rules, words)),
        )
    ]


def titles_of(rules: RuleSet) -> dict[str, str]:
    """What a person calls a rule set, by language; its own title where it does not ship."""
    return dict(zip(LANGUAGES, TITLES.get(rules.name, (rules.title,) * len(LANGUAGES)), strict=True))


class _Words:
    """The phrases of one language, filled in."""

    def __init__(self, language: str) -> None:
        self.language = LANGUAGES.index(language)

    def __call__(self, key: str, **values: object) -> str:
        phrase = PHRASES[key][self.language]
        assert isinstance(phrase, str)
        return phrase.format(**values)

    def form(self, key: str, index: int, **values: object) -> str:
        """One of several forms of a phrase."""
        return PHRASES[key][self.language][index].format(**values)

    def count(self, key: str, n: int) -> str:
        """The singular for 1, else the plural."""
        return self.form(key, int(n != 1), n=n)

    def joined(self, parts: Sequence[str], last: str) -> str:
        """``"a, b or c"``; ``last`` is the key of the last connective."""
        return self(last).join([*([", ".join(parts[:-1])] if len(parts) > 1 else []), parts[-1]])

    def plies(self, n: int) -> str:
        """A number of plies, as moves of each side if it is even."""
        return self("plies", n=n) if n % 2 else self.count("moves", n // 2)

    def amount(self, limits: tuple[int, int], key: str) -> str:
        """How many kings or men a side has."""
        low, high = limits
        if high < MOST_PIECES:
            return self.count(key, low)
        return self("more", n=low, what=self(f"{key}_word")) if low else self("any", what=self(f"{key}_word"))


def _board(rules: RuleSet, words: _Words) -> list[str]:
    side = words("right" if rules.mirrored else "left")
    return [
        words("squares", squares=rules.num_squares, size=rules.size, side=side),
        words("setup", men=rules.men, rows=words.count("rows", rules.men_rows), first=words(rules.first)),
    ]


def _men(rules: RuleSet, words: _Words) -> list[str]:
    captures = "man_captures_back" if rules.men_capture_backward else "man_captures_forward"
    return [words("man_moves"), words(captures), *([] if rules.men_capture_kings else [words("man_spares_kings")])]


def _kings(rules: RuleSet, words: _Words) -> list[str]:
    if not rules.flying_kings:
        return [words("king_steps")]
    return [words("king_flies"), words("king_adjacent" if rules.king_lands_adjacent else "king_lands")]


def _captures(rules: RuleSet, words: _Words) -> list[str]:
    return [words("compulsory"), words(rules.majority), words("at_end" if rules.remove_at_end else "at_once")]


def _end(rules: RuleSet, words: _Words) -> list[str]:
    sentences = [words("win")]
    if rules.repetition:
        sentences.append(words("repetition", nth=words.form("ordinals", rules.repetition - 2)))
    else:
        sentences.append(words("no_repetition"))
    for counter in rules.counter_names:
        sentences += _laws([law for law in rules.draw_laws if law.counter == counter], 2 * rules.men, words)
    if not rules.draw_laws:
        sentences.append(words("no_laws"))
    if rules.ply_cap:
        plies = words("plies", n=rules.ply_cap)
        sentences.append(words("cap_draw" if rules.ply_cap_draws else "cap_stop", plies=plies))
    sentences.append(words("agreement" if rules.draw_by_agreement else "no_agreement"))
    return sentences


def _laws(laws: Sequence[DrawLaw], most: int, words: _Words) -> list[str]:
    """The laws of one counter, and what becomes of its count; ``most``: pieces at the start."""
    resets = [words(f"by_{event}") for event in laws[0].resets]
    if len(laws) == 1 and laws[0].resets and not laws[0].material:
        # The usual wording: so many moves without this or that.
        law = laws[0]
        where, events = _where(law, most, words), words.joined(resets, "nor")
        comma = "," if where else ""
        sentences = [words("law_free", plies=words.plies(law.plies), where=where, comma=comma, events=events)]
    else:
        sentences = [words("law", plies=words.plies(law.plies), where=_where(law, most, words)) for law in laws]
        shared = "_shared" if len(laws) > 1 else ""
        if resets:
            text = words(f"restart{shared}", events=words.joined(resets, "or"))
            sentences.append(text[0].upper() + text[1:])
        else:
            sentences.append(words("count_shared" if shared else "count_free"))
    if not any(law.always for law in laws):
        sentences += [words("starts"), words("waits" if laws[0].pauses else "clears")]
    return sentences


def _where(law: DrawLaw, most: int, words: _Words) -> str:
    """The conditions of a law, to follow "after ten moves of each side"."""
    text = ""
    if law.material:
        balances = []
        for balance in law.material:
            sides = []
            for side in parse_balance(balance):
                parts = [
                    words.amount(limits, key) for limits, key in ((side.kings, "king"), (side.men, "man")) if limits[1]
                ]
                sides.append(words.joined(parts, "and"))
            balances.append(words("against", one=sides[0], other=sides[1]))
        text += words("material", balances=words.joined(balances, "or"))
    if law.pieces:
        text += words("pieces", pieces=_pieces(*law.pieces, most, words))
    if law.both_have_kings:
        text += words("both_kings")
    if law.lone_king_on_main_diagonal:
        text += words("diagonal" if text else "diagonal_only")
    return text


def _pieces(low: int, high: int, most: int, words: _Words) -> str:
    """How many pieces are on the board, of ``most`` at the start."""
    if low == high:
        return words.count("piece", low)
    if high >= most:
        return words("more", n=low, what=words("piece_word"))
    return words("fewer", n=high) if low <= 2 else words("range", low=low, high=high)


def _notation(rules: RuleSet, words: _Words) -> list[str]:
    return [
        words("numbered", corner=words(rules.square_one), style=words(rules.notation)),
        words("type", n=rules.game_type) if rules.game_type else words("no_type"),
    ]
