"""Every rule about every format, once: code, severity, source, why it matters, how to mend it.

``converter.checks.model_structure`` makes findings of them; ``docs/checks.md`` and ``msh-inspect
--explain`` show them.
"""

from __future__ import annotations

from . import animation, areal, batches, container, model, terrain, text
from .rule import Mode, Rule, Severity

__all__ = ["RULES", "Mode", "Rule", "Severity", "near"]

#: Code -> rule, in the order in which they are listed.
RULES: dict[str, Rule] = {
    rule.code: rule
    for part in (container, model, batches, animation, terrain, areal, text)
    for rule in part.RULES
}


def near(code: str) -> list[str]:
    """Codes that look like one that does not exist, the nearest first; may be empty."""
    from difflib import get_close_matches

    wanted = code.strip().lower()
    matches = get_close_matches(wanted, RULES, 4)
    return matches or [known for known in RULES if wanted and wanted in known][:4]
