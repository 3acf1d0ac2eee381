"""Edits of the trials: levels of detail and the clip of a model."""

from __future__ import annotations

import bpy
from trial_nodes import M
from trial_tools import curves, drag, edit, key, keys, move, obj, put, quick, remove, rescale, switch_on, turn

# ------------------------------------------------------------------ model: levels of detail

L1, G1 = "gun.level1", "tower.stage1"
quick(M, "delete level part", lambda: remove(L1), L1, "gun")
quick(M, "hidden level", lambda: put("Base_TM.level1", hide_viewport=True), "Base_TM.level1")
quick(M, "delete stage part", lambda: remove(G1), G1, "tower")
quick(M, "rename level part", lambda: put(L1, name="gun.level2"), L1, "gun.level2")
quick(M, "rename level part to nothing", lambda: put(L1, name="thing"), L1, "thing", "gun")
quick(M, "switch levels on", switch_on)
quick(M, "scale level part", lambda: (switch_on(), put(L1, scale=(2, 2, 2))), L1)
quick(M, "move level part", lambda: (switch_on(), move(L1)), L1)
quick(M, "turn level part", lambda: (switch_on(), turn(L1)), L1)
quick(M, "animate level part", lambda: (switch_on(), key(L1, "location", {0: (0, 0, 0), 24: (1, 0, 0)})), L1)
quick(M, "lod property", lambda: obj(L1)["msh"].update({"group": 2}), L1, "gun.level2")
quick(M, "taken cell", lambda: obj(G1)["msh"].update({"lod": 0, "group": 1}), G1, "tower.level1")
quick(M, "delete level", lambda: remove("Base_TM.level2"), "Base_TM.level2", "Base_TM")


@edit(M, "gun", only_extension=True)
def node_in_a_new_collection():
    home = bpy.data.collections.new("mine")
    bpy.context.scene.collection.children.link(home)
    drag("gun", home)


@edit(M, "gun.level2")
def level_added_by_name():
    switch_on()
    copy = obj(L1).copy()
    copy.data = copy.data.copy()
    copy.name = "gun.level2"
    if "msh" in copy:
        del copy["msh"]
    obj(L1).users_collection[0].objects.link(copy)
    bpy.context.view_layer.update()


# ------------------------------------------------------------------ model: the clip

CLIP = ("animation", "animations", "clip", "e_tur_01", "tower", "radar")


def action():
    return bpy.data.actions[0]


def _delete_keys(test):
    for curve in curves(action()):
        for point in [p for p in curve.keyframe_points if test(p.co.x)][::-1]:
            curve.keyframe_points.remove(point)
        curve.update()


quick(M, "twice as slow", lambda: rescale(2), *CLIP)
quick(M, "twice as fast", lambda: rescale(0.5), *CLIP)
quick(M, "a third slower", lambda: rescale(4 / 3), *CLIP)
quick(M, "uneven last key", lambda: rescale(0.97), *CLIP)
quick(M, "shorter clip", lambda: _delete_keys(lambda x: x > 12.5), *CLIP)
quick(M, "every other key", lambda: _delete_keys(lambda x: x % 2 > 0.5), *CLIP)
quick(M, "no action", lambda: bpy.data.actions.remove(action()), *CLIP)
quick(M, "no animation of a node", lambda: obj("radar").animation_data_clear(), *CLIP)
quick(M, "scene at 30", lambda: put(bpy.context.scene.render, fps=30), *CLIP)
quick(M, "move animated node", lambda: move("tower"), *CLIP)
quick(M, "key on still node", lambda: key("gun", "location", {0: (0.55, 0.9, 0.45), 24: (1, 2, 0.5)}), *CLIP, "gun")
quick(M, "scale keys", lambda: key("gun", "scale", {0: (1, 1, 1), 24: (2, 2, 2)}), *CLIP, "gun")
quick(M, "visibility keys", lambda: key("gun", "hide_viewport", {0: False, 12: True}), "gun", only_extension=True)
quick(M, "constant keys", lambda: keys(lambda c, p: put(p, interpolation="CONSTANT")), *CLIP)


@edit(M, *CLIP)
def shift_clip():
    def change(curve, point):
        for handle in (point.co, point.handle_left, point.handle_right):
            handle.x += 5

    keys(change)


@edit(M, *CLIP)
def one_key_turned():
    bpy.context.scene.frame_set(3)
    turn("tower")
    obj("tower").keyframe_insert("rotation_quaternion", frame=3)


@edit(M, *CLIP)
def second_action():
    made = action().copy()
    made.name = "second"
    return ["second"]


@edit(M, "gun", *CLIP)
def driver_():
    curve = obj("gun").driver_add("location", 0)
    curve.driver.expression = "frame * 0.1"


@edit(M, "gun", *CLIP, only_extension=True)
def constraint_to_radar():
    obj("gun").constraints.new("COPY_ROTATION").target = obj("radar")


@edit(M, "gun", only_extension=True)
def driven_modifier():
    modifier = obj("gun").modifiers.new("m", "ARRAY")
    modifier.use_relative_offset, modifier.use_constant_offset = False, True
    modifier.driver_add("constant_offset_displace", 0).driver.expression = "frame * 0.1"
