"""What the converter's messages advise, in the words of Blender's interface.

The messages speak of the commands and of the pages that come with them; who reads them in Blender
has neither. Nothing here imports Blender, so that a test can go through all messages.
"""

_PREFERENCES = "name the game's folder in Edit > Preferences > Add-ons > MSH"
#: Text of a message -> text that is shown instead; longer ones first where one begins another.
WORDS = {
    # which game, which files
    "--game DIR names the game's directory": _PREFERENCES,
    "--game DIR names the game": _PREFERENCES,
    "name the game's directory with --game DIR": _PREFERENCES,
    "convert the model again with --game or --textures": (
        f"import the model again with Textures ticked; {_PREFERENCES}"
    ),
    "give the file that msh2gltf wrote": "import the terrain again",
    "give a file; msh2gltf DIR --list shows the models below it": "choose a file in it",
    "the entries are listed by msh-inspect ": "leave Entry empty to choose from a list: ",
    "choose a texture with --entry NAME": "models and missions alone can be opened",
    "; --unpack DIR takes entries of any kind": "",
    "choose one with --entry NAME: ": "choose one under Entry: ",
    "; or all with -o DIR": "",
    # what goes into the libraries
    " (docs/materials.md)": "",
    "run gltf2msh on the file, or on a whole game": "put the model back into the game",
    "export the game's folder with msh2gltf, and put it back with --game or --in-place": (
        "put the model back into the game, instead of writing a file"
    ),
    ", or import it with --keep-alpha)": " to keep it)",
    # a new model instead of an edited one
    "put it back beside the file, or give it with --sidecar PATH": "import the model again",
    "keep the .msh-sidecar beside the file, or give it with --sidecar PATH": ("leave Rebuild Everything unticked"),
    "leave --dialect out to write ": "choose the dialect Automatic to write ",
    "; export the model again with msh2gltf --dialect ": "; import the model again with the dialect ",
    " if it was read wrongly, or make a new one with --no-sidecar": (
        " if it was read wrongly, or tick Rebuild Everything"
    ),
    "--dialect ": "the dialect ",
    "rebuild it with --no-sidecar, which writes one": "export it with Rebuild Everything ticked, which writes one",
    "rebuild the model with --no-sidecar": "export it with Rebuild Everything ticked",
    "rebuild the whole model with --no-sidecar": "export it with Rebuild Everything ticked",
    " (--no-sidecar makes a new model of the file as it is)": "",
    "--generate-lods: level ": "Generate Levels: level ",
    "away (--lod-error), or": "away (Distance), or",
    # animation
    "a shorter clip, or another --fps": "shorten the animation",
    "--clip NAME takes another; delete the one that is not meant": "delete the one not meant",
    "--clip NAME takes another": "delete those that are not meant",
    " (--clip NAME reads one alone)": "",
    "nodes of a model have none: --ignore-scale skips it": "delete the keys of its scale",
    "parts of a model are rigid: --rigid-skin binds each triangle to one joint": (
        "parts of a model are rigid: parent the objects to bones instead"
    ),
    # what was changed in a game
    "msh-mod status shows what is known": "Status in the panel shows what is known",
    "msh-mod restore brings it back": "put the file back where it was",
    "msh-mod status lists them": "Status in the panel shows them",
    "take that back first: msh-mod undo GAME ": "take that back first: change ",
    "run gltf2msh on the whole game": "Put Back Into the Game writes each into its archive",
    # what only a command can do, or tell more about
    "msh2gltf --tolerant leaves out ": "the converter's command line can open it without ",
    ", which msh-inspect --check names": "",
    "--no-verify writes it all the same": "undo the edits one by one to find the one that it is",
}


def in_blender(text: str) -> str:
    """Return a message as the extension shows it."""
    for of_commands, of_blender in WORDS.items():
        text = text.replace(of_commands, of_blender)
    return text
