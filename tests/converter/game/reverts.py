"""Take one rule of the door out, and count the random sequences until a machine notices.

``python -m tests.converter.game.reverts`` tries all, ``... Game`` and ``... Commands`` those of a machine, ``... NAME``
one, and prints the rows of the table in docs/fuzzing.md. Each is a text of the product that is replaced while its
module is loaded; the files stay as they are.
"""

import subprocess
import sys
import traceback
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from time import process_time
from types import CodeType

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

#: Functions here, which are no steps of a machine.
OURS = ("attempt", "main", "<module>")
#: Sequences of the class, and of the commands.
MOST = {"Game": 2000, "Commands": 100}


@dataclass(frozen=True)
class Revert:
    """A rule that is taken out.

    Attributes:
        file: the module, from ``converter/game``.
        text, instead: what stands there, once, and what takes its place.
        machine: which random sequences are to notice.
    """

    file: str
    text: str
    instead: str
    machine: str = "Game"


REVERTS = {
    "the original is kept before a file changes": Revert(
        "edits.py", "self.vault.keep_original(base, path if same else None)", "pass"
    ),
    "what another program wrote is kept": Revert("edits.py", 'row["kept"] = self.vault.keep_original(there)', "pass"),
    "what another program wrote stays": Revert("edits.py", "base, lost = taken_out(", "_, lost = taken_out("),
    "a file that another program put back has none of our changes": Revert(
        "edits.py", "            return Opened(file, now, now)\n        base =", "            pass\n        base ="
    ),
    "what another program replaced is not in force": Revert(
        "edits.py", "kept = in_order(without(left, lost))", "kept = layers"
    ),
    "only an output's own changes are taken back": Revert(
        "edits.py", "kept = [layer for layer in opened.wanted if not mine(layer)]", "kept = []"
    ),
    "an edit that is gone is taken back": Revert(
        "edits.py", "kept = [layer for layer in opened.wanted if not mine(layer)]", "kept = list(opened.wanted)"
    ),
    "a file that changes while a run is at work is not replaced": Revert(
        "edits.py", "require_unchanged(inside(self._source.root, file), now)", "pass"
    ),
    "a copy has all that is in force": Revert("edits.py", "self.history.files.items(), *self._own", "(), *self._own"),
    "files come back where a later one fails": Revert(
        "transaction.py", "_write_back(inside(vault.root, file), before[file])", "pass"
    ),
    "what a killed run left is ended": Revert(
        "transaction.py",
        "if intent is None:\n        vault.clear_staged()",
        "if intent is not None:\n        vault.finish()\n    if True:\n        vault.clear_staged()",
    ),
    "a killed run that is not ready is taken back": Revert("transaction.py", "if is_whole:", "if True:"),
    "a killed run that is ready is completed": Revert(
        "transaction.py", "_complete(vault, history, str(i), file, rows[file])", "pass"
    ),
    "recovery records what it kept": Revert("transaction.py", "if found := {", "if (found := {}) and {"),
    "one run at a time": Revert("transaction.py", "stack.enter_context(only_run(vault.root))", "True"),
    "an original is checked when it is read": Revert("vault.py", "if sha256(data) != digest:", "if False:"),
    "a damaged original is kept again": Revert(
        "vault.py", "if not self.has_original(digest):", 'if not is_taken(self.path / "originals" / digest):'
    ),
    "a link in the vault is not followed": Revert(
        "vault.py", "if is_taken(path) and not _is_directory(path):", "if False:"
    ),
    "a folder that is a link leads nowhere": Revert("vault.py", "if path.is_symlink():", "if False:"),
    "undo takes back what was replaced": Revert("undo.py", "layers += without(removed, layers)", "pass"),
    "undo stops where a later change was made on it": Revert("undo.py", "    if other > number:\n", "    if False:\n"),
    "undo stops where it would not be exact": Revert(
        "undo.py", "for slot in sorted(slots) if was.get(slot)", "for slot in () if was.get(slot)"
    ),
    "undo gives a foreign file back byte for byte": Revert(
        "history.py", "self._kept[file, found.base, there] = found.after", "pass"
    ),
    "an undo is recorded as one": Revert("history.py", "self.undone.add(undoes)", "pass"),
    "undo gives a file back byte for byte": Revert(
        "undo.py", 'if digest_of_file(opened.now) == facts["after"]:', "if False:"
    ),
    "two games are completed, or taken back, alike": Revert(
        "transaction.py", " and _is_done_beside(vault, intent)\n", "\n"
    ),
    "what the other game has already is not taken back": Revert(
        "transaction.py", "if beside is not None and _is_done_beside(vault, intent):", "if False:"
    ),
    "a game changes within the one before it": Revert(
        "transaction.py",
        "if beside is not None:\n                beside.commit()\n            vault.append(record)",
        "vault.append(record)\n            if beside is not None:\n                beside.commit()",
    ),
    "restore brings a file back that is gone": Revert("undo.py", "if opened.now is None and first:", "if False:"),
    "an export shows what is in the game": Revert(
        "export_run.py", "replace(outcome.result, edits=edits)", "replace(outcome.result, edits=0)", "Commands"
    ),
    "an output keeps its number": Revert("manifest.py", 'id=str(facts.get("id", ""))[:64]', 'id=""', "Commands"),
    "a glTF that is gone changes nothing": Revert(
        "write_game.py",
        "return any(outcome is not None and outcome.is_undecided for outcome in origins)",
        "return False",
        "Commands",
    ),
    "another output's changes stay": Revert(
        "import_item.py",
        "        if layer.owner == door.owner and not is_shown(layer.number, layer)\n",
        "        if not is_shown(layer.number, layer)\n",
        "Commands",
    ),
    "what an export shows is not taken back": Revert(
        "import_item.py",
        "        if layer.owner == door.owner and not is_shown(layer.number, layer)\n",
        "        if layer.owner == door.owner\n",
        "Commands",
    ),
    "changes that cancel are not in force": Revert("edits.py", "if change.after in values:", "if False:", "Commands"),
    "what came back where an edit cancelled it is known": Revert(
        "import_item.py", "left.add((readable(file[len(prefix) :]), layer.slot, layer.before))", "pass", "Commands"
    ),
}


def take_out(revert: Revert) -> None:
    """Load a module without a rule from here on."""
    whole = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, name: str) -> CodeType | None:
        if not self.path.endswith(f"converter/game/{revert.file}"):
            return whole(self, name)
        source = self.get_data(self.path).decode()
        assert source.count(revert.text) == 1, (revert, source.count(revert.text))
        return compile(source.replace(revert.text, revert.instead), self.path, "exec", dont_inherit=True)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


def attempt(name: str) -> None:
    """Run sequences without a rule until one fails."""
    revert = REVERTS[name]
    take_out(revert)
    from tests.converter.game.commands import Commands
    from tests.converter.game.machine import Game

    base = Game if revert.machine == "Game" else Commands
    count = 0

    class Counted(base):  # type: ignore[misc, valid-type]
        def teardown(self) -> None:
            nonlocal count
            count += 1
            super().teardown()

    few = settings(
        max_examples=MOST[revert.machine],
        stateful_step_count=12,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
        report_multiple_bugs=False,
    )
    try:
        run_state_machine_as_test(Counted, settings=few)
    except BaseException as error:
        row = f"{count:,} | {process_time():.0f} s | {', '.join(reasons(error))}"
    else:
        row = f"NOT in {count:,} | {process_time():.0f} s |"
    print(f"| {name} | {revert.machine} | {row} |", flush=True)
    if "NOT" in row:
        sys.exit(1)


def reasons(error: BaseException) -> list[str]:
    """The steps that failed, and how."""
    if isinstance(error, BaseExceptionGroup):
        return [reason for one in error.exceptions for reason in reasons(one)]
    steps = [f.name for f in traceback.extract_tb(error.__traceback__) if "tests/converter/game/" in f.filename]
    return [f"{next((s for s in steps if s not in OURS), '')}: {type(error).__name__}"]


def main() -> int:
    if sys.argv[1:] and sys.argv[1] in REVERTS:
        attempt(sys.argv[1])
        return 0
    command = [sys.executable, "-m", "tests.converter.game.reverts"]
    names = [name for name, revert in REVERTS.items() if sys.argv[1:] in ([], [revert.machine])]
    return sum(subprocess.run([*command, name], stderr=subprocess.DEVNULL, check=False).returncode for name in names)


if __name__ == "__main__":
    sys.exit(main())
