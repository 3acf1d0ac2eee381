"""Put new models into archives of a game, with what goes with them and their object keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import ConversionError, in_words, printable
from ..files import read_file
from ..formats.kinds import MODEL_TYPE, Kind, content_kind, models_in
from ..formats.names import decode_text, readable, stem
from ..formats.nres import Archive, is_nres, read_nres
from ..formats.nres_edits import ArchiveEdits
from ..formats.objects import REGISTRY, TAGS
from ..kinds.import_result import ImportResult, put_wear
from ..kinds.open_files import open_nres
from ..kinds.registry import Game, ObjectKey, find_game, key_of_model, majority_of, other_tag, put_key, require_registry
from ..scene.dialect import Dialect
from ..storage import real_path
from .import_item import JOIN, Brought, Edited
from .library_edits import LibraryPlan
from .outcome import Outcome
from .replace_entry import put_companions, put_new_entry
from .walk import text_of


@dataclass(frozen=True)
class Destination:
    """Where a new model goes.

    Attributes:
        name: the model's entry.
        tag: what it is in the object registry, a key of ``TAGS``; ``None``: it gets no key.
        game: the directory with the registry; ``None``: the archive is in no game.
    """

    archive: Path
    name: bytes
    tag: str | None = None
    game: Path | None = None

    @property
    def folders(self) -> list[Path]:
        """Where the game's libraries are looked for."""
        own = self.archive.absolute().parent
        return [own, own.parent] if self.game is None else [self.game, own]


def find_destination(archive: Path, name: bytes, tag: str | None = None, game: Path | None = None) -> Destination:
    """Return where a new model goes.

    Args:
        game: a directory in the game; ``None``: the game is the one around the archive.

    Raises:
        ConversionError: the archive is not one, or a tag needs a game that is not there.
    """
    if not archive.is_file() or not is_nres(read_file(archive)[:4]):
        raise ConversionError("is not an archive", file=str(archive), hint="name one of the game, as static.rlb")
    if (kind := content_kind(read_file(archive), str(archive))) is not Kind.ARCHIVE:
        raise ConversionError(
            "is one file of the game, not an archive",
            file=str(archive),
            value=str(kind),
            hint="name an archive of models, as static.rlb",
        )
    opened = open_nres(archive, str(archive))
    if opened.entries and not models_in(opened):
        raise ConversionError("has no models", file=str(archive), hint="name an archive that has some, as static.rlb")
    root = find_game(archive.parent if game is None else game)
    if tag is not None and root is None:
        raise ConversionError(
            f"lies in no game: no folder around it has {REGISTRY}",
            file=str(game or archive),
            hint="name the game's folder",
        )
    return Destination(archive, name, tag, root)


def dialect_of(archive: Path) -> Dialect:
    """Return the dialect that an archive's models are written in: that of most of them."""
    decision = majority_of(open_nres(archive, str(archive)))
    return Dialect.SPEC if decision is None else decision.dialect


def add_model(plan: LibraryPlan, to: Destination, result: ImportResult, *, force: bool = False, hint: str = "") -> None:
    """Plan a new model as an entry of an archive; nothing is written.

    Its ``.wea`` and control points go with it. What the plan's history knows, and this model does
    not write any more, is taken back.

    Args:
        plan: what the model changes in the libraries; the archive and the registry are added.

    Raises:
        ConversionError: it is not a model, its name is taken, or does not fit.
    """
    if content_kind(result.data, result.name) is not Kind.MODEL:
        raise ConversionError(
            "is not a model, which alone can be added", file=result.name, hint="put it back as an edit of what it was"
        )
    one = plan.open(to.archive)
    if one.edits.entries and not models_in(one.edits.archive()):
        raise ConversionError("has no models", file=str(to.archive), hint="name an archive that has some")
    with one.edits.whole():
        there = put_new_entry(one.edits, to.name, MODEL_TYPE, result.data, force=force, hint=hint)
        messages = put_wear(one.edits, to.name, result.wear)
        put_companions(one.edits, to.name, result.own_companions, hint, force=force)
    plan.messages += messages
    if there is None:
        plan.messages.append(f"{printable(decode_text(to.name))} is new in {one.path.name}")
    if to.tag is not None:
        _add_key(plan, to)
    plan.games.take_back_rest(to.archive)


def _add_key(plan: LibraryPlan, to: Destination) -> None:
    assert to.tag is not None
    assert to.game is not None
    path = Game(to.game).file(REGISTRY)
    assert path is not None
    source = readable(_inside(to.archive, to.game).as_posix())
    registry = plan.open(path)
    require_registry(registry.edits.archive())
    key = key_of_model(plan.open(to.archive).edits, source, to.name, to.tag)
    plan.messages += put_key(registry.edits, key)
    if registry.edits.archive() is not registry.edits.before:
        name = printable(decode_text(key.name))
        plan.messages.append(f"object key {in_words(name)} is new in {registry.path.name}")


def _inside(archive: Path, game: Path) -> Path:
    """The path of an archive from the game's directory; links are followed where they must be."""
    for file, folder in ((archive.absolute(), game.absolute()), (real_path(archive), real_path(game))):
        if file.is_relative_to(folder):
            return file.relative_to(folder)
    raise ConversionError(
        "lies outside the game", file=str(archive), value=str(game), hint="name an archive in the game's folder"
    )


class NewKeys:
    """Collects the keys of new models; the registry is written when all of them are known.

    A model that an earlier run gave a key keeps it, also without ``--tag``.

    Attributes:
        path: of the registry, from the game's directory; ``None``: there is none.
    """

    def __init__(self, game: Path, files: Sequence[Path], tag: str | None, brought: Brought) -> None:
        """Open the registry, if it is needed. Raises ConversionError: a tag is given, and there is no registry.

        Args:
            tag: what new models are, a key of ``TAGS``; ``None``: they get no keys.
        """
        self._tag = tag
        self.path = next((path for path in files if text_of(path).lower() == REGISTRY), None)
        #: The tag of each key that an earlier run made, by the model's name in reports.
        self._before: dict[str, str] = {}
        self._keys: list[tuple[ObjectKey, Outcome]] = []
        self._archive = ArchiveEdits(Archive(REGISTRY))
        own = [] if self.path is None else brought.layers_of(text_of(self.path))
        if tag is None and not own:
            return
        if self.path is None:
            raise ConversionError(f"has no {REGISTRY}", file=str(game), hint="give the whole game, in its archives")
        label = text_of(self.path)
        now = read_nres(bytes(read_file(game / self.path)), label)
        for layer in own:
            index = now.find(bytes.fromhex(layer.slot.name))
            if index is not None and (there := now.entries[index].type_text) in TAGS:
                self._before |= dict.fromkeys(layer.item.split(JOIN), there)
        if own:
            now = brought.archive(game / self.path, label)
        self._archive = ArchiveEdits(now)
        if tag is not None:
            require_registry(now)

    def __bool__(self) -> bool:
        return bool(self._keys)

    def names(self, models: Iterable[tuple[str, str]]) -> tuple[str, ...]:
        """Return the keys of new models that will have one, if nothing is wrong with them."""
        return tuple(stem(name) for id, name in models if self._tag or id in self._before)

    def add(self, archive: ArchiveEdits, edited: Edited, outcome: Outcome) -> None:
        """Give a new model a key, if it is to have one.

        Args:
            archive: with the model and all that belongs to it.

        Raises:
            ConversionError: the key is another model's, or a name is too long for it.
        """
        before = self._before.get(outcome.id)
        tag = before or self._tag
        if tag is None or edited.name is None or edited.type_id != MODEL_TYPE:
            return
        key = key_of_model(archive, edited.source, edited.name, tag)
        messages = put_key(self._archive, key)
        name = printable(decode_text(key.name))
        if before and self._tag not in (None, before):
            messages.append(other_tag(name, before))
        outcome.warnings += messages
        outcome.facts["key"] = name
        self._keys.append((key, outcome))

    def put_into(self, archive: ArchiveEdits, now: Archive) -> dict[bytes, str]:
        """Put all keys into the registry; return which model each of them belongs to.

        Args:
            archive: the registry as it was converted, with other edits.
            now: as it is; the outcomes of models whose key differs there say so.
        """
        for key, outcome in self._keys:
            put_key(archive, key)
            index, there = archive.find(key.name), now.find(key.name)
            assert index is not None
            payload = archive.entries[index].payload
            is_new = there is None or now.entries[there].payload != payload
            if is_new and outcome.status == "unchanged":
                outcome.status, outcome.detail = "changed", f"{REGISTRY} gets its key"
        return {key.name: outcome.id for key, outcome in self._keys}
