"""Find the sidecar of a glTF or OBJ file, and see that it is the file's own."""

from __future__ import annotations

from pathlib import Path

from ..errors import ConversionError, with_article
from ..files import read_file
from ..formats.kinds import Kind
from ..formats.sidecar import SUFFIX, Sidecar, read_sidecar
from ..options import ImportOptions
from ..scene.extras import FileInfo


class SidecarName(str):
    """The name of a sidecar in the extras of an object in memory, with the bytes of the file.

    It is a text as any other, so that what is written of the object names the file; copies of the
    object keep the bytes.
    """

    data: bytes = b""


def named_sidecar(name: str, data: bytes) -> SidecarName:
    """Return the name of a sidecar with its bytes."""
    out = SidecarName(name)
    out.data = data
    return out


def sidecar_path(gltf: Path) -> Path:
    """Where the sidecar of a glTF file lies."""
    return gltf.with_name(gltf.stem + SUFFIX)


def find_sidecar(
    gltf: Path, given: Path | bytes | None, info: FileInfo, *, alone: bool = False
) -> tuple[Path | None, bytes | None]:
    """Find the sidecar: as given, as the glTF names it, or by its stem.

    Args:
        gltf: the glTF or OBJ file.
        given: the sidecar, or its bytes.
        info: what the file says of its source.
        alone: the document is in memory, and nothing lies beside it.

    Returns:
        Its path, and its bytes where they are in memory; ``None`` for a foreign file, which has no sidecar.

    Raises:
        ConversionError: the file names a sidecar that is missing.
    """
    named, beside = info.get("sidecar"), sidecar_path(gltf)
    if isinstance(given, Path):
        return given, None
    if given is not None:
        return beside, given
    if isinstance(named, SidecarName):
        return Path(named), named.data
    candidates = [] if alone else [beside]
    # only a plain file name: nothing inside a file leads out of its directory
    if not alone and isinstance(named, str) and named and not set(named) & set("/\\:\0"):
        candidates.insert(0, gltf.parent / named)
    for candidate in candidates:
        if candidate.is_file():
            return candidate, None
    if not isinstance(named, str):
        return None, None
    hint = "give it with --sidecar PATH"
    if info.get("kind", "model") == Kind.MODEL.in_extras:  # others are not written without it
        hint += ", or rebuild everything with --no-sidecar"
    expected = named if alone else str(candidates[0])
    raise ConversionError("its sidecar is missing", file=str(gltf), expected=expected, hint=hint)


def open_sidecar(
    found: Path,
    gltf: Path,
    info: FileInfo,
    options: ImportOptions,
    *,
    data: memoryview | bytes | None = None,
    of_obj: bool = False,
) -> Sidecar:
    """Read a sidecar, and refuse one that belongs to another file.

    Args:
        found: the sidecar.
        gltf: the glTF or OBJ file.
        info: what that file says of its source (``extras.msh`` of the scene).
        options: its dialect must be the sidecar's.
        data: the sidecar, where it is in memory.
        of_obj: refuse terrains and areal maps, too.

    Raises:
        ConversionError: the sidecar is damaged, or not this file's.
    """
    kept = read_sidecar(read_file(found) if data is None else data, str(found))
    about = kept.description
    if of_obj and about.kind is not Kind.MODEL:
        raise ConversionError(
            f"sidecar is of {with_article(about.kind)}, which has no OBJ", file=str(found), value=about.source
        )
    digest = info.get("digest")
    if digest is not None and digest != about.source_sha256:
        raise ConversionError(
            "sidecar belongs to another model",
            file=str(found),
            value=f"it holds {about.source} with digest {about.source_sha256}",
            expected=f"{info.get('source', 'the model')} with digest {digest}",
            hint="use the sidecar that was written with this glTF",
        )
    pair = info.get("pair")
    if pair is not None and pair not in (about.pair, about.pair_of_obj):
        raise ConversionError(
            "sidecar is of another conversion of this model",
            file=str(found),
            value=f"digest {about.pair}",
            expected=f"{pair}, as {gltf.name} says",
            hint="convert the model again into another directory, with the options of the glTF; if "
            "a command was interrupted, repeat it",
        )
    if about.kind is Kind.MODEL and options.dialect not in ("auto", about.dialect):
        raise ConversionError(
            f"--dialect {options.dialect} does not change the dialect of a model with a sidecar",
            file=str(found),
            value=f"the model was exported as {about.dialect}",
            hint=f"leave --dialect out to write {about.dialect}; export the model again with msh2gltf "
            f"--dialect {options.dialect} if it was read wrongly, or make a new one with --no-sidecar",
        )
    return kept
