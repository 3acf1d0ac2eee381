"""The object keys of models that a run adds: entries of ``objects.rlb`` (``--tag``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ..errors import ConversionError, printable
from ..files import read_file
from ..formats.kinds import MODEL_TYPE
from ..formats.names import decode_text, stem
from ..formats.nres import Archive, read_nres
from ..formats.registry import REGISTRY, TAGS
from ..kinds.object_keys import ObjectKey, key_of_model, other_tag, require_registry, with_key
from .brought import JOIN, Brought
from .import_item import Edited
from .outcome import Outcome
from .walk import text_of


class NewKeys:
    """Collects the keys of new models; the registry is written when all of them are known.

    A model that an earlier run gave a key keeps it, also without ``--tag``.

    Attributes:
        path: of the registry, from the game's directory; ``None``: there is none.
    """

    def __init__(self, game: Path, files: Sequence[Path], tag: str | None, brought: Brought) -> None:
        """Open the registry, if it is needed.

        Args:
            game: the game's directory.
            files: the files in it, from there.
            tag: what new models are, a key of ``TAGS``; ``None``: they get no keys.
            brought: what earlier runs brought into the game.

        Raises:
            ConversionError: a tag is given, and there is no registry.
        """
        self._tag = tag
        self.path = next((path for path in files if text_of(path).lower() == REGISTRY), None)
        #: The tag of each key that an earlier run made, by the model's name in reports.
        self._before: dict[str, str] = {}
        self._keys: list[tuple[ObjectKey, Outcome]] = []
        self._archive = Archive(REGISTRY)
        own = Brought() if self.path is None else brought.of(text_of(self.path))
        if tag is None and not own.layers:
            return
        if self.path is None:
            raise ConversionError(f"has no {REGISTRY}", file=str(game), hint="give the whole game, in its archives")
        label = text_of(self.path)
        now = read_nres(bytes(read_file(game / self.path)), label)
        for _, _, layer in own.layers:
            index = now.find(bytes.fromhex(layer.slot.name))
            if index is not None and (there := now.entries[index].type_text) in TAGS:
                self._before |= dict.fromkeys(layer.item.split(JOIN), there)
        if own.layers:
            now = read_nres(own.was(label) or b"", label)
        self._archive = now
        if tag is not None:
            require_registry(self._archive)

    def __bool__(self) -> bool:
        return bool(self._keys)

    def names(self, models: Iterable[tuple[str, str]]) -> tuple[str, ...]:
        """Return the keys of new models that will have one, if nothing is wrong with them.

        Args:
            models: the name of each in reports, and the name of its entry.
        """
        return tuple(stem(name) for id, name in models if self._tag or id in self._before)

    def add(self, archive: Archive, edited: Edited, outcome: Outcome) -> None:
        """Give a new model a key, if it is to have one.

        Args:
            archive: with the model and all that belongs to it.
            edited: the model.
            outcome: the model's; it gets the key and warnings.

        Raises:
            ConversionError: the key is another model's, or a name is too long for it.
        """
        before = self._before.get(outcome.id)
        tag = before or self._tag
        if tag is None or edited.name is None or edited.type_id != MODEL_TYPE:
            return
        key = key_of_model(archive, edited.source, edited.name, tag)
        self._archive, messages = with_key(self._archive, key)
        name = printable(decode_text(key.name))
        if before and self._tag not in (None, before):
            messages.append(other_tag(name, before))
        outcome.warnings += messages
        outcome.facts["key"] = name
        self._keys.append((key, outcome))

    def applied(self, archive: Archive, now: Archive) -> tuple[Archive, dict[bytes, str]]:
        """Return the registry with all keys, and which model each of them belongs to.

        Args:
            archive: the registry as it was converted, with other edits.
            now: as it is; the outcomes of models whose key differs there say so.
        """
        for key, outcome in self._keys:
            archive, _ = with_key(archive, key)
            index, there = archive.find(key.name), now.find(key.name)
            assert index is not None
            payload = archive.entries[index].payload
            is_new = there is None or now.entries[there].payload != payload
            if is_new and outcome.status == "unchanged":
                outcome.status, outcome.detail = "changed", f"{REGISTRY} gets its key"
        return archive, {key.name: outcome.id for key, outcome in self._keys}
