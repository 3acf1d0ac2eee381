"""Register new models in ``objects.rlb``: the object keys by which missions and units name them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ConversionError, plural, printable
from ..formats.control_points import POINTS_ENDING
from ..formats.controller import CONTROLLER_ENDING
from ..formats.model_parts import FOOTING_ENDING, NODE_PROPERTIES_ENDING
from ..formats.names import decode_text, encode_name, stem
from ..formats.nres import Archive
from ..formats.nres_edits import add_entry, replace_entry
from ..formats.registry import REGISTRY_ROW_DTYPE, Member, is_registry, read_registry
from ..formats.wear import WEAR_ENDING

#: What a key names of a new model, in the order of its rows.
_ENDINGS = (".msh", WEAR_ENDING, POINTS_ENDING, NODE_PROPERTIES_ENDING, CONTROLLER_ENDING, FOOTING_ENDING)
#: The longest name that a row holds with its NUL, and that units and missions can name.
_LONGEST = REGISTRY_ROW_DTYPE["member"].itemsize - 1


@dataclass(frozen=True)
class ObjectKey:
    """A key for a new model.

    Attributes:
        name: as bytes.
        tag: what it is, a key of ``TAGS``.
        members: its files, the model first.
    """

    name: bytes
    tag: str
    members: tuple[Member, ...]


def key_of_model(archive: Archive, path: str, model: bytes, tag: str) -> ObjectKey:
    """Return the key of a model: its stem, with the files of that stem that its archive has.

    Args:
        archive: where the model is.
        path: of the archive from the game's directory, with slashes.
        model: the entry's name.
        tag: what it is.

    Raises:
        ConversionError: a name that a row of the registry cannot hold.
    """
    own, members = stem(decode_text(model)), []
    for ending in _ENDINGS:
        found = archive.find(encode_name(f"{own}{ending}"))
        if found is not None:
            members.append(Member(path.replace("/", "\\"), archive.entries[found].name))
    for text, hint in (
        (path, "put it into an archive with a shorter path"),
        *((one.name, "give the new model a shorter name") for one in members),
    ):
        raw = encode_name(text)
        if len(raw) > _LONGEST or decode_text(raw) != text:
            raise ConversionError(
                "name does not fit into objects.rlb",
                file=path,
                value=f"{printable(text)!r}, {plural(len(raw), 'byte')}",
                expected=f"at most {_LONGEST} bytes of CP1251, the ending included",
                hint=hint,
            )
    return ObjectKey(encode_name(own), tag, tuple(members))


def require_registry(archive: Archive) -> None:
    """Refuse an archive that is not an object registry; an empty one may become one.

    Raises:
        ConversionError: it has other entries, and none of a registry's types.
    """
    if archive.entries and not is_registry(archive):
        raise ConversionError(
            "is not an object registry",
            file=archive.label,
            value=f"types {', '.join(sorted({e.type_text for e in archive.entries}))}",
            expected="entries of types like STAT",
            hint="name the game's directory",
        )


def with_key(archive: Archive, key: ObjectKey) -> tuple[Archive, list[str]]:
    """Return a registry with a key, and what the user should know.

    A key that names these files already stays as it is, its tag too. One that names this model
    gets the rows that it lacks, at its end.

    Args:
        archive: ``objects.rlb``; it is not modified.
        key: the key.

    Raises:
        ConversionError: the registry has a key of this name for something else.
    """
    index = archive.find(key.name)
    if index is None:
        type_id = int.from_bytes(key.tag.encode(), "little")
        rows = _rows(key.members)
        return add_entry(archive, key.name, type_id, rows, (len(key.members), 0, 0)), []
    entry, name = archive.entries[index], printable(decode_text(key.name))
    registry = read_registry(archive)
    there: dict[str, Member] = {}
    for member in filter(_is_named, registry.members(index)):
        there.setdefault(member.ending, member)
    wanted = {member.ending: member for member in key.members}
    others = [there[e] for e, one in wanted.items() if e in there and not _same(there[e], one)]
    if others or ".msh" not in there:
        now = (others or [*there.values()])[:1]
        raise ConversionError(
            "has the object key already, for something else",
            file=archive.label,
            entry=name,
            value=printable(str(now[0])) if now else "no files",
            expected=printable(str(wanted.get(now[0].ending if now else ".msh", key.members[0]))),
            hint="give the new model another name",
        )
    messages = []
    if entry.type_text != key.tag:
        messages.append(other_tag(name, entry.type_text))
    missing = [one for ending, one in wanted.items() if ending not in there]
    if missing:
        count = len(registry.rows[index]) + len(missing)
        rows = registry.rows[index].tobytes() + _rows(missing) + registry.tails[index]
        archive = replace_entry(archive, index, rows, attr1=count)
    return archive, messages


def other_tag(key: str, tag: str) -> str:
    """Return the warning that a key keeps another tag than the one that was given."""
    return f"object key {key!r} is there as {tag} and stays so"


def _is_named(member: Member) -> bool:
    """Whether a row is not an empty slot."""
    return bool(member.name)


def _same(one: Member, other: Member) -> bool:
    """Whether two rows name one file; ASCII case is ignored, as the game does."""
    first, second = (encode_name(str(row).replace("/", "\\")).lower() for row in (one, other))
    return first == second


def _rows(members: Sequence[Member]) -> bytes:
    rows = np.zeros(len(members), REGISTRY_ROW_DTYPE)
    for row, member in zip(rows, members, strict=True):
        for field, text in (("archive", member.archive), ("member", member.name)):
            raw = np.frombuffer(encode_name(text), np.uint8)
            row[field][: len(raw)] = raw
    return rows.tobytes()
