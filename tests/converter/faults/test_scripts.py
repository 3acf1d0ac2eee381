"""What the machine does to commands, as scripts of the shell: what they say and leave stands in ``scripts.txt``.

Streams that are closed, full, or have lost their reader; limits of memory, of open files and of their size; things
in the way of an output. ``python -m tests.converter.faults.test_scripts`` writes the record again.
"""

import sys
from pathlib import Path

import pytest

from tests.converter.faults.test_links import game
from tests.support.corpus import DATA
from tests.support.faults import in_namespace, leftovers, shell
from tests.support.game import make_game
from tests.support.recorded import Recorded

__all__ = ["game"]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bash, ulimit, name spaces")

FOUND = Recorded(__file__, "scripts.txt")
READ_BY_NOBODY = (
    "msh2gltf model.msh -o -",
    "msh-inspect model.msh",
    "msh-inspect model.msh --json",
    "msh-inspect --explain list",
    "msh-inspect --check model.msh -v",
    "msh2gltf --help",
    "msh2gltf model.msh -o - > /dev/null; msh2gltf model.msh -o x.glb",
)
CLOSED = """
    mkdir one two; msh2gltf model.msh -o one/x.glb > /dev/null
    msh2gltf model.msh -o two/x.glb {0}; echo $?
    msh-inspect model.msh {0}; echo $?
    msh-inspect --check model.msh {0}; echo $?
    msh2gltf "$GAME" -o out --log-file log -j 2 {0}; echo $?
    msh2gltf nothing {0} 2> /dev/null; echo $?
    diff -r one two && echo same; grep -c converted log
"""
FULL = """
    msh2gltf model.msh {0} > /dev/full; echo $?
    msh2gltf model.msh {0} --force > /dev/full 2> /dev/full; echo $?
"""
FEW_FILES = """
    (ulimit -n {0}; "$PYTHON" "$BIN/msh2gltf" "$GAME" -o out -j 4) > said 2>&1; echo $?
    grep -o "Too many open files" said | head -n 1; grep -c "Traceback\\|internal error" said; rm said
    msh2gltf "$GAME" -o out -q; echo $?; find out -name '*.glb' | wc -l
"""
IN_THE_WAY = "{0} {1}; msh2gltf model.msh -o {2} --force -q; echo $?"
SCRIPTS = {
    **{
        f"nobody reads: {command}": f"{{ sleep 0.1; {command}; echo $? > code; }} | true; cat code"
        for command in READ_BY_NOBODY
    },
    "read a little": "set -o pipefail; for i in 1 2; do msh2gltf model.msh -o -; done | head -c 4",
    "closed: output": CLOSED.format(">&-"),
    "closed: all": CLOSED.format("<&- >&- 2>&-"),
    "closed: output that was asked for": "msh2gltf model.msh -o - >&-; echo $?",
    "closed: errors, of which a library speaks; its number would be the next file's": """
        cat > say.py <<'END'
import os, sys, click
from msh_gltf.converter.cli import _run
@click.command()
def say():
    with open('file', 'wb') as file:
        os.write(2, b'a message')
        file.write(b'data')
_run(say, [])
END
        "$PYTHON" say.py <&- 2>&-; echo $?; cat file
    """,
    **{f"full: {output}": FULL.format(output) for output in ("-o -", "-o x.glb", "-o x.glb -v")},
    "no memory for a library": """
        (ulimit -v 50000; msh2gltf model.msh -o x.glb -q) 2>&1 | sed "s/library: .*/library/"
        (ulimit -v 300000; msh2gltf model.msh -o x.glb -q); echo $?
    """,
    "a game in little memory": """
        (ulimit -v 300000; msh2gltf "$GAME" -o out -j 1 -q); echo $?; find out -name '*.glb' | wc -l
    """,
    **{f"{limit} open files": FEW_FILES.format(limit) for limit in (8, 20, 63, 64)},
    "a run with nothing to do starts no process": """
        few() { (ulimit -n 40; "$@" -q -j 4) 2>&1 | grep -o "Too many open files"; echo ${PIPESTATUS[0]}; }
        few msh2gltf "$GAME" -o out; msh2gltf "$GAME" -o out -q
        few msh2gltf "$GAME" -o out; few gltf2msh out --game "$GAME" -o new1; diff -r new1 "$GAME" && echo same
        rm out/static.rlb/MTCHECK.glb; few msh2gltf "$GAME" -o out
        few gltf2msh out --game "$GAME" -o new2; msh2gltf "$GAME" -o out -q
        echo edited > out/static.rlb/MTCHECK.glb; few gltf2msh out --game "$GAME" -o new3
    """,
    "a file that may not be large": "(ulimit -f 20; msh2gltf model.msh -o x.glb); echo $?",
    "a long temporary directory, too long for the socket of a fork server": """
        export TMPDIR="$PWD/$(printf 'temporary%.0s' 1 2 3 4 5 6 7 8 9 10 11 12)"; mkdir "$TMPDIR"
        msh2gltf "$GAME" -o out -j 2 > /dev/null; echo $?
        msh-inspect --roundtrip "$GAME" -j 2 | tail -n 1; ls "$TMPDIR"
    """,
    "a full temporary directory": """
        mkdir full; mount -t tmpfs -o size=40k tmpfs full || exit 77
        TMPDIR="$PWD/full" msh-inspect --roundtrip model.msh | sed "s#full/.*/#full/#"
        echo ${PIPESTATUS[0]}; ls -A full
    """,
    "no temporary directory": """
        [ "${BIN#/tmp/}" = "$BIN" ] || exit 77
        cp model.msh /dev/shm/$$.msh
        for place in /tmp /var/tmp /usr/tmp; do mount -t tmpfs -o ro tmpfs $place; done 2> /dev/null
        cd /proc; msh-inspect --roundtrip /dev/shm/$$.msh 2>&1 | sed "s/found in.*//"; echo ${PIPESTATUS[0]}
        rm /dev/shm/$$.msh
    """,
    "a log goes to a stream, whose name is a link": """
        mkdir game; cp model.msh game; msh2gltf game -o out -q --log-file /dev/stderr 2>&1 | grep -c INFO
        msh2gltf game -o out -q --force --log-file /dev/stdout > log; echo $?; grep -c INFO log; rm log
    """,
    "a device": "msh2gltf /dev/zero; echo $?; msh-inspect /dev/zero; echo $?",
    "a full disk: what finds no room fails, nothing is half there, a repeat with room completes": """
        msh2gltf "$GAME" -o whole -q; mkdir disk; mount -t tmpfs -o size=300k tmpfs disk || exit 77
        msh2gltf "$GAME" -o disk/out -j 1 > said 2>&1; echo $?; grep -o -m 1 "No space left on device" said
        grep -c "Traceback" said; rm said; cd disk/out
        for file in $(find . -name '*.glb' -o -name '*.msh-sidecar'); do cmp "$file" "../../whole/$file"; done
        find . -name '.msh-gltf-*.tmp'; cd ../..; mount -o remount,size=20m disk
        msh2gltf "$GAME" -o disk/out -q; echo $?; diff -r -I '^ "id": "[0-9a-f]' disk/out whole && echo same
    """,
    "a disk that cannot be written": """
        mkdir disk; mount -t tmpfs -o ro tmpfs disk || exit 77
        msh2gltf "$GAME" -o disk | grep -c "(Read-only file system)"; msh2gltf "$GAME" -o disk/deeper; echo $?
    """,
    "times of any century": """
        cp -r "$GAME" game; msh2gltf game -o out -q
        find out -type f ! -name manifest.json -exec md5sum {} + > sums
        touch -d 1901-12-31T12:00:00Z game/static.rlb; touch -d 2400-12-31T12:00:00Z game/SYSTEM.RLB
        touch -d 1969-12-31T12:00:00Z game/DATA/Loose/*.msh; find out -name '*.glb' -exec touch -d @8589934592 {} +
        msh2gltf game -o out | grep -c converted; md5sum --quiet -c sums && echo same
        msh2gltf game -o out -q --force; md5sum --quiet -c sums && echo same
        grep -o '"modified": "\\(19\\|24\\)..' out/manifest.json | sort -u
        gltf2msh out --game game -o new -q; diff -r game new && echo same; stat -c %Y new/static.rlb; rm sums
    """,
    "a time that no calendar has": """
        mkdir disk; mount -t tmpfs tmpfs disk || exit 77
        mkdir disk/g; cp model.msh disk/g; touch -d @999999999999 disk/g/model.msh
        msh2gltf disk/g -o disk/out -q; echo $?
    """,
    **{
        f"in the way of {output}: {there}": IN_THE_WAY.format(make, there, output)
        for make, there, output in (
            ("mkdir", "x.msh-sidecar", "x.glb"),
            ("mkdir", "x.bin", "x.gltf"),
            ("mkdir", "x.mtl", "x.obj"),
            ("touch", "f", "f/x.glb"),
        )
    },
    "in the way of one of several: what is written before it stays as it was": """
        msh2gltf model.msh -o x.gltf -q --dialect spec; rm x.bin; mkdir x.bin; md5sum x.gltf x.msh-sidecar > sums
        msh2gltf model.msh -o x.gltf -q --dialect retail --force; echo $?; md5sum -c sums
    """,
    "file systems of their own: renamed within them; a file that is one cannot be replaced": """
        mkdir -p out/static.rlb; mount -t tmpfs tmpfs out/static.rlb || exit 77
        msh2gltf "$GAME" -o out -q; echo $?; msh2gltf "$GAME" -o whole -q
        diff -r -I '^ "id": "[0-9a-f]' out whole && echo same
        cp out/static.rlb/MTCHECK.glb x.glb; touch y; mount --bind y x.glb
        msh2gltf model.msh -o x.glb --force; echo $?
    """,
}


def said_and_left(name: str, game: Path, folder: Path) -> str:
    """What a script says, and what it leaves beside its model."""
    (folder / "model.msh").write_bytes((DATA / "retail__system__R_H_002.msh").read_bytes())
    begin, end = (
        'cd "$1"; GAME="$2"; PYTHON="$3"; export PATH="$BIN:$PATH" LC_ALL=C',
        'cd "$1" 2> /dev/null && ls -A >&2',
    )
    script = "\n".join([begin, SCRIPTS[name], end])
    done = (in_namespace if "mount " in script else shell)(script, folder, game, sys.executable)
    assert not [path for path in leftovers(folder) if path.suffix == ".tmp"]
    return "; ".join([*done.stdout.splitlines(), "and", *done.stderr.splitlines()]).replace(f"{folder}/", "")


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_comes_of_a_script(name: str, game: Path, tmp_path: Path) -> None:
    FOUND.require(name, said_and_left(name, game, tmp_path))


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as made:
        shared = make_game(Path(made) / "game")
        FOUND.write_each(SCRIPTS, lambda name, folder: said_and_left(name, shared, folder))
