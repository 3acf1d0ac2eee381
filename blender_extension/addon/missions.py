"""Units and missions in Blender: the game that they are in, and collections by kind and clan.

Every object says what it is in its custom property ``msh`` (docs/reference/gltf.md).
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import bpy

from .converter.errors import ConversionError
from .converter.formats.mission import BUILDING, OBJECT_KINDS, UNIT
from .converter.kinds.game import find_game
from .state import game_folders

_PLURALS = {"building": "buildings", "unit": "units", "vegetation": "vegetation", "rock": "rocks"}


def game_of_file(context: bpy.types.Context, path: Path) -> Path:
    """The game that a unit or a mission is resolved in: the one around it, else the preferences'.

    Raises:
        ConversionError: there is none.
    """
    found = find_game(path)
    for folder in game_folders(context) if found is None else ():
        found = find_game(Path(folder))
    if found is None:
        raise ConversionError(
            "lies in no game: no folder around it has objects.rlb",
            file=str(path),
            hint="name the game's folder in Edit > Preferences > Add-ons > MSH",
        )
    return found


def named_game(context: bpy.types.Context, named: str) -> Path:
    """The game's folder: as named, that of the preferences, or the one around the open model.

    Raises:
        ConversionError: there is none.
    """
    folders = [bpy.path.abspath(named)] if named else [*game_folders(context)]
    if not folders and context.scene.msh_gltf.path:
        folders = [context.scene.msh_gltf.path]
    for folder in folders:
        found = find_game(Path(folder))
        if found is not None:
            return found
    raise ConversionError(
        "has no objects.rlb" if folders else "no game's folder is named",
        file=folders[0] if folders else None,
        hint="name the game's folder in Edit > Preferences > Add-ons > MSH",
    )


def about(thing: bpy.types.Object) -> Mapping:
    """What an object says of itself; empty where it says nothing."""
    found = thing.get("msh")
    return found if hasattr(found, "get") else {}


def sort_by_kind(scene: bpy.types.Scene, clans: list[str]) -> None:
    """Move what a mission places into collections: by kind, and buildings and units by clan.

    Args:
        scene: its first collection has the objects, as the importer left them.
        clans: names by row.
    """
    main = scene.collection.children[0]
    made: dict[str, bpy.types.Collection] = {}
    for top in [one for one in main.objects if about(one).get("kind") == "object"]:
        kind, clan = about(top).get("object_kind"), about(top).get("clan")
        if not isinstance(kind, int) or not 0 <= kind < len(OBJECT_KINDS):
            continue
        home = _child(main, f"{scene.name}.{_PLURALS[OBJECT_KINDS[kind]]}", made)
        if kind in (BUILDING, UNIT):
            known = isinstance(clan, int) and 0 <= clan < len(clans)
            name = (clans[clan] if known else "") or f"clan {clan}"
            home = _child(home, f"{home.name}.{name}", made)
        move_to(home, (top, *top.children_recursive), main)


def move_to(home: bpy.types.Collection, things: Iterable[bpy.types.Object], before: bpy.types.Collection) -> None:
    """Move objects to another collection."""
    for one in things:
        home.objects.link(one)
        before.objects.unlink(one)


def _child(above: bpy.types.Collection, name: str, made: dict[str, bpy.types.Collection]) -> bpy.types.Collection:
    if name not in made:
        made[name] = bpy.data.collections.new(name)
        above.children.link(made[name])
    return made[name]
