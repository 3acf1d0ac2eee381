"""What a material looks like, once its chain is followed (``gltf-mapping`` page, Materials)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from converter.material import Material

#: The game's libraries; their case does not matter.
MATERIALS, TEXTURES, LIGHTMAPS = "Material.lib", "Textures.lib", "lightmap.lib"


@dataclass(frozen=True)
class Look:
    """What a WEAR row leads to.

    Attributes:
        name: the row's name.
        material: the ``Material.lib`` entry that was taken, ``""`` = there is no library.
        step: by which step of the rule: its name, ``DEFAULT``, the first entry, or not at all.
        colour: base colour, red, green, blue, alpha, 0..1.
        self_light: red, green, blue, 0..1, of its own light.
        translucent: what lies behind it shows through.
        additive: it is added to what lies behind it.
        texture: entry name of its texture, ``""`` = none.
        phases: how many phases its animation has; the first is shown.
    """

    name: str
    material: str
    step: Literal["name", "DEFAULT", "first", "missing"]
    colour: tuple[float, float, float, float]
    self_light: tuple[float, float, float]
    translucent: bool
    additive: bool
    texture: str
    phases: int


@dataclass(frozen=True)
class Dress:
    """How a model's materials look.

    Attributes:
        looks: by WEAR row.
        images: PNG bytes by texture name, as the looks have it.
        warnings: what was not found on the way.
    """

    looks: dict[int, Look] = field(default_factory=dict)
    images: dict[str, bytes] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


#: What stands in for a material that no library has.
GREY = (0.6, 0.6, 0.6, 1.0)


def missing_look(name: str) -> Look:
    """The look of a name without any ``Material.lib``."""
    return Look(name, "", "missing", GREY, (0.0, 0.0, 0.0), False, False, "", 0)


def look_of(name: str, material: Material, step: Literal["name", "DEFAULT", "first"]) -> Look:
    """The look of a name whose chain led to a material."""
    red, green, blue = material.diffuse
    return Look(
        name,
        material.name,
        step,
        (red, green, blue, material.alpha),
        material.self_light,
        material.translucent,
        material.additive,
        material.texture,
        len(material.phases),
    )
