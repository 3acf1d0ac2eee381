"""What tests found when it was recorded: text files of lines ``NAME | TEXT``, for you to read what changes."""

import zlib
from collections.abc import Iterable
from pathlib import Path

from msh_gltf.converter.kinds.import_result import ImportResult


class Recorded:
    """A file beside a test module, which writes it again when it is run as ``python -m tests...``."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.path = Path(module), Path(module).with_name(name)
        lines = self.path.read_text("utf-8").splitlines() if self.path.exists() else []
        self.known = dict(line.split(" | ", 1) for line in lines)

    def require(self, name: str, text: str) -> None:
        """Fail where something else was recorded under the name."""
        again = ".".join(self.module.relative_to(Path(__file__).parents[2]).with_suffix("").parts)
        assert text == self.known.get(name), f"where that is right: python -m {again}"

    def write(self, rows: Iterable[tuple[str, str]]) -> None:
        self.path.write_text("".join(f"{name} | {text}\n" for name, text in rows), "utf-8")


def summary(back: ImportResult) -> str:
    """Return the digest of all that an import makes, and its report, on a line."""
    whole = [back, *(one.result for one in back.placed)]
    data = [part for one in whole for part in (one.data, *(made.data for made in one.companions))]
    looks = [(edit.entry.key, sorted(edit.values.items()), edit.rgba) for one in whole for edit in one.library]
    found = zlib.crc32(b"".join(map(bytes, data)) + repr([looks, [one.wear for one in whole]]).encode())
    said = [*map(str, back.changes), *map(str, back.warnings), *map(str, back.not_applied)]
    said += [f"{one.result.name}: {one.result.verdict}" for one in back.placed]
    return "; ".join([f"{found:08x}", *said]).replace("\n", " ")
