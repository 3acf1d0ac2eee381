"""Pictures of models without a display: VTK draws into memory (docs/decisions/0015).

Needs the ``preview`` extra. Everything here runs in a worker process: where a machine lacks
OpenGL, VTK ends the process, not with an exception.
"""

from __future__ import annotations

import io
import os
import sys
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import ConversionError
from ..numeric.arrays import F64, U8
from .manifest import Outcome, guarded

#: Width and height of a picture in pixels.
SIZE = (320, 240)
#: Pictures are drawn this many times as large, then made smaller: smooth edges.
_OVERSAMPLING = 2
#: Where the camera stands, in front and to the right of a model that looks along game +Y: heading
#: and height in degrees, and its vertical angle of view.
HEADING, PITCH, VIEW_ANGLE = 145.0, 24.0, 30.0
#: Room around the model.
MARGIN = 1.06
#: What VTK calls the textures of a glTF material.
_TEXTURES = ("albedoTex", "emissiveTex", "materialTex", "normalTex")
#: The PNG text chunk that says what a picture was made from.
DIGEST_KEY = "msh-gltf"


def try_out(number: int) -> Outcome:
    """Draw a triangle. For a worker: without OpenGL the process dies here, not in a model."""
    return guarded("VTK", _try_out)


def _try_out() -> Outcome:
    triangle = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
    from ...exporters.gltf_file import Builder, glb_bytes

    file = Builder()
    positions = file.add_vertices(triangle, bounds=True)
    mesh = file.add_mesh({"primitives": [{"attributes": {"POSITION": positions}}]})
    file.scenes.append({"nodes": [file.add_node({"mesh": mesh})]})
    draw(glb_bytes(file.document()))
    return Outcome("VTK", "drawn")


def draw_png(glb: bytes, digest: str) -> bytes | None:
    """A picture of a ``.glb``'s default scene at rest. Raises ConversionError: VTK could not draw it.

    Args:
        digest: of what it was made from; kept as text in the PNG, for the gallery to compare.

    Returns:
        A PNG with transparency of size :data:`SIZE`; ``None`` where the scene shows nothing.
    """
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    pixels = draw(glb)
    if pixels is None:
        return None
    about = PngInfo()
    about.add_text(DIGEST_KEY, digest)
    out = io.BytesIO()
    large = Image.frombytes("RGBa", pixels.shape[1::-1], pixels.tobytes())
    large.resize(SIZE, Image.Resampling.BOX).convert("RGBA").save(out, "PNG", pnginfo=about)
    return out.getvalue()


def draw(glb: bytes) -> U8 | None:
    """The default scene of a ``.glb`` as VTK draws it. Raises ConversionError: VTK could not draw it.

    Returns:
        (height, width, 4) uint8 RGBA, colours premultiplied by alpha, first row on top,
        :data:`SIZE` times the oversampling; ``None`` where the scene shows nothing.
    """
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOCore import vtkMemoryResourceStream
    from vtkmodules.vtkIOImport import vtkGLTFImporter
    from vtkmodules.vtkRenderingCore import vtkRenderer, vtkWindowToImageFilter

    window = _window()
    renderer = vtkRenderer()
    renderer.SetBackgroundAlpha(0.0)
    renderer.SetUseDepthPeeling(True)
    renderer.SetMaximumNumberOfPeels(6)
    window.AddRenderer(renderer)
    try:
        stream = vtkMemoryResourceStream()
        stream.SetBuffer(glb, len(glb))
        importer = vtkGLTFImporter()
        importer.SetStream(stream)
        importer.StreamIsBinaryOn()
        importer.SetRenderWindow(window)
        if not importer.Update():
            raise ConversionError("VTK cannot read the glTF")
        points = _points(renderer)
        if not len(points):
            return None
        _plain_textures(renderer)
        _light(renderer)
        _aim(renderer, points)
        window.Render()
        grabbed = vtkWindowToImageFilter()
        grabbed.SetInput(window)
        grabbed.SetInputBufferTypeToRGBA()
        grabbed.ReadFrontBufferOff()
        grabbed.Update()
        image = grabbed.GetOutput()
        width, height, _ = image.GetDimensions()
        flat = vtk_to_numpy(image.GetPointData().GetScalars())
        pixels = np.array(flat).reshape(height, width, 4)[::-1]
    finally:
        window.RemoveRenderer(renderer)
        renderer.ReleaseGraphicsResources(window)
    if not pixels[..., 3].any():
        raise ConversionError("VTK drew an empty picture")
    return np.ascontiguousarray(pixels)


@lru_cache(maxsize=1)
def _window() -> Any:
    """One window per process, never shown."""
    if sys.platform == "linux" and not os.environ.get("DISPLAY"):
        # else VTK looks for an X server first, and says that there is none
        os.environ.setdefault("VTK_DEFAULT_OPENGL_WINDOW", "vtkEGLRenderWindow")
    import vtkmodules.vtkRenderingOpenGL2  # noqa: F401  (registers what draws)
    from vtkmodules.vtkCommonCore import vtkLogger, vtkObject
    from vtkmodules.vtkRenderingCore import vtkRenderWindow

    vtkObject.GlobalWarningDisplayOff()
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)
    window = vtkRenderWindow()
    window.SetOffScreenRendering(1)
    window.SetShowWindow(False)
    window.SetAlphaBitPlanes(1)
    window.SetMultiSamples(0)  # depth peeling and oversampling instead
    window.SetSize(*(side * _OVERSAMPLING for side in SIZE))
    return window


def _plain_textures(renderer: Any) -> None:
    """Turn anisotropic filtering off, which VTK turns on for pictures with mipmaps.

    Mesa's software renderer samples each texel that a pixel may cover: of a triangle that is seen
    edge-on these are billions, and one picture took seven minutes. Oversampling smooths enough.
    """
    actors = renderer.GetActors()
    actors.InitTraversal()
    while (actor := actors.GetNextActor()) is not None:
        for name in _TEXTURES:
            if (texture := actor.GetProperty().GetTexture(name)) is not None:
                texture.SetMaximumAnisotropicFiltering(1.0)


def _light(renderer: Any) -> None:
    """One light over the camera's shoulder, one from the other side; what glTF brings goes."""
    from vtkmodules.vtkRenderingCore import vtkLight

    renderer.RemoveAllLights()
    renderer.AutomaticLightCreationOff()
    for position, intensity in (((-0.6, 1.0, 1.0), 2.2), ((0.9, 0.1, 0.7), 1.1)):
        light = vtkLight()
        light.SetLightTypeToCameraLight()
        light.SetPosition(*position)
        light.SetIntensity(intensity)
        renderer.AddLight(light)


def camera_axes() -> F64:
    """(3, 3) right, up and backward of the camera, in glTF axes."""
    heading, pitch = np.radians((HEADING, PITCH))
    back = np.array([np.sin(heading) * np.cos(pitch), np.sin(pitch), np.cos(heading) * np.cos(pitch)])
    right = np.cross((0.0, 1.0, 0.0), back)
    right /= np.linalg.norm(right)
    return np.array([right, np.cross(back, right), back])


def camera_place(points: F64) -> tuple[F64, F64]:
    """What the camera looks at, and where it stands to see all points; ``points``: (n, 3) in glTF axes.

    Returns:
        Focal point and position, (3,) each.
    """
    axes = camera_axes()
    seen = points @ axes.T
    middle = (seen.min(axis=0) + seen.max(axis=0)) / 2
    seen -= middle
    extent = np.tan(np.radians(VIEW_ANGLE / 2)) * np.array([SIZE[0] / SIZE[1], 1.0])
    needed = np.abs(seen[:, :2]) / extent + seen[:, 2:]
    distance = max(float(needed.max()) * MARGIN, 1e-3)
    return middle @ axes, (middle + np.array([0.0, 0.0, distance])) @ axes


def _points(renderer: Any) -> F64:
    """(n, 3) every point that a triangle or a line uses, in the scene's axes."""
    from vtkmodules.util.numpy_support import vtk_to_numpy

    out = [np.empty((0, 3))]
    actors = renderer.GetActors()
    actors.InitTraversal()
    while (actor := actors.GetNextActor()) is not None:
        actor.GetMapper().Update()
        data = actor.GetMapper().GetInput()
        cells = [data.GetPolys(), data.GetStrips(), data.GetLines()]
        rows = [vtk_to_numpy(c.GetConnectivityArray()) for c in cells if c.GetNumberOfCells()]
        if rows:
            used = np.unique(np.concatenate(rows))
            points = vtk_to_numpy(data.GetPoints().GetData())[used].astype(np.float64)
            matrix = actor.GetMatrix()
            turn = np.array([[matrix.GetElement(i, j) for j in range(4)] for i in range(3)])
            out.append(points @ turn[:, :3].T + turn[:, 3])
    return np.concatenate(out)


def _aim(renderer: Any, points: F64) -> None:
    focus, position = camera_place(points)
    camera = renderer.GetActiveCamera()
    camera.SetViewAngle(VIEW_ANGLE)
    camera.SetFocalPoint(*focus)
    camera.SetPosition(*position)
    camera.SetViewUp(*camera_axes()[1])
    renderer.ResetCameraClippingRange()
