"""Write the table of codes in ``checks.md`` and its translation from the rules.

python docs/make_checks.py
"""

from __future__ import annotations

from importlib.resources import files
from itertools import groupby
from pathlib import Path

from link_translations import linked

from msh_gltf.converter.checks import all_rules
from msh_gltf.converter.language import Catalogue

PAGE = Path(__file__).with_name("checks.md")
RUSSIAN = PAGE.with_suffix(".ru.md")
START = "<!-- made by docs/make_checks.py -->\n"
#: Russian messages, the rules among them.
CATALOGUE = Catalogue(files("msh_gltf.converter").joinpath("ru.po").read_text("utf-8"))
#: What else of the tables is translated.
WORDS = {
    "| code | severity | rule | tolerant | source |": "| код | серьёзность | правило | tolerant | источник |",
    "### core model": "### модель",
    "(animation)": "(анимация)",
    "### terrain": "### ландшафт",
    "### level": "### уровень",
    "### areal map": "### карта ареалов",
    "### controller": "### контроллер",
    "### control points": "### контрольные точки",
    "### footings, node properties": "### опоры и свойства узлов",
    "### unit": "### юнит",
    "### юнит, mission": "### юнит, миссия",
    "### mission": "### миссия",
}


def tables() -> str:
    """A section for each format, with a row for each rule."""
    parts = []
    for title, rules in groupby(all_rules().values(), key=lambda rule: rule.format):
        parts.append(f"\n### {title}\n\n| code | severity | rule | tolerant | source |\n")
        parts.append("|---|---|---|---|---|\n")
        for rule in rules:
            drops = f"leaves out {rule.drops}" if rule.drops else ""
            address = rule.source.removeprefix("docs/")
            source = f"[{address.removeprefix('reference/')}]({address})"
            row = (f"`{rule.code}`", rule.severity, rule.rule, drops, source)
            parts.append(f"| {' | '.join(row)} |\n")
    return "".join(parts)


def updated(text: str) -> str:
    """The page with its tables as they should be."""
    head, _, _ = text.partition(START)
    return head + START + tables()


def russian(text: str) -> str:
    """The translation with the same tables, which link to translations."""
    text = updated(text)
    for english, translated in WORDS.items():
        text = text.replace(english, translated)
    head, mark, made = text.partition(START)
    for rule in all_rules().values():
        made = made.replace(f"| {rule.rule} |", f"| {CATALOGUE.rows[rule.rule, ''][0]} |")
        if rule.drops:
            made = made.replace(f"| leaves out {rule.drops} |", f"| пропускает {CATALOGUE.rows[rule.drops, ''][0]} |")
    return linked(head + mark + made, RUSSIAN)


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text("utf-8")), "utf-8")
    RUSSIAN.write_text(russian(RUSSIAN.read_text("utf-8")), "utf-8")
