"""Rule sets in words, English and Brazilian Portuguese, made from the fields of the rule set alone."""

from collections.abc import Sequence
from typing import NamedTuple

from damas_env.draw_laws import MOST_PIECES, DrawLaw, parse_balance
from damas_env.rules import RuleSet

_Phrases = dict[str, str | tuple[str, ...]]

_ENGLISH: _Phrases = {
    "board": "Board", "men": "Men", "kings": "Kings", "captures": "Capturing", "crowning": "Crowning",
    "end": "End of the game", "notation": "Notation",
    "squares": "The game is played on the {squares} dark squares of a board of {size}×{size}; the corner square at "
               "each player's {side} is dark.",
    "setup": "Each side starts with {men} men on the {rows} nearest to it; {first} moves first.",
    "rows": ("row", "{n} rows"), "left": "left", "right": "right", "white": "White", "black": "Black",
    "man_moves": "A man moves one square diagonally forward.",
    "man_captures_back": "It captures forward and backward, jumping over a piece next to it to the empty square "
                         "behind.",
    "man_captures_forward": "It captures forward only, jumping over a piece next to it to the empty square behind.",
    "man_spares_kings": "A man cannot capture a king.",
    "king_flies": "A king moves along a diagonal as far as the way is free, forward or backward, and captures from any "
                  "distance.",
    "king_lands": "After a capture it may stop on any free square behind the captured piece.",
    "king_adjacent": "After a capture it must stop on the square right behind the captured piece.",
    "king_steps": "A king moves one square diagonally, forward or backward, and captures a piece next to it in any "
                  "direction.",
    "compulsory": "Whoever can capture must capture, and must go on while the same piece can take another one.",
    "none": "Among several captures the choice is free, however many pieces they take.",
    "quantity": "Among several captures, one that takes the most pieces is compulsory; men and kings count the same.",
    "quantity_kings": "Among several captures, one that takes the most pieces is compulsory; among equals, one that "
                      "takes the most kings.",
    "at_end": "Captured pieces leave the board when the move is over: until then they block the way, and none may be "
              "jumped twice.",
    "at_once": "Captured pieces leave the board at once, so their squares are free for the rest of the capture.",
    "crowned_end": "A man that ends its move on the farthest row becomes a king; one that only passes there while "
                   "capturing stays a man.",
    "crowned_stop": "A man that reaches the farthest row becomes a king and its move ends there.",
    "crowned_continue": "A man that reaches the farthest row becomes a king at once; if it is capturing, it goes on "
                        "as one.",
    "win": "Whoever has no legal move, for lack of pieces or because all are blocked, has lost, whatever a count says.",
    "repetition": "The game is drawn when a position occurs for the {nth} time with the same side to move.",
    "ordinals": ("second", "third", "fourth", "fifth"),
    "no_repetition": "Repeating a position does not draw the game.",
    "law": "The game is drawn after {plies}{where}.",
    "law_free": "The game is drawn after {plies}{where}{comma} without {events}.",
    "plies": "{n} plies", "moves": ("one move of each side", "{n} moves of each side"),
    "material": " with {balances}", "against": "{one} against {other}", "diagonal": ", the lone king standing on the "
    "main diagonal", "diagonal_only": " with a lone king on the main diagonal",
    "pieces": " with {pieces} on the board", "both_kings": " while both sides have kings",
    "count_free": "This count runs on whatever is played.",
    "count_shared": "These laws share one count, which runs on whatever is played.",
    "restart": "{events} starts this count again.", "restart_shared": "These laws share one count, which {events} "
    "starts again.",
    "waits": "While the condition does not hold, the count waits.", "clears": "When the condition no longer holds, the "
    "count goes back to zero.",
    "by_capture": "a capture", "by_man_move": "a man's move", "by_crowning": "a crowning",
    "by_change": "a change of ending", "nor": " or ",
    "and": " and ", "or": " or ", "no_laws": "No count of moves draws the game.",
    "cap_draw": "A game of {plies} is a draw.", "cap_stop": "After {plies} the game is stopped without a result.",
    "agreement": "The players may agree to a draw.", "no_agreement": "The players cannot agree to a draw.",
    "king": ("1 king", "{n} kings"), "man": ("1 man", "{n} men"), "piece": ("1 piece", "{n} pieces"),
    "more": "{n} or more {what}", "range": "{low} to {high} pieces", "any": "any number of {what}",
    "king_word": "kings", "man_word": "men", "piece_word": "pieces", "fewer": "at most {n} pieces",
    "top_left": "top left", "bottom_right": "bottom right",
    "numbered": "Squares are numbered from the {corner} as White sees the board; files are written {style}.",
    "algebraic": "with names such as c3-d4", "numeric": "with numbers such as 22-18",
    "type": "PDN calls it GameType {n}.", "no_type": "PDN has no GameType for it.",
}  # fmt: skip

_PORTUGUESE: _Phrases = {
    "board": "Tabuleiro", "men": "Pedras", "kings": "Damas", "captures": "Tomadas", "crowning": "Promoção",
    "end": "Fim da partida", "notation": "Notação",
    "squares": "Joga-se nas {squares} casas escuras de um tabuleiro de {size}×{size}; a casa do canto à {side} de cada "
               "jogador é escura.",
    "setup": "Cada lado começa com {men} pedras {rows} do seu campo; {first} jogam primeiro.",
    "rows": ("na primeira fileira", "nas {n} primeiras fileiras"), "left": "esquerda", "right": "direita",
    "white": "as brancas", "black": "as pretas",
    "man_moves": "A pedra anda uma casa na diagonal, sempre para a frente.",
    "man_captures_back": "Ela toma para a frente e para trás, saltando a peça vizinha e parando na casa vazia logo "
                         "depois.",
    "man_captures_forward": "Ela toma só para a frente, saltando a peça vizinha e parando na casa vazia logo depois.",
    "man_spares_kings": "A pedra não pode tomar damas.",
    "king_flies": "A dama anda quantas casas livres quiser na diagonal, para a frente ou para trás, e toma de qualquer "
                  "distância.",
    "king_lands": "Depois de tomar, ela pode parar em qualquer casa livre atrás da peça tomada.",
    "king_adjacent": "Depois de tomar, ela tem de parar na casa logo atrás da peça tomada.",
    "king_steps": "A dama anda uma casa na diagonal, para a frente ou para trás, e toma a peça vizinha em qualquer "
                  "direção.",
    "compulsory": "Quem pode tomar é obrigado a tomar, e a continuar enquanto a mesma peça puder tomar outra.",
    "none": "Havendo várias tomadas, a escolha é livre, não importa quantas peças cada uma leve.",
    "quantity": "Lei da maioria: havendo várias tomadas, é obrigatório tomar o maior número de peças; pedra e dama "
                "valem o mesmo.",
    "quantity_kings": "Lei da maioria: havendo várias tomadas, é obrigatório tomar o maior número de peças e, em caso "
                      "de igualdade, o maior número de damas.",
    "at_end": "As peças tomadas só saem do tabuleiro no fim do lance: até lá bloqueiam o caminho, e nenhuma pode ser "
              "saltada duas vezes.",
    "at_once": "As peças tomadas saem do tabuleiro na hora, e as casas delas ficam livres para o resto da tomada.",
    "crowned_end": "A pedra que termina o lance na última fileira vira dama; a que só passa por lá durante uma tomada "
                   "continua pedra.",
    "crowned_stop": "A pedra que chega à última fileira vira dama, e o lance termina ali.",
    "crowned_continue": "A pedra que chega à última fileira vira dama na hora; se estiver tomando, continua como dama.",
    "win": "Quem não tem lance possível, por falta de peças ou por estarem todas bloqueadas, perde, seja qual for a "
           "contagem.",
    "repetition": "A partida empata quando a mesma posição, com o mesmo lado a jogar, aparece pela {nth} vez.",
    "ordinals": ("segunda", "terceira", "quarta", "quinta"),
    "no_repetition": "A repetição de posições não empata a partida.",
    "law": "A partida empata depois de {plies}{where}.",
    "law_free": "A partida empata depois de {plies}{where}{comma} sem {events}.",
    "plies": "{n} meios-lances", "moves": ("um lance de cada lado", "{n} lances de cada lado"),
    "material": " com {balances}", "against": "{one} contra {other}", "diagonal": ", estando a dama solitária na "
    "grande diagonal", "diagonal_only": " com uma dama solitária na grande diagonal",
    "pieces": " com {pieces} no tabuleiro", "both_kings": " enquanto os dois lados têm damas",
    "count_free": "Essa contagem segue, jogue-se o que se jogar.",
    "count_shared": "Esses casos têm uma só contagem, que segue, jogue-se o que se jogar.",
    "restart": "A contagem recomeça com {events}.", "restart_shared": "Esses casos têm uma só contagem, que recomeça "
    "com {events}.",
    "waits": "Enquanto a condição não se cumpre, a contagem espera.", "clears": "Quando a condição deixa de se "
    "cumprir, a contagem volta a zero.",
    "by_capture": "tomada", "by_man_move": "movimento de pedra", "by_crowning": "promoção",
    "by_change": "mudança de final", "nor": " nem ",
    "and": " e ", "or": " ou ", "no_laws": "Nenhuma contagem de lances empata a partida.",
    "cap_draw": "Uma partida de {plies} empata.", "cap_stop": "Depois de {plies} a partida para, sem resultado.",
    "agreement": "Os jogadores podem combinar o empate.", "no_agreement": "Não há empate combinado.",
    "king": ("1 dama", "{n} damas"), "man": ("1 pedra", "{n} pedras"), "piece": ("1 peça", "{n} peças"),
    "more": "{n} ou mais {what}", "range": "{low} a {high} peças", "any": "qualquer número de {what}",
    "king_word": "damas", "man_word": "pedras", "piece_word": "peças", "fewer": "no máximo {n} peças",
    "top_left": "canto superior esquerdo", "bottom_right": "canto inferior direito",
    "numbered": "As casas são numeradas a partir do {corner}, como as brancas veem o tabuleiro; os arquivos usam "
                "{style}.",
    "algebraic": "nomes como c3-d4", "numeric": "números como 22-18",
    "type": "No PDN é o GameType {n}.", "no_type": "O PDN não tem GameType para este jogo.",
}  # fmt: skip

LANGUAGES = {"en": _ENGLISH, "pt": _PORTUGUESE}
"""The words of each language; both have the same keys."""


class Section(NamedTuple):
    """A heading and the sentences under it."""

    heading: str
    sentences: list[str]


def explain(rules: RuleSet, language: str = "en") -> list[Section]:
    """A rule set in words; ``language`` is one of :data:`LANGUAGES`."""
    words = _Words(LANGUAGES[language])
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


class _Words:
    """The phrases of one language, filled in."""

    def __init__(self, phrases: _Phrases) -> None:
        self.phrases = phrases

    def __call__(self, key: str, **values: object) -> str:
        phrase = self.phrases[key]
        assert isinstance(phrase, str)
        return phrase.format(**values)

    def form(self, key: str, index: int, **values: object) -> str:
        """One of several forms of a phrase."""
        return self.phrases[key][index].format(**values)

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
        sentences.append(words("waits" if laws[0].pauses else "clears"))
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
