"""``damas rules``: lists the rule sets, or explains one in words, as YAML or as JSON."""

import argparse
import dataclasses
from typing import Any

from damas_env.notation import format_fen
from damas_env.presets import RULE_SETS
from damas_env.rule_files import to_yaml
from damas_env.rules import RuleSet, get_rules
from damas_rl.cli.common import CommandError, add_json, print_json, show
from damas_rl.rule_phrases import LANGUAGES
from damas_rl.rule_texts import explain, titles_of


def register(subparsers: Any) -> None:
    """Adds the subcommand."""
    rules = subparsers.add_parser(
        "rules",
        help="list the rule sets, or explain one",
        description="Lists the rule sets; with a name or a YAML file, explains that one.",
    )
    rules.add_argument(
        "name", nargs="?", metavar="NAME|FILE", help="rule set or YAML file to explain (default: list all)"
    )
    rules.add_argument("--lang", choices=LANGUAGES, help="language of the explanation (default: en)")
    form = rules.add_mutually_exclusive_group()
    form.add_argument("--yaml", action="store_true", help="print the rule set as YAML, to change and use as FILE")
    add_json(form)
    rules.set_defaults(run=_rules)


def _rules(arguments: argparse.Namespace) -> None:
    if arguments.name is None:
        if arguments.yaml or arguments.lang:
            raise CommandError("--yaml and --lang need a rule set: damas rules NAME")
        _list(arguments.json)
        return
    rules = get_rules(arguments.name)
    if arguments.yaml:
        print(to_yaml(rules), end="")
        return
    language = arguments.lang or "en"
    sections = explain(rules, language)
    if arguments.json:
        explanation = [{"heading": heading, "sentences": sentences} for heading, sentences in sections]
        print_json({**describe(rules), "explanation": explanation})
        return
    from rich.markup import escape
    from rich.padding import Padding

    title = rules.title if language == "en" else titles_of(rules)[language]  # its own title is English, and says more
    parts: list[Any] = [f"[bold]{escape(rules.name)}[/bold]: {escape(title)}"]
    for heading, sentences in sections:
        parts += ["", f"[bold]{heading}[/bold]", *(Padding(sentence, (0, 0, 0, 2)) for sentence in sentences)]
    show(*parts)


def _list(as_json: bool) -> None:
    if as_json:
        print_json([describe(rules) for rules in RULE_SETS.values()])
        return
    from rich.table import Table

    table = Table("name", "board", "draws", "title")
    for rules in RULE_SETS.values():
        draws = [f"{rules.repetition} occurrences"] if rules.repetition else []
        draws += [f"{name}: {_limits(rules, name)} plies" for name in rules.counter_names]
        if rules.ply_cap:
            draws.append(f"{'in all' if rules.ply_cap_draws else 'stopped after'}: {rules.ply_cap} plies")
        table.add_row(rules.name, f"{rules.size}x{rules.size}", "\n".join(draws), rules.title)
    show(table)


def _limits(rules: RuleSet, counter: str) -> str:
    limits = sorted({law.plies for law in rules.draw_laws if law.counter == counter})
    return "/".join(map(str, limits))


def describe(rules: RuleSet) -> dict[str, Any]:
    """A rule set as JSON: its fields, and what follows from them."""
    document = dataclasses.asdict(rules)
    for law in document["draw_laws"]:
        law["termination"] = law["termination"].name
    return {
        **document,
        "initial_fen": format_fen(rules.initial_boards, rules.first_color, rules),
        "num_squares": rules.num_squares,
        "num_actions": rules.num_actions,
    }
