"""The options of exports and imports, each declared once: as a field of a data class.

A field that :func:`option` makes is an attribute of the library's class, an option of a command
(``cli/common.py``), an entry of its page and man page (``docs/make_commands.py``) and a line of
the class's docstring.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import Malformed

if TYPE_CHECKING:
    from .findings import Mode

_Class = TypeVar("_Class")


@dataclass(frozen=True)
class Declared:
    """What a command says of an option.

    Attributes:
        written: its names and what its value is called (``-o, --output PATH``); ``--no-NAME`` alone clears a field
            that is set by default.
        group: a key of ``cli.common.GROUPS``.
        help: what it does.
        example: a command line that uses it; ``docs/commands`` runs it. ``{one}`` stands for the
            command with a model, ``{library}`` with an archive, ``{run}`` with a whole game.
        default_text: what happens without it, where that is not a value.
        values: the values it has, or words for them.
        bare: the value that the option has where none follows it.
        any_case: whether these are recognised in capital and small letters.
        above: the number that its value is greater than.
        least, most: the lowest and the highest value.
        is_path: whether its text is a path.
        read: makes the value of the text; a ``Malformed`` says what is wrong.
        before: the field that it is shown before; without it options are in the order of fields.
    """

    written: str
    group: str
    help: str
    example: str
    _: KW_ONLY
    default_text: str = ""
    values: Mapping[str, Any] | tuple[str, ...] = ()
    bare: str = ""
    any_case: bool = False
    above: float | None = None
    least: int | None = None
    most: int | None = None
    is_path: bool = False
    read: Callable[[str], Any] | None = None
    before: str = ""

    @property
    def names(self) -> list[str]:
        """How it is called."""
        return [word.rstrip(",") for word in self.written.split() if word.startswith("-")]

    @property
    def metavar(self) -> str | None:
        """What its value is called."""
        last = self.written.split()[-1]
        return None if last.startswith("-") else last


def option(default: Any, written: str, group: str, help: str, example: str, **about: Any) -> Any:
    """Declare a field that is an option of a command; ``about``: the other attributes of :class:`Declared`."""
    return field(default=default, metadata={"option": Declared(written, group, help, example, **about)})


def declared(cls: type) -> dict[str, Declared]:
    """Return the fields of a data class that are options."""
    return {one.name: one.metadata["option"] for one in fields(cls) if "option" in one.metadata}


def described(cls: type[_Class]) -> type[_Class]:
    """Add the options of a data class to its docstring, which ends with its other attributes."""
    lines = [f"        {name}: {_line(about)}\n" for name, about in declared(cls).items()]
    cls.__doc__ = f"{(cls.__doc__ or '').rstrip()}\n{''.join(lines)}    "
    return cls


def _line(about: Declared) -> str:
    """What a docstring says of an option."""
    turned = "``False``: " if about.names[-1].startswith("--no-") else ""
    default = f" Default: {about.default_text}." if about.default_text else ""
    return f"{turned}{about.help}{default}"


def lod_error(text: str) -> float:
    """Return the ratio of ``--lod-error``. Raises Malformed: it is not a number from 0 to 1."""
    try:
        ratio = float(text)
    except ValueError:
        ratio = -1.0
    if not 0 <= ratio <= 1:
        raise Malformed("--lod-error takes a ratio from 0 to 1")
    return ratio


def lod_ratios(text: str) -> tuple[float, ...]:
    """Return the ratios of ``--generate-lods``.

    Raises:
        Malformed: none, too many, one that is not between 0 and 1, or one that is larger than the one before.
    """
    try:
        ratios = tuple(float(part) for part in text.split(","))
    except ValueError:
        ratios = ()
    if not 1 <= len(ratios) <= 3 or not all(0 < ratio < 1 for ratio in ratios):
        raise Malformed("--generate-lods takes one to three ratios between 0 and 1")
    if sorted(ratios, reverse=True) != list(ratios):
        raise Malformed("--generate-lods takes the largest ratio first: a further level has fewer triangles")
    return ratios


@described
@dataclass(frozen=True)
class ExportOptions:
    """How a model, a terrain, an areal map, a unit or a mission becomes glTF; ``msh2gltf --help``.

    Attributes:
        own_folder: whether the folder of the model is searched for the game's libraries, too.
        game: the directory of the game that units and missions are resolved in; ``None``: the
            nearest one above the file that has ``objects.rlb``.
        mode: what is refused; ``strict``: all that ``msh-inspect --check --strict`` reports;
            ``tolerant``: only what cannot be left out (``converter.checks.recover``).
    """

    dialect: str = option(
        "auto",
        "--dialect",
        "input",
        "How to read the fields that readers of the game disagree on; auto decides from the file and says why.",
        "{one} --dialect retail",
        values=("auto", "spec", "retail"),
    )
    fps: float = option(
        24.0,
        "--fps FPS",
        "animation",
        "Frames per second of the clip; Blender's importer works at 24.",
        "msh2gltf robot.msh --fps 30 -o fps/",
        above=0,
    )
    lod: int = option(
        0,
        "--lod, --stage N",
        "selection",
        "Row of the slot table that the default scene shows: in the game the damage stage, 0 whole.",
        "msh2gltf robot.msh --stage 1 -o damaged/",
        least=0,
        most=2,
    )
    group: int = option(
        0,
        "--group, --level N",
        "selection",
        "Column of the slot table that the default scene shows: in the game the level of detail, 4: the view.",
        "msh2gltf robot.msh --level 1 -o far/",
        least=0,
        most=4,
    )
    parts: str | None = option(
        None,
        "--parts",
        "selection",
        "Every part, or only those of the default scene; of a unit the internal parts too, or "
        "only what is seen from outside.",
        "msh2gltf robot.msh --parts visible -o parts/",
        values=("all", "visible"),
        default_text="all; of units and missions visible",
    )
    clips: bool | str = option(
        False,
        "--clips",
        "animation",
        "Keep the clips of what a mission places; states: give a model a clip for each range that its controller "
        "plays, too.",
        "msh2gltf GAME/turrets.rlb --entry e_tur_01.msh --clips states -o states/",
        values={"all": True, "states": "states"},
        bare="all",
        default_text="only the whole clip, of models and units",
    )
    subframes: int = option(
        1,
        "--subframes K",
        "animation",
        "Samples per frame of the clip.",
        "msh2gltf robot.msh --subframes 4 -o smooth/",
        least=1,
        most=64,
    )
    stored_keys: bool = option(
        False, "--keys", "animation", "Export the stored keys instead of samples.", "msh2gltf robot.msh --keys -o keys/"
    )
    paths: bool = option(
        False, "--paths", "selection", "Show the interior path graph as lines.", "msh2gltf robot.msh --paths -o paths/"
    )
    points: bool = option(
        True,
        "--points/--no-points",
        "selection",
        "Show the control points (.cpt) as empties.",
        "msh2gltf GAME/static.rlb --entry r_h_01.msh --no-points -o bare/",
    )
    textures: tuple[str, ...] = option(
        (),
        "--textures DIR",
        "appearance",
        "Look here first; may be repeated.",
        "msh2gltf robot.msh --textures GAME -o other/",
        is_path=True,
    )
    embed: bool | None = option(
        None,
        "--embed-textures",
        "appearance",
        "Put textures into the glTF, not into textures/ beside it.",
        "msh2gltf robot.msh --game GAME --embed-textures -o embedded.gltf",
        default_text="into a single .glb",
    )
    find_textures: bool = option(
        True,
        "--no-textures",
        "appearance",
        "Show a plain colour per material.",
        "msh2gltf robot.msh --no-textures -o plain/",
    )
    lightmaps: bool = option(
        True,
        "--lightmaps",
        "appearance",
        "Show lightmaps, as light that comes from the surface.",
        "msh2gltf GAME/DATA/MAPS/Tut_1/Land.msh --game GAME --lightmaps off -o dark/",
        values={"on": True, "off": False},
    )
    own_folder: bool = True
    game: str | None = None
    mode: Mode = "default"

    @property
    def visible_only(self) -> bool:
        """Whether every cell but that of the default scene is left out."""
        return self.parts == "visible"


@described
@dataclass(frozen=True)
class ImportOptions:
    """How glTF becomes a model; see ``gltf2msh --help``.

    Attributes:
        new: the file is known to be a new model, and misses no sidecar.
        libraries: whether edited colours and pictures become edits of the game's libraries, which
            the caller writes; if not, they are reported.
        game: the directory of the game whose models and units can be placed; ``None``: the one that
            the glTF lies in, if any.
        new_keys: object keys that the same run adds to it.
    """

    dialect: str = option(
        "auto",
        "--dialect",
        "input",
        "What to write; auto takes the sidecar's, the file's, else spec.",
        "gltf2msh tower.glb --dialect retail -o towers/",
        values=("auto", "spec", "retail"),
    )
    scene: str | None = option(
        None,
        "--scene NAME",
        "selection",
        "Read this scene only, by name or number.",
        "gltf2msh tower.glb --scene 0 -o scene/",
    )
    clip: str | None = option(
        None,
        "--clip NAME",
        "selection",
        "The animation to take.",
        "gltf2msh robot.glb --clip robot -o clip/",
        default_text="the first",
    )
    fps: float | None = option(
        None,
        "--fps FPS",
        "animation",
        "Frames per second of the clip.",
        "gltf2msh robot.glb --fps 24 -o fps/",
        above=0,
        default_text="by evidence: the rate that the file states, the spacing of its keys, the sidecar's clip",
    )
    reduce: bool = option(
        True, "--no-reduce", "animation", "Keep a key per frame.", "gltf2msh robot.glb --no-reduce -o keys/"
    )
    rigid_skin: bool = option(
        False,
        "--rigid-skin",
        "animation",
        "Bind each triangle of a skin to one joint.",
        "gltf2msh tower.glb --rigid-skin -o rigid/",
    )
    ignore_scale: bool = option(
        False, "--ignore-scale", "animation", "Ignore animated scale.", "gltf2msh tower.glb --ignore-scale -o unscaled/"
    )
    lod_ratios: tuple[float, ...] = option(
        (),
        "--generate-lods A,B,C",
        "output",
        "Make levels of detail 1 to 3 with these ratios of the triangles, e.g. 0.5,0.25.",
        "gltf2msh tower.glb --dialect retail --generate-lods 0.5,0.25 -o lods/",
        read=lod_ratios,
    )
    lod_error: float = option(
        0.05,
        "--lod-error RATIO",
        "output",
        "How far a generated level may be from its part, as a ratio of the part's diagonal.",
        "gltf2msh tower.glb --dialect retail --generate-lods 0.5 --lod-error 0.02 -o near/",
        read=lod_error,
    )
    verify: bool = option(
        True,
        "--verify/--no-verify",
        "run",
        "Read what was written again and compare it with the input.",
        "gltf2msh robot.glb --no-verify -o unread/",
    )
    allow_delete: bool = option(
        False,
        "--allow-delete",
        "selection",
        "Delete what is missing, even if hidden parts or most nodes are.",
        "gltf2msh robot.glb --allow-delete -o deleted/",
    )
    use_sidecar: bool = option(
        True,
        "--no-sidecar",
        "input",
        "Ignore the sidecar and rebuild everything.",
        "gltf2msh robot.glb --no-sidecar -o rebuilt/",
        before="dialect",
    )
    like: str = option(
        "",
        "--like NAME",
        "appearance",
        "Make new materials like this one of the game.",
        "gltf2msh out/ --game GAME -o NEW_GAME --like armour",
        default_text="DEFAULT",
    )
    own_materials: bool = option(
        False,
        "--own-materials",
        "appearance",
        "Give a model whose materials changed copies of its own; other models keep theirs.",
        "gltf2msh out/ --game GAME -o NEW_GAME --own-materials",
    )
    keep_alpha: bool = option(
        False,
        "--keep-alpha",
        "appearance",
        "Give a picture (.png) that is solid throughout the alpha of the texture that it replaces.",
        "gltf2msh WALL.png --into GAME_COPY/Textures.lib --keep-alpha",
    )
    new: bool = False
    libraries: bool = True
    game: str | None = None
    new_keys: tuple[str, ...] = ()
