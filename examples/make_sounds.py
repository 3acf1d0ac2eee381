"""Add ``sounds.lib`` and ``voices.lib`` to a game: a shot, a step and a voice, as WAV made from nothing.

    python examples/make_sounds.py GAME

The real game's are archives of WAV files as well. The tutorial docs/tutorials/sounds.md uses these.
"""

from __future__ import annotations

import io
import sys
import wave
from pathlib import Path

import numpy as np
from make_entries import entry

from msh_gltf.converter.formats.nres import write_nres
from msh_gltf.converter.formats.nres_edits import new_archive

WAVE = int.from_bytes(b"WAVE", "little")
RATE = 11025


def sound(seconds: float, hertz: float, noise: float) -> bytes:
    """A tone that fades, with noise in it, as a WAV file of 8 bits."""
    times = np.arange(round(seconds * RATE)) / RATE
    tone = np.sin(2 * np.pi * hertz * times) * (1 - noise)
    tone += np.random.default_rng(1998).uniform(-noise, noise, times.size)
    samples = (127.5 + 100 * tone * np.exp(-4 * times / seconds)).astype(np.uint8)
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(1)
        file.setframerate(RATE)
        file.writeframes(samples.tobytes())
    return out.getvalue()


SOUNDS = {
    "sounds.lib": {"shot.wav": sound(0.6, 90, 0.7), "step.wav": sound(0.3, 60, 0.4)},
    "voices.lib": {"ready.wav": sound(0.8, 220, 0.05)},
}


def main() -> None:
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        raise SystemExit(__doc__)
    for name, sounds in SOUNDS.items():
        path = Path(sys.argv[1]) / name
        if path.exists():
            raise SystemExit(f"{path} is there already")
        entries = [entry(WAVE, sound_name, data) for sound_name, data in sounds.items()]
        path.write_bytes(write_nres(new_archive(entries, name)))
        print(f"wrote {path}: {len(entries)} sound{'s' if len(entries) > 1 else ''}")


if __name__ == "__main__":
    main()
