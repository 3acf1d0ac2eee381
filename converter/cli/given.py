"""What the user gives to each command: arguments, and options, each declared once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..options import ExportOptions, ImportOptions, option
from .options import nested, same

if TYPE_CHECKING:
    from ..findings import Mode

#: Types of object keys, as ``formats.registry`` has them; ``--help`` needs no NumPy.
TAGS = ("STAT", "INTO", "EXTO", "BULL", "BTLU", "FORT", "WPNS", "SUNO")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)  # nobody compares or shows it
class Given:
    """Options of both directions; a command's own are shown before them."""

    jobs: int | None = option(
        None,
        "-j",
        "--jobs",
        group="run",
        metavar="N",
        least=1,
        most=256,
        help="Processes to work with.",
        default_text="one per core",
        example="{run} --jobs 2",
    )
    fail_fast: bool = option(
        False, "--fail-fast", group="run", help="Stop after the first failure.", example="{run} --fail-fast"
    )
    dask: str | None = option(
        None,
        "--dask",
        group="run",
        metavar="ADDRESS",
        help="Work on the dask.distributed cluster of this scheduler; it must see the same paths.",
        example="{run} --dask tcp://192.168.0.2:8786",
    )
    dry_run: bool = option(
        False, "--dry-run", group="run", help="Say what would be done; write nothing.", example="{run} --dry-run"
    )
    log_file: Path | None = option(
        None,
        "--log-file",
        group="report",
        metavar="FILE",
        help="Append a line per model to this file.",
        example="{run} --log-file run.log",
    )
    force: bool = option(False, "--force", group="output", help="Replace outputs that exist.", example="{one} --force")
    quiet: bool = option(
        False, "-q", "--quiet", group="report", help="Say nothing but errors.", example="{one} --force --quiet"
    )
    verbose: bool = option(
        False,
        "-v",
        "--verbose",
        group="report",
        help="Say more: evidence, findings, notes.",
        example="{one} --force --verbose",
    )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)  # nobody compares or shows it
class ToGltf(Given):
    """Arguments and options of ``msh2gltf``."""

    sources: tuple[Path, ...]
    output: str | None = option(
        None,
        "-o",
        "--output",
        group="output",
        metavar="PATH",
        is_path=True,
        help="A .glb, .gltf or .obj file, a directory (made if need be), or - for standard output.",
        default_text="NAME.glb here",
        example="msh2gltf robot.msh -o json/robot.gltf",
    )
    entry: str | None = option(
        None,
        "--entry",
        group="input",
        metavar="NAME",
        help="The model inside an archive, by entry name or number.",
        example="{library} --entry r_h_01.msh",
    )
    game: Path | None = option(
        None,
        "--game",
        group="appearance",
        metavar="DIR",
        help="Look here for Material.lib and Textures.lib, and for what units and missions place.",
        default_text="beside the model, or above it",
        example="msh2gltf robot.msh --game GAME -o textured/",
    )
    how: ExportOptions = nested(ExportOptions)
    unit: str | None = option(
        None,
        "--unit",
        group="selection",
        before="paths",
        metavar="NAME",
        help="The unit of that name in the game's directory: its file, with or without folders.",
        example="msh2gltf GAME --unit walker -o walker.glb",
    )
    frame: float | None = option(
        None,
        "--frame",
        group="animation",
        before="stored_keys",
        metavar="T",
        help="Pose of an OBJ, in frames.",
        default_text="0, at rest",
        example="msh2gltf robot.msh --frame 12 -o frame12.obj",
    )
    up: str | None = option(
        None,
        "--up",
        group="output",
        values=("y", "z"),
        help="Axis of an OBJ that points up.",
        default_text="y",
        example="msh2gltf robot.msh --up z -o z_up.obj",
    )
    thumbnails: bool = option(
        False,
        "--thumbnails",
        group="report",
        help="Draw every model, and make OUT_DIR/index.html: a page to look through them.",
        example="msh2gltf GAME -o pictures/ --include '*r_h_01*' --thumbnails",
    )
    no_sidecar: bool = option(
        False,
        "--no-sidecar",
        group="output",
        help="Write no sidecar: the import rebuilds everything.",
        example="msh2gltf robot.msh --no-sidecar -o alone/",
    )
    include: tuple[str, ...] = option(
        (),
        "--include",
        group="selection",
        metavar="GLOB",
        help="Only models whose path::entry (or path) this fits; may be repeated.",
        example="msh2gltf GAME -o some/ --include '*.rlb::r_*'",
    )
    exclude: tuple[str, ...] = option(
        (),
        "--exclude",
        group="selection",
        metavar="GLOB",
        help="None of these; may be repeated.",
        example="msh2gltf GAME -o others/ --exclude '*.rlb::r_*'",
    )
    only: tuple[str, ...] = option(
        (),
        "--only",
        group="selection",
        values=("models", "terrains", "areal-maps", "units", "missions"),
        help="Only files of this kind; may be repeated.",
        example="msh2gltf GAME -o kinds/ --only models",
    )
    unpack: Path | None = option(
        None,
        "--unpack",
        group="output",
        metavar="DIR",
        help="Write every entry of an archive as a file, sounds as WAV; of a game's directory, of each archive.",
        example="msh2gltf GAME/turrets.rlb --unpack files/turrets.rlb",
    )
    layout: str | None = option(
        None,
        "--layout",
        group="output",
        values=("names", "fparkan", "fparkan-validator", "playground", "playground-packer"),
        help="With --unpack: what the files are called, for the tool that is to read them.",
        default_text="names",
        example="msh2gltf GAME/turrets.rlb --unpack numbered/turrets.rlb --layout playground",
    )
    list_only: bool = option(
        False, "--list", group="selection", help="List the models and stop.", example="msh2gltf GAME --list"
    )
    strict: bool = option(
        False,
        "--strict",
        group="input",
        help="Refuse what breaks any rule, as msh-inspect --check --strict.",
        example="msh2gltf robot.msh --strict -o strict/",
    )
    tolerant: bool = option(
        False,
        "--tolerant",
        group="input",
        help="Leave out what is broken locally and report it; the import restores it.",
        example="msh2gltf broken.msh --tolerant -o whole/",
    )
    report: Path | None = option(
        None,
        "--report",
        group="report",
        before="quiet",
        metavar="FILE",
        help="Write what became of every model as JSON.",
        example="msh2gltf GAME -o reported/ --report reported.json",
    )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)  # nobody compares or shows it
class ToMsh(Given):
    """Arguments and options of ``gltf2msh``."""

    source: Path
    output: str | None = option(
        None,
        "-o",
        "--output",
        group="output",
        metavar="PATH",
        is_path=True,
        help="A .msh (.map, .tma, .dat) file, a directory (made if need be), or - for standard output.",
        default_text="NAME.msh here",
        example="gltf2msh robot.glb -o new/",
    )
    sidecar: Path | None = option(
        None,
        "--sidecar",
        group="input",
        metavar="PATH",
        help="The sidecar.",
        default_text="named in the glTF, else beside it",
        example="gltf2msh robot.glb --sidecar robot.msh-sidecar -o named/",
    )
    how: ImportOptions = nested(ImportOptions)
    frame: float | None = option(
        None,
        "--frame",
        group="animation",
        before="reduce",
        metavar="T",
        help="Pose of an OBJ.",
        default_text="as it says",
        example="gltf2msh obj/robot.obj --frame 0 -o pose/",
    )
    up: str | None = option(
        None,
        "--up",
        group="input",
        values=("y", "z"),
        help="Axis of an OBJ that points up.",
        default_text="y",
        example="gltf2msh tower.obj --up z -o z_up/",
    )
    require_all: bool = option(
        False,
        "--require-all",
        group="run",
        help="Write nothing, and exit with 1, where a difference cannot be applied.",
        example="gltf2msh robot.glb --require-all -o all/",
    )
    explain: bool = option(
        False,
        "--explain",
        group="report",
        help="Of one file: list each difference of the result from the file with the line that explains it, and "
        "lines that explain none.",
        example="gltf2msh robot.glb --explain -o explained/",
    )
    report: Path | None = option(
        None,
        "--report",
        group="report",
        metavar="FILE",
        help="Write what was kept, rebuilt, new and deleted as JSON.",
        example="gltf2msh robot.glb --report changes.json -o reported/",
    )
    game: Path | None = option(
        None,
        "--game",
        group="input",
        metavar="DIR",
        help="The game's directory. Of a directory of glTF: what it was made from. Of one file: its "
        "libraries tell which materials are new. It is read, not written.",
        example="gltf2msh out/ --game GAME -o NEW_GAME",
    )
    in_place: bool = option(
        False,
        "--in-place",
        group="output",
        help="Change the game itself; the originals and the history are kept in GAME/.msh-gltf.",
        example="gltf2msh out/ --game GAME_COPY --in-place",
    )
    watch: bool = option(
        False,
        "--watch",
        group="run",
        help="With --in-place: go on, and put every glTF or picture into the game when it is saved, each save as a "
        "change of its own; Ctrl+C ends it.",
        example="gltf2msh out/ --game GAME_COPY --in-place --watch",
    )
    add: bool = option(
        False,
        "--add",
        group="output",
        help="Make new entries of new glTF files in an archive's folder; of one file, in the archive of --into.",
        example="gltf2msh out/ --game GAME --add -o BIGGER_GAME",
    )
    tag: str | None = option(
        None,
        "--tag",
        group="output",
        values=TAGS,
        any_case=True,
        help="Also give each new model an object key in objects.rlb, its name without ending, so that "
        "missions and units can place it: STAT scenery, EXTO part of a unit, FORT building ...",
        example="gltf2msh out/ --game GAME --add --tag STAT -o GAME_WITH_KEY",
    )
    texm: str | None = option(
        None,
        "--texm",
        group="appearance",
        values=("8888", "888", "565", "4444"),
        help="Format of a picture's texture.",
        default_text="888, or 8888 where it has alpha",
        example="gltf2msh WALL.png --texm 565 -o textures/",
    )
    mips: int | None = option(
        None,
        "--mips",
        group="appearance",
        metavar="N",
        least=1,
        help="Levels of a picture's texture.",
        default_text="as many as there can be",
        example="gltf2msh WALL.png --mips 1 -o flat/",
    )
    pack: Path | None = option(
        None,
        "--pack",
        group="output",
        metavar="ARCHIVE",
        help="Put the files of a directory that an archive was unpacked into (msh2gltf --unpack, other "
        "tools) into this archive; make it if it is not there.",
        example="gltf2msh files/turrets.rlb --pack new/turrets.rlb",
    )
    into: Path | None = option(
        None,
        "--into",
        group="output",
        metavar="LIB",
        help="Put a picture's texture, or an entry (WALL.0, STEEL.mat0), into this library; with --add "
        "a new model into this archive.",
        example="gltf2msh WALL.png --into GAME_COPY/Textures.lib",
    )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)  # nobody compares or shows it
class ToInspect:
    """Arguments and options of ``msh-inspect``."""

    sources: tuple[Path, ...]
    diff: bool = option(
        False,
        "--diff",
        group="task",
        help="Compare two models, units, missions or registries, row by row; exit 1 if they differ.",
        example="msh-inspect --diff robot.msh new/robot.msh",
    )
    check: bool = option(
        False,
        "--check",
        group="task",
        help="Check files, archives, directories; exit 1 on errors.",
        example="msh-inspect --check GAME",
    )
    strict: bool = option(
        False,
        "--strict",
        group="input",
        help="With --check: warnings count as well.",
        example="msh-inspect --check robot.msh --strict",
    )
    tolerant: bool = option(
        False,
        "--tolerant",
        group="input",
        help="With --check: errors that concern a part which can be left out do not count; with "
        "--roundtrip: leave it out.",
        example="msh-inspect --check broken.msh --tolerant",
    )
    ignore: tuple[str, ...] = option(
        (),
        "--ignore",
        group="selection",
        metavar="CODE",
        help="With --check: not this code; may be repeated.",
        example="msh-inspect --check GAME --ignore wear-id",
    )
    roundtrip: bool = option(
        False,
        "--roundtrip",
        group="task",
        help="Take models, archives, directories to glTF and back, in temporary files; exit 1 where a byte differs.",
        example="msh-inspect --roundtrip GAME",
    )
    uses: str | None = option(
        None,
        "--uses",
        group="task",
        metavar="NAME",
        help="Show what in a game uses a model, material, texture, object key or unit.",
        example="msh-inspect --uses armour GAME",
    )
    explain: str | None = option(
        None,
        "--explain",
        group="task",
        metavar="CODE",
        help="Say what a code of --check means, or list them.",
        example="msh-inspect --explain slot-box",
    )
    entry: str | None = same(ToGltf, "entry")
    dialect: str = same(ExportOptions, "dialect")
    jobs: int | None = option(
        None,
        "-j",
        "--jobs",
        group="run",
        metavar="N",
        least=1,
        most=256,
        help="Processes, with --check or --roundtrip.",
        example="msh-inspect --check GAME --jobs 2",
    )
    as_json: bool = option(
        False, "--json", group="report", help="Print JSON for programs.", example="msh-inspect robot.msh --json"
    )
    quiet: bool = option(
        False,
        "-q",
        "--quiet",
        group="report",
        help="With --check or --roundtrip: failures only.",
        example="msh-inspect --check GAME --quiet",
    )
    verbose: bool = option(
        False,
        "-v",
        "--verbose",
        group="report",
        help="With --check: list every finding, notes too.",
        example="msh-inspect --check robot.msh --verbose",
    )

    @property
    def mode(self) -> Mode:
        """What ``--strict`` and ``--tolerant`` ask for."""
        return "strict" if self.strict else "tolerant" if self.tolerant else "default"
