"""Mods made, installed and removed, and their conflicts named; a mod holds nothing of the game itself.

A mod is a zip of ``mod.json`` and differences (``differences``), one for each entry that changes.
It comes from anybody: names in it are looked up in the game, never used as paths, and what it
unpacks to is bounded.
"""

from __future__ import annotations

import contextlib
import io
import json
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from ...exporters.gltf_file import png_bytes
from .. import __version__
from ..errors import Conflict, ConversionError, Malformed, few, printable, quoted, reason_of, shortened
from ..files import in_any_case, read_json
from ..findings import Finding
from ..formats.kinds import SCENE_KINDS, assembly_kind, content_kind, entry_kind
from ..formats.names import escape, readable
from ..formats.nres import is_nres, read_nres
from ..formats.sidecar import sha256
from ..formats.texture import TEXM_MAGIC, read_texm
from ..kinds.check import check_assembly, finding_of, findings_in
from ..storage import not_there
from .differences import digests, overlap, touched
from .edits import GameEdits
from .history import Attributes, History, Layer, Slot, by_slot, changes, compose, is_archive, slots_of
from .merging import WHOLE, conflict
from .transaction import file_bytes
from .vault import Vault, inside

#: What owners of mods start with.
MOD = "mod:"
_FORMAT = 1
_DESCRIPTION = "mod.json"
#: Most entries of a mod, and most bytes of its description and of one of its differences.
MAX_CHANGES = 65_536
MAX_DESCRIPTION = 1 << 26
MAX_CHANGE = 1 << 28


@dataclass(frozen=True)
class Change:
    """A change of a mod.

    Attributes:
        file: the file, from the game's folder, with slashes.
        slot: what of the file it changes.
        before, after: SHA-256 of the entry's bytes; ``before`` is empty for a new one.
        attributes: directory attributes that it sets, or ``None`` each.
        stored: the difference.
    """

    file: str
    slot: Slot
    before: str
    after: str
    attributes: Attributes
    stored: bytes

    @property
    def text(self) -> str:
        """The entry or file, for messages: ``static.rlb: tower.msh``."""
        entry = self.slot.text
        return f"{printable(self.file)}: {entry}" if entry else printable(self.file)


@dataclass(frozen=True)
class Mod:
    """A mod.

    Attributes:
        name, author, version, licence: as its author says.
        tool: the version of msh-gltf that made it.
        changes: what it changes.
    """

    name: str
    author: str
    version: str
    licence: str
    tool: str
    changes: tuple[Change, ...]

    @property
    def owner(self) -> str:
        """What the history calls it."""
        return f"{MOD}{self.name}"


def make_mod(
    root: Path, name: str, *, author: str = "", version: str = "", licence: str = "", only: Iterable[str] = ()
) -> Mod:
    """Return what differs from a game's originals as a mod; what other mods brought is left out.

    ``only``: patterns of ``file::entry`` or ``file``; none: everything. Raises ConversionError: nothing differs, or
    the vault is damaged.
    """
    vault = Vault(root)
    history = History(vault.records() if vault.exists else [])
    patterns = [pattern.lower() for pattern in only]
    found: list[Change] = []
    for file, state in sorted(history.files.items()):
        own = [layer for layer in state.layers if not layer.owner.startswith(MOD)]
        own = [layer for layer in own if _is_chosen(patterns, file, layer.slot)]
        if own:
            found += _changes_of(vault, file, state.base, own, state.layers)
    if not found:
        hint = "msh-mod status lists the changes; what an installed mod brought is left out"
        raise ConversionError("has no change for a mod", file=str(root), hint=hint)
    return Mod(name, author, version, licence, __version__, tuple(found))


def _is_chosen(patterns: list[str], file: str, slot: Slot) -> bool:
    text = readable(file).lower()
    names = (text, PurePosixPath(text).name, f"{text}::{slot.text.lower()}", slot.text.lower())
    return not patterns or any(fnmatchcase(name, one) for name in names for one in patterns)


def _changes_of(vault: Vault, file: str, base: str, own: list[Layer], layers: Iterable[Layer]) -> list[Change]:
    """The changes of one file, one for each entry, from the original or from what mods made."""
    before = vault.original(base) if base else None
    try:
        after = compose(before, own, vault.change, file)
    except Conflict:  # made on what a mod brought
        mods = [layer for layer in layers if layer.owner.startswith(MOD)]
        before, after = (compose(before, some, vault.change, file) for some in (mods, [*mods, *own]))
    assert after is not None
    found = []
    for slot, change in changes(before, after, file).items():
        made = change.difference(file, shared=True)
        found.append(Change(file, slot, *digests(made), change.attributes, made))
    return found


def write_mod(mod: Mod) -> bytes:
    """Return the bytes of a mod's file: the same for the same mod."""
    facts = {k: v for k, v in asdict(mod).items() if k != "changes"}
    rows = []
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for number, change in enumerate(mod.changes):
            row = {"file": change.file, **change.slot._asdict(), "before": change.before, "after": change.after}
            row |= {"attributes": change.attributes, "entry": change.slot.text, "size": len(change.stored)}
            rows.append({**row, "change": f"changes/{number}"})
            # the differences are compressed already
            file.writestr(zipfile.ZipInfo(f"changes/{number}"), change.stored)
        text = json.dumps({"format": _FORMAT, **facts, "changes": rows}, indent=1)
        description = zipfile.ZipInfo(_DESCRIPTION)
        description.compress_type = zipfile.ZIP_DEFLATED
        file.writestr(description, text)
    return packed.getvalue()


def read_mod(path: Path) -> Mod:
    """Read a mod; it may be anybody's.

    Raises:
        ConversionError: it is not a mod, is damaged, or claims to be too large.
    """
    data = file_bytes(path)
    if data is None and path.is_dir():
        raise ConversionError("is a directory", file=str(path), hint="the mod comes first: MOD.zip GAME")
    if data is None:
        raise not_there(path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            facts = read_json(_member(file, _DESCRIPTION, MAX_DESCRIPTION))
            if facts["format"] != _FORMAT:
                raise Malformed(f"its format is {shortened(printable(str(facts['format'])), 80)}")
            if len(facts["changes"]) > MAX_CHANGES:
                raise Malformed(f"it has {len(facts['changes'])} changes, at most {MAX_CHANGES}")
            texts = [facts[key] for key in ("name", "author", "version", "licence", "tool")]
            if not all(isinstance(text, str) and len(text) <= 1000 for text in texts):
                raise Malformed("a name or a version is not text")
            made = tuple(_change(file, row) for row in facts["changes"])
    except (
        zipfile.BadZipFile,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        NotImplementedError,
        RuntimeError,
        EOFError,
        OSError,
        RecursionError,
    ) as error:
        raise ConversionError(
            "is not a mod, or damaged", file=str(path), value=reason_of(error), hint="get it again from its author"
        ) from None
    except ConversionError as error:
        raise error.at(file=str(path)) from None
    places = {(change.file.lower(), change.slot) for change in made}
    if len(places) != len(made) or not texts[0]:
        raise ConversionError("is not a mod: it changes an entry twice", file=str(path))
    name, author, version, licence, tool = texts
    return Mod(name, author, version, licence, tool, made)


def _member(file: zipfile.ZipFile, name: str, most: int) -> bytes:
    if name not in file.namelist():
        raise Malformed(f"it lacks {name}")
    with file.open(name) as member:
        data = member.read(most + 1)
    if len(data) > most:
        raise Malformed(f"{name} has more than {most:,} bytes")
    return data


def _change(file: zipfile.ZipFile, row: dict[str, Any]) -> Change:
    where, number, sets = row["file"], row["change"], row["attributes"]
    if not isinstance(where, str) or not isinstance(number, str):
        raise Malformed("a change names no file")
    stored = _member(file, number, MAX_CHANGE)
    found = digests(stored)
    if found != (row["before"], row["after"]):
        raise Malformed(f"{number} is not the difference that {_DESCRIPTION} says")
    layer = Layer.from_row([1, "", "", [row["name"], row["nth"]], *found, sets, ""])
    return Change(where, layer.slot, *found, layer.attributes, stored)


def install(edits: GameEdits, mod: Mod) -> None:
    """Put a mod into a game; nothing is written before the commit.

    Args:
        edits: a transaction of its own, whose owner is the mod's.

    Raises:
        Conflict: it changes what another mod or edit changed, or is for another edition.
        ConversionError: it is installed, or the game lacks a file.
    """
    layers = [layer for state in edits.history.files.values() for layer in state.layers]
    if any(layer.owner == mod.owner for layer in layers):
        raise ConversionError(
            "is installed already", file=printable(mod.name), hint="remove it first: msh-mod remove NAME GAME"
        )
    for change in mod.changes:
        file = _in_game(edits, change)
        opened = edits.open(file)
        _require_edition(edits, mod, change, file)
        for other in opened.layers:
            same = (other.slot, other.before) == (change.slot, change.before)
            if same and (places := overlap(edits.read_change(other.stored), change.stored)):
                raise _with_owners(conflict(places), mod, change, [other])
        stored = edits.add_change(change.stored)
        layer = Layer(
            edits.number, mod.owner, mod.name, change.slot, change.before, change.after, change.attributes, stored
        )
        edits.set_layers(file, [*opened.wanted, layer])
        try:
            compose(opened.base, opened.wanted, edits.read_change, file)
        except ConversionError as error:
            raise _with_owners(error, mod, change, opened.layers) from None
    for change in mod.changes:  # all of the mod is there: a model, and the list of its materials
        _require_valid(edits, mod, change)


def _in_game(edits: GameEdits, change: Change) -> str:
    """A file of a mod as the game calls it; folders and files in any case."""
    root = edits.vault.root
    inside(root, change.file)  # nothing outside
    found = in_any_case(root, PurePosixPath(change.file).parts)
    file = found.relative_to(root).as_posix()
    if change.before and not found.is_file():
        raise ConversionError(
            "the game has no such file, which the mod changes",
            file=printable(change.file),
            hint="is it for another edition, or another folder?",
        )
    return file


def _require_edition(edits: GameEdits, mod: Mod, change: Change, file: str) -> None:
    """Stop where an entry that nobody changed is not the one that a mod was made for."""
    opened = edits.open(file)
    if any(layer.slot == change.slot for layer in opened.wanted):
        return  # merged row by row, or a conflict that says more
    data = opened.base
    without = [layer for layer in opened.wanted if layer.slot == Slot()]
    if change.slot.name and without:
        data = compose(data, without, edits.read_change, file)
    if change.slot.name and (data is None or not is_archive(data)):
        fits = not change.before
    else:
        value = _value_in(data, file, change)
        fits = not change.before if value is None else sha256(value) in (change.before, change.after)
    if fits:
        return
    raise Conflict(
        f"is not the one that {printable(mod.name)} was made for",
        file=printable(file),
        entry=change.slot.text or None,
        hint="it is for another edition of the game, or another program changed this entry",
    )


def _value_in(data: bytes | None, file: str, change: Change) -> bytes | None:
    """The bytes of the entry that a change is of; ``None``: there is none."""
    if data is None or not change.slot.name:
        return data
    archive = read_nres(data, file)
    index = slots_of(archive).get(change.slot)
    return None if index is None else bytes(archive.entries[index].payload)


def _require_valid(edits: GameEdits, mod: Mod, change: Change) -> None:
    """Stop where a merge has a finding that neither side has alone."""
    file = _in_game(edits, change)
    opened = edits.open(file)
    if not any(layer.slot == change.slot for layer in opened.layers):
        return
    known = [opened.now]
    with contextlib.suppress(Conflict):  # the mod was made on what the others brought
        mine = [layer for layer in opened.wanted if layer.owner == mod.owner]
        known.append(compose(opened.base, mine, edits.read_change, file))
    before = {(f.code, f.table) for data in known for f in _findings(edits, change, file, data)}
    after = compose(opened.base, opened.wanted, edits.read_change, file)
    for finding in _findings(edits, change, file, after):
        if (finding.code, finding.table) not in before:
            problem = Conflict(f"would not be valid with both changes: {finding}")
            raise _with_owners(problem, mod, change, opened.layers)


def _findings(edits: GameEdits, change: Change, file: str, data: bytes | None) -> list[Finding]:
    if data is None:
        return []
    if not is_nres(data):
        kind = assembly_kind(file, data[:4])
        try:
            return [] if kind is None else list(check_assembly(kind, data, file, None))
        except ConversionError as error:
            return [finding_of(error)]
    archive, path = read_nres(data, file), inside(edits.vault.root, file)
    index = slots_of(archive).get(change.slot) if change.slot.name else None
    if change.slot.name and index is None:
        return []
    try:
        kind = content_kind(data, file) if index is None else entry_kind(archive.entries[index], "")
    except ConversionError:
        return []
    return findings_in(archive, path, index, kind) if kind in SCENE_KINDS else []


def _with_owners(error: ConversionError, mod: Mod, change: Change, layers: Iterable[Layer]) -> ConversionError:
    """A conflict that names both sides."""
    others = by_slot(layers).get(change.slot, [])
    names = sorted({_brought_by(layer) for layer in others}) or ["the game"]
    error.hint = (
        f"{printable(mod.name)} and {printable(', '.join(names))} both change it; remove one of "
        "them, or ask their authors"
    )
    return error.at(file=printable(change.file), entry=change.slot.text or None)


def _brought_by(layer: Layer) -> str:
    """A mod's name, or the model or texture that an edit came from."""
    is_mod = layer.owner.startswith(MOD)
    return layer.owner.removeprefix(MOD) if is_mod else f"your edit of {layer.source}"


def remove(edits: GameEdits, name: str) -> None:
    """Take a mod out of a game; nothing is written before the commit.

    Raises:
        ConversionError: it is not installed, or a later change needs it.
    """
    owner, found = f"{MOD}{name}", False
    for file, state in edits.history.files.items():
        if any(layer.owner == owner for layer in state.layers):
            opened = edits.open(file)
            edits.set_layers(file, [layer for layer in opened.wanted if layer.owner != owner])
            found = True
    if not found:
        names = {layer.owner.removeprefix(MOD) for one in edits.history.files.values() for layer in one.layers}
        near = [printable(one) for one in sorted(names) if one.casefold() == name.casefold()]
        hint = f"did you mean {quoted(near[0])}?" if near else "msh-mod list GAME shows which are"
        raise ConversionError("is not installed", file=printable(name), hint=hint)
    try:
        edits.planned()
    except Conflict as error:
        error.hint = f"a later change was made on what {printable(name)} brought: undo that first"
        raise


def installed(root: Path) -> list[dict[str, Any]]:
    """Return the mods in force in a game: name, author, version, when, how many entries.

    Raises:
        ConversionError: the vault is damaged.
    """
    vault = Vault(root)
    history = History(vault.records() if vault.exists else [])
    counts: dict[str, int] = {}
    for state in history.files.values():
        for layer in state.layers:
            if layer.owner.startswith(MOD):
                counts[layer.owner] = counts.get(layer.owner, 0) + 1
    found = []
    for owner, count in counts.items():
        record = next(r for r in reversed(history.records) if r["owner"] == owner)
        facts = record.get("mod") if isinstance(record.get("mod"), dict) else {}
        about = {key: str(facts.get(key, "")) for key in ("author", "version", "licence")}
        found.append({"name": owner.removeprefix(MOD), **about, "time": record["time"], "entries": count})
    return found


def shown_textures(edits: GameEdits, mod: Mod) -> Iterator[tuple[str, bytes]]:
    """Yield the textures that a mod changes, as PNG files before and after.

    ``edits``: a transaction that :func:`install` has planned. Raises ConversionError: a texture is damaged.
    """
    for change in mod.changes:
        opened = edits.open(_in_game(edits, change))
        after = compose(opened.base, opened.wanted, edits.read_change, opened.file)
        for data, when in ((opened.now, "before"), (after, "after")):
            texture = _value_in(data, opened.file, change)
            if texture is not None and texture[:4] == TEXM_MAGIC:
                name = escape(change.slot.text or PurePosixPath(change.file).name)
                yield f"{name}.{when}.png", png_bytes(read_texm(texture, change.text).rgba())


def describe(change: Change) -> list[str]:
    """Return what a change of a mod changes, a line for each table."""
    lines = []
    for one in touched(change.stored):
        what = one.table if one.table == WHOLE else f"{one.table}: {one.kind}"
        lines.append(f"{what} {few([*map(str, one.rows)], 8)}".rstrip())
    return lines
