"""Rules about NRes containers: archives, and the file that every model, terrain and map is."""

from __future__ import annotations

from .rule import Rule

RULES = (
    Rule(
        code="unreadable",
        severity="error",
        format="NRes",
        rule="A file can be opened and read.",
        source="container page",
        why="What cannot be read cannot be checked.",
        mend="See that the file is there, is no directory and may be read.",
    ),
    Rule(
        code="nres-magic",
        severity="error",
        format="NRes",
        rule="A container starts with the four bytes NRes.",
        source="container page, header +0",
        why="Content decides what a file is; without the magic nothing in it can be found.",
        mend=(
            "Give the right file; a file that was an archive once is damaged: take it from a "
            "backup."
        ),
    ),
    Rule(
        code="nres-header",
        severity="error",
        format="NRes",
        rule="A container has a header of 16 bytes.",
        source="container page, header",
        why="A shorter file says nothing about its entries.",
        mend="The file was cut off: copy it again.",
    ),
    Rule(
        code="nres-version",
        severity="error",
        format="NRes",
        rule="The version word is 0x100.",
        source="container page, header +4",
        why="Another version may lay out everything else in another way.",
        mend="Take the file from the game again; no other version is known.",
    ),
    Rule(
        code="nres-size",
        severity="error",
        format="NRes",
        rule="total_size is the length of the file.",
        source="container page, header +12",
        why=(
            "The directory lies at the end: a wrong length means that it is looked for in the "
            "wrong place."
        ),
        mend="The file was cut off or something was appended: copy it again.",
    ),
    Rule(
        code="nres-count",
        severity="error",
        format="NRes",
        rule=(
            "entry_count is not negative, and so many directory rows of 64 bytes fit behind the"
            " header."
        ),
        source="container page, header +8",
        why="The directory would start before the data.",
        mend="Take the file from a backup, or pack it again.",
    ),
    Rule(
        code="nres-payload",
        severity="error",
        format="NRes",
        rule="Every payload lies between the header and the directory.",
        source="container page, directory +56",
        why="Reading it would leave the file.",
        mend="Pack the archive again from its entries.",
    ),
    Rule(
        code="nres-reuse",
        severity="error",
        format="NRes",
        rule="All payloads together are at most 16 times the file.",
        source="container page, directory +56 (our limit)",
        why="A small file could be made to look like a huge one, and exhaust memory and time.",
        mend="Pack the archive again: every entry gets bytes of its own.",
    ),
    Rule(
        code="nres-overlap",
        severity="warning",
        format="NRes",
        rule="Payloads do not overlap.",
        source="container page, directory +56",
        why="Who replaces one entry would change another.",
        mend="Pack the archive again: every entry gets bytes of its own.",
    ),
    Rule(
        code="nres-alignment",
        severity="warning",
        format="NRes",
        rule="Payloads start at multiples of 8.",
        source="container page; core page, 8.4",
        why="All files of the game keep it; other tools may rely on it.",
        mend="Pack the archive again.",
    ),
    Rule(
        code="nres-gap",
        severity="note",
        format="NRes",
        rule="Gaps between payloads are zero.",
        source="container page",
        why="Files of the game have zeros there; other bytes are kept.",
        mend="Nothing to do.",
    ),
    Rule(
        code="nres-region",
        severity="note",
        format="NRes",
        rule="Every 8 bytes or more before the directory belong to an entry.",
        source="container page",
        why=(
            "Forgotten data only takes space (one library of the game has much of it); it is kept."
        ),
        mend="Nothing to do; a repack drops it.",
    ),
    Rule(
        code="nres-sort",
        severity="warning",
        format="NRes",
        rule="The sort table is a permutation of the directory's rows.",
        source="container page, directory +60",
        why="The game looks names up through it and will not find some entries.",
        mend="Pack the archive again: the sort table is rebuilt.",
    ),
    Rule(
        code="nres-order",
        severity="warning",
        format="NRes",
        rule="The sort table lists the names in order, case folded up or down.",
        source="container page, directory +60",
        why="The game's binary search misses entries.",
        mend="Pack the archive again: the sort table is rebuilt.",
    ),
    Rule(
        code="nres-name",
        severity="warning",
        format="NRes",
        rule="A name ends with a NUL inside its 36 bytes.",
        source="container page, directory +20",
        why="The game would read on into the next field.",
        mend="Give the entry a name of at most 35 bytes.",
    ),
    Rule(
        code="nres-name-tail",
        severity="note",
        format="NRes",
        rule="The bytes behind a name's NUL are zero.",
        source="container page, directory +20",
        why="They mean nothing and are kept.",
        mend="Nothing to do.",
    ),
    Rule(
        code="nres-name-twice",
        severity="warning",
        format="NRes",
        rule="No two entries of an archive have one name, whatever the case.",
        source="container page, directory +20",
        why="A look-up by name finds only the first.",
        mend="Rename one of them.",
    ),
    Rule(
        code="archive-mesh",
        severity="warning",
        format="NRes",
        rule="An entry of type MESH is a core model in an NRes container.",
        source="core page, 3.3",
        why="The game would stop at it; this converter passes it by.",
        mend="Replace the entry with a sound model.",
    ),
    Rule(
        code="archive-nested",
        severity="note",
        format="NRes",
        rule="An archive holds no further archives.",
        source="core page, 3.3",
        why="It is not looked into.",
        mend="Unpack it to check what is in it.",
    ),
)
