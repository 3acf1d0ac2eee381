"""What the user gives to each command: arguments, and options, each declared once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..options import ExportOptions, ImportOptions, option
from .common import nested, same

if TYPE_CHECKING:
    from ..findings import Mode

#: Types of object keys, as ``formats.objects`` has them; ``--help`` needs no NumPy.
TAGS = ("STAT", "INTO", "EXTO", "BULL", "BTLU", "FORT", "WPNS", "SUNO")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)  # nobody compares or shows it
class Given:
    """Options of both directions; a command's own are shown before them."""

    jobs: int | None = option(
        None,
        "-j, --jobs N",
        "run",
        "Processes to work with.",
        "{run} --jobs 2",
        least=1,
        most=256,
        default_text="one per core",
    )
    fail_fast: bool = option(False, "--fail-fast", "run", "Stop after the first failure.", "{run} --fail-fast")
    dask: str | None = option(
        None,
        "--dask ADDRESS",
        "run",
        "Work on the dask.distributed cluster of this scheduler; it must see the same paths.",
        "{run} --dask tcp://192.168.0.2:8786",
    )
    dry_run: bool = option(False, "--dry-run", "run", "Say what would be done; write nothing.", "{run} --dry-run")
    log_file: Path | None = option(
        None, "--log-file FILE", "report", "Append a line per model to this file.", "{run} --log-file run.log"
    )
    force: bool = option(False, "--force", "output", "Replace outputs that exist.", "{one} --force")
    quiet: bool = option(False, "-q, --quiet", "report", "Say nothing but errors.", "{one} --force --quiet")
    verbose: bool = option(
        False, "-v, --verbose", "report", "Say more: evidence, findings, notes.", "{one} --force --verbose"
    )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)  # nobody compares or shows it
class ToGltf(Given):
    """Arguments and options of ``msh2gltf``."""

    sources: tuple[Path, ...]
    output: str | None = option(
        None,
        "-o, --output PATH",
        "output",
        "A .glb, .gltf or .obj file, a directory (made if need be), or - for standard output.",
        "msh2gltf robot.msh -o json/robot.gltf",
        is_path=True,
        default_text="NAME.glb here",
    )
    entry: str | None = option(
        None,
        "--entry NAME",
        "input",
        "The model inside an archive, by entry name or number.",
        "{library} --entry r_h_01.msh",
    )
    game: Path | None = option(
        None,
        "--game DIR",
        "appearance",
        "Look here for Material.lib and Textures.lib, and for what units and missions place.",
        "msh2gltf robot.msh --game GAME -o textured/",
        default_text="beside the model, or above it",
    )
    how: ExportOptions = nested(ExportOptions)
    unit: str | None = option(
        None,
        "--unit NAME",
        "selection",
        "The unit of that name in the game's directory: its file, with or without folders.",
        "msh2gltf GAME --unit walker -o walker.glb",
        before="paths",
    )
    frame: float | None = option(
        None,
        "--frame T",
        "animation",
        "Pose of an OBJ, in frames.",
        "msh2gltf robot.msh --frame 12 -o frame12.obj",
        before="stored_keys",
        default_text="0, at rest",
    )
    up: str | None = option(
        None,
        "--up",
        "output",
        "Axis of an OBJ that points up.",
        "msh2gltf robot.msh --up z -o z_up.obj",
        values=("y", "z"),
        default_text="y",
    )
    thumbnails: bool = option(
        False,
        "--thumbnails",
        "report",
        "Draw every model, and make OUT_DIR/index.html: a page to look through them.",
        "msh2gltf GAME -o pictures/ --include '*r_h_01*' --thumbnails",
    )
    no_sidecar: bool = option(
        False,
        "--no-sidecar",
        "output",
        "Write no sidecar: the import rebuilds everything.",
        "msh2gltf robot.msh --no-sidecar -o alone/",
    )
    include: tuple[str, ...] = option(
        (),
        "--include GLOB",
        "selection",
        "Only models whose path::entry (or path) this fits; may be repeated.",
        "msh2gltf GAME -o some/ --include '*.rlb::r_*'",
    )
    exclude: tuple[str, ...] = option(
        (),
        "--exclude GLOB",
        "selection",
        "None of these; may be repeated.",
        "msh2gltf GAME -o others/ --exclude '*.rlb::r_*'",
    )
    only: tuple[str, ...] = option(
        (),
        "--only",
        "selection",
        "Only files of this kind; may be repeated.",
        "msh2gltf GAME -o kinds/ --only models",
        values=("models", "terrains", "areal-maps", "units", "missions"),
    )
    unpack: Path | None = option(
        None,
        "--unpack DIR",
        "output",
        "Write every entry of an archive as a file, sounds as WAV; of a game's directory, of each archive.",
        "msh2gltf GAME/turrets.rlb --unpack files/turrets.rlb",
    )
    layout: str | None = option(
        None,
        "--layout",
        "output",
        "With --unpack: what the files are called, for the tool that is to read them.",
        "msh2gltf GAME/turrets.rlb --unpack numbered/turrets.rlb --layout playground",
        values=("names", "fparkan", "fparkan-validator", "playground", "playground-packer"),
        default_text="names",
    )
    list_only: bool = option(False, "--list", "selection", "List the models and stop.", "msh2gltf GAME --list")
    strict: bool = option(
        False,
        "--strict",
        "input",
        "Refuse what breaks any rule, as msh-inspect --check --strict.",
        "msh2gltf robot.msh --strict -o strict/",
    )
    tolerant: bool = option(
        False,
        "--tolerant",
        "input",
        "Leave out what is broken locally and report it; the import restores it.",
        "msh2gltf broken.msh --tolerant -o whole/",
    )
    report: Path | None = option(
        None,
        "--report FILE",
        "report",
        "Write what became of every model as JSON.",
        "msh2gltf GAME -o reported/ --report reported.json",
        before="quiet",
    )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)  # nobody compares or shows it
class ToMsh(Given):
    """Arguments and options of ``gltf2msh``."""

    source: Path
    output: str | None = option(
        None,
        "-o, --output PATH",
        "output",
        "A .msh (.map, .tma, .dat) file, a directory (made if need be), or - for standard output.",
        "gltf2msh robot.glb -o new/",
        is_path=True,
        default_text="NAME.msh here",
    )
    sidecar: Path | None = option(
        None,
        "--sidecar PATH",
        "input",
        "The sidecar.",
        "gltf2msh robot.glb --sidecar robot.msh-sidecar -o named/",
        default_text="named in the glTF, else beside it",
    )
    how: ImportOptions = nested(ImportOptions)
    frame: float | None = option(
        None,
        "--frame T",
        "animation",
        "Pose of an OBJ.",
        "gltf2msh obj/robot.obj --frame 0 -o pose/",
        before="reduce",
        default_text="as it says",
    )
    up: str | None = option(
        None,
        "--up",
        "input",
        "Axis of an OBJ that points up.",
        "gltf2msh tower.obj --up z -o z_up/",
        values=("y", "z"),
        default_text="y",
    )
    require_all: bool = option(
        False,
        "--require-all",
        "run",
        "Write nothing, and exit with 1, where a difference cannot be applied.",
        "gltf2msh robot.glb --require-all -o all/",
    )
    explain: bool = option(
        False,
        "--explain",
        "report",
        "Of one file: list each difference of the result from the file with the line that explains it, and "
        "lines that explain none.",
        "gltf2msh robot.glb --explain -o explained/",
    )
    report: Path | None = option(
        None,
        "--report FILE",
        "report",
        "Write what was kept, rebuilt, new and deleted as JSON.",
        "gltf2msh robot.glb --report changes.json -o reported/",
    )
    game: Path | None = option(
        None,
        "--game DIR",
        "input",
        "The game's directory. Of a directory of glTF: what it was made from. Of one file: its "
        "libraries tell which materials are new. It is read, not written.",
        "gltf2msh out/ --game GAME -o NEW_GAME",
    )
    in_place: bool = option(
        False,
        "--in-place",
        "output",
        "Change the game itself; the originals and the history are kept in GAME/.msh-gltf.",
        "gltf2msh out/ --game GAME_COPY --in-place",
    )
    watch: bool = option(
        False,
        "--watch",
        "run",
        "With --in-place: go on, and put every glTF or picture into the game when it is saved, each save as a "
        "change of its own; Ctrl+C ends it.",
        "gltf2msh out/ --game GAME_COPY --in-place --watch",
    )
    add: bool = option(
        False,
        "--add",
        "output",
        "Make new entries of new glTF files in an archive's folder; of one file, in the archive of --into.",
        "gltf2msh out/ --game GAME --add -o BIGGER_GAME",
    )
    tag: str | None = option(
        None,
        "--tag",
        "output",
        "Also give each new model an object key in objects.rlb, its name without ending, so that "
        "missions and units can place it: STAT scenery, EXTO part of a unit, FORT building ...",
        "gltf2msh out/ --game GAME --add --tag STAT -o GAME_WITH_KEY",
        values=TAGS,
        any_case=True,
    )
    texm: str | None = option(
        None,
        "--texm",
        "appearance",
        "Format of a picture's texture.",
        "gltf2msh WALL.png --texm 565 -o textures/",
        values=("8888", "888", "565", "4444"),
        default_text="888, or 8888 where it has alpha",
    )
    mips: int | None = option(
        None,
        "--mips N",
        "appearance",
        "Levels of a picture's texture.",
        "gltf2msh WALL.png --mips 1 -o flat/",
        least=1,
        default_text="as many as there can be",
    )
    pack: Path | None = option(
        None,
        "--pack ARCHIVE",
        "output",
        "Put the files of a directory that an archive was unpacked into (msh2gltf --unpack, other "
        "tools) into this archive; make it if it is not there.",
        "gltf2msh files/turrets.rlb --pack new/turrets.rlb",
    )
    into: Path | None = option(
        None,
        "--into LIB",
        "output",
        "Put a picture's texture, or an entry (WALL.0, STEEL.mat0), into this library; with --add "
        "a new model into this archive.",
        "gltf2msh WALL.png --into GAME_COPY/Textures.lib",
    )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)  # nobody compares or shows it
class ToInspect:
    """Arguments and options of ``msh-inspect``."""

    sources: tuple[Path, ...]
    diff: bool = option(
        False,
        "--diff",
        "task",
        "Compare two models, units, missions or registries, row by row; exit 1 if they differ.",
        "msh-inspect --diff robot.msh new/robot.msh",
    )
    check: bool = option(
        False, "--check", "task", "Check files, archives, directories; exit 1 on errors.", "msh-inspect --check GAME"
    )
    strict: bool = option(
        False, "--strict", "input", "With --check: warnings count as well.", "msh-inspect --check robot.msh --strict"
    )
    tolerant: bool = option(
        False,
        "--tolerant",
        "input",
        "With --check: errors that concern a part which can be left out do not count; with --roundtrip: leave it out.",
        "msh-inspect --check broken.msh --tolerant",
    )
    ignore: tuple[str, ...] = option(
        (),
        "--ignore CODE",
        "selection",
        "With --check: not this code; may be repeated.",
        "msh-inspect --check GAME --ignore wear-id",
    )
    roundtrip: bool = option(
        False,
        "--roundtrip",
        "task",
        "Take models, archives, directories to glTF and back, in temporary files; exit 1 where a byte differs.",
        "msh-inspect --roundtrip GAME",
    )
    uses: str | None = option(
        None,
        "--uses NAME",
        "task",
        "Show what in a game uses a model, material, texture, object key or unit.",
        "msh-inspect --uses armour GAME",
    )
    explain: str | None = option(
        None,
        "--explain CODE",
        "task",
        "Say what a code of --check means, or list them.",
        "msh-inspect --explain slot-box",
    )
    entry: str | None = same(ToGltf, "entry")
    dialect: str = same(ExportOptions, "dialect")
    jobs: int | None = option(
        None,
        "-j, --jobs N",
        "run",
        "Processes, with --check or --roundtrip.",
        "msh-inspect --check GAME --jobs 2",
        least=1,
        most=256,
    )
    as_json: bool = option(False, "--json", "report", "Print JSON for programs.", "msh-inspect robot.msh --json")
    quiet: bool = option(
        False,
        "-q, --quiet",
        "report",
        "With --check or --roundtrip: failures only.",
        "msh-inspect --check GAME --quiet",
    )
    verbose: bool = option(
        False,
        "-v, --verbose",
        "report",
        "With --check: list every finding, notes too.",
        "msh-inspect --check robot.msh --verbose",
    )

    @property
    def mode(self) -> Mode:
        """What ``--strict`` and ``--tolerant`` ask for."""
        return "strict" if self.strict else "tolerant" if self.tolerant else "default"
