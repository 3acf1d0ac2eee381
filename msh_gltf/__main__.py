"""``python -m msh_gltf``: lists the commands, or runs one: ``python -m msh_gltf msh2gltf ...``."""

from __future__ import annotations

import sys

from . import __version__
from .converter import cli

COMMANDS = {
    "msh2gltf": (cli.msh2gltf, "turn models, terrains and whole games into glTF 2.0"),
    "gltf2msh": (cli.gltf2msh, "turn glTF files back into models, or into new ones"),
    "msh-inspect": (cli.msh_inspect, "show and check models, archives and whole games"),
    "msh-mod": (cli.msh_mod, "show, undo and share what was changed in a game"),
}


def main() -> None:
    """List the commands, or run the one that is named."""
    name, *arguments = sys.argv[1:] or ["--help"]
    if name in COMMANDS:
        COMMANDS[name][0](arguments)
    elif name == "--version":
        print(f"msh-gltf, version {__version__}")
    elif name in ("-h", "--help"):
        print(f"msh-gltf, version {__version__}: models of Parkan: Iron Strategy and glTF\n")
        for command, (_, summary) in COMMANDS.items():
            print(f"  {command:<11}  {summary}")
        print("\nEach is a command of its own; python -m msh_gltf COMMAND runs it as well.")
        print("COMMAND --help shows its options; pydoc msh_gltf lists the library.")
    else:
        known = ", ".join(COMMANDS)
        print(f"msh_gltf: error: no such command: '{name}' (expected {known})", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
