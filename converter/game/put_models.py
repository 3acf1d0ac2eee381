"""Put one new model into an archive of a game, with what goes with it, and give it a key.

``gltf2msh MODEL --into ARCHIVE --add`` and *Put Back* of the Blender extension come here; runs over
a game have ``write_game``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..errors import ConversionError, printable
from ..files import read_file
from ..formats.kinds import MODEL_TYPE, Kind, content_kind, models_in
from ..formats.names import decode_text, readable
from ..formats.nres import is_nres
from ..formats.registry import REGISTRY
from ..kinds.companions import with_wear
from ..kinds.game import Game, find_game, majority_of
from ..kinds.import_result import ImportResult
from ..kinds.object_keys import key_of_model, require_registry, with_key
from ..kinds.open_files import open_nres
from ..scene.dialect import Dialect
from .put_libraries import LibraryPlan
from .replace_entry import with_companions, with_new_entry


@dataclass(frozen=True)
class Destination:
    """Where a new model goes.

    Attributes:
        archive: the archive.
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
        archive, name, tag: as of :class:`Destination`.
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
        to: where it goes.
        result: the model.
        force: replace an entry of its name that is another model.
        hint: what the user can do about such a one.

    Raises:
        ConversionError: it is not a model, its name is taken, or does not fit.
    """
    if content_kind(result.data, result.name) is not Kind.MODEL:
        raise ConversionError("is not a model, which alone can be added", file=result.name)
    one = plan.open(to.archive)
    if one.archive.entries and not models_in(one.archive):
        raise ConversionError("has no models", file=str(to.archive), hint="name an archive that has some")
    archive, there = with_new_entry(one.archive, to.name, MODEL_TYPE, result.data, force=force, hint=hint)
    archive, messages = with_wear(archive, to.name, result.wear)
    archive = with_companions(archive, to.name, result.own_companions, hint, force=force)
    one.archive = archive
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
    require_registry(registry.archive)
    key = key_of_model(plan.open(to.archive).archive, source, to.name, to.tag)
    before = registry.archive
    registry.archive, messages = with_key(before, key)
    plan.messages += messages
    if registry.archive is not before:
        name = printable(decode_text(key.name))
        plan.messages.append(f"object key {name!r} is new in {registry.path.name}")


def _inside(archive: Path, game: Path) -> Path:
    """The path of an archive from the game's directory; links are followed where they must be."""
    for file, folder in ((archive.absolute(), game.absolute()), (archive.resolve(), game.resolve())):
        if file.is_relative_to(folder):
            return file.relative_to(folder)
    raise ConversionError(
        "lies outside the game", file=str(archive), value=str(game), hint="name an archive in the game's folder"
    )
