# Made by docs/make_patterns.py of msh-gltf; docs/reference says what the fields mean and how that is known.
meta:
  id: parkan_msh
  title: 'Parkan: Iron Strategy, core model: an NRes file of tables'
  file-extension: msh
  endian: le
  license: MIT
seq:
  - {id: header, type: nres_header}
instances:
  directory:
    pos: header.total_size - 64 * header.entry_count
    type: nres_entry
    repeat: expr
    repeat-expr: header.entry_count
types:
  nres_header:
    seq:
      - id: magic
        size: 4
        doc: 'The four letters `NRes`.'
      - id: version
        type: u4
        doc: '`0x100` in every file. Another value is refused.'
      - id: entry_count
        type: s4
        doc: 'Number of directory rows, 0 or more.'
      - id: total_size
        type: u4
        doc: 'Length of the file in bytes. The directory is its last `64 * entry_count` bytes.'
  nres_entry:
    seq:
      - id: type_id
        type: u4
        doc: 'What the entry is: four letters in archives (`MESH`, `Texm`, `MAT0`, `WEAR`, ...), a small number inside a model, a terrain or an areal map.'
      - id: attr1
        type: u4
        doc: 'Mostly a count; see the page of the table. The game reads it of Res20 and of type 12.'
      - id: attr2
        type: u4
        doc: 'Mostly 0; a count or a version in some tables. The game reads it of Res19.'
      - id: size
        type: u4
        doc: 'Bytes of the payload.'
      - id: attr3
        type: u4
        doc: 'Mostly the stride of the payload''s records, or a constant.'
      - id: name
        size: 36
        doc: 'At most 35 bytes and a NUL. What follows the NUL means nothing.'
      - id: data_offset
        type: u4
        doc: 'Where the payload starts in the file: 16 or more, a multiple of 8 in the game''s files.'
      - id: sort_index
        type: u4
        doc: 'Row `i` of the sort table: the directory row of the `i`-th name in sorted order. Not the rank of this entry.'
    instances:
      payload:
        io: _root._io
        pos: data_offset
        size: size
        type:
          switch-on: type_id
          cases:
            1: table_nodes
            2: table_slots
            3: table_positions
            4: table_normals
            5: table_uv0
            8: table_key_pool
            19: table_frame_map
            7: table_triangle_descriptors
            13: table_batches
            6: table_indices
            15: table_vertex_stream_15
            16: table_tangents
            18: table_vertex_extra
            9: table_names
  nodes_row:
    seq:
      - id: flags
        type: u2
        doc: 'Bits, [listed below](#flags-of-a-node).'
      - id: parent
        type: u2
        doc: 'Row of the parent, `0xFFFF` = a root. Smaller than the node''s own row in every file of the game.'
      - id: map_start
        type: u2
        doc: 'First word of the node''s map in Res19, `0xFFFF` = no map, the node stands still.'
      - id: fallback_key
        type: u2
        doc: 'Row of Res8: the key that holds outside the map, and the bound of the map''s words. It is the last key of the node''s own run.'
      - id: slot_index
        type: u2
        repeat: expr
        repeat-expr: 15
        doc: 'Row of Res2''s slots per damage stage (3 rows, `lod`) and level of detail (5 columns, `group`; column 4: the pilot''s view), `0xFFFF` = nothing there. See [the slot matrix](#the-slot-matrix).'
  nodes_legacy_row:
    seq:
      - id: words
        type: u2
        repeat: expr
        repeat-expr: 12
        doc: 'Twelve words. One model of the game has such nodes, `MTCHECK.MSH`; no code that reads them was found, so they have no meaning here.'
  slots_row:
    seq:
      - id: tri_start
        type: u2
        doc: 'First row of Res7. Equals the first batch''s `index_start / 3`.'
      - id: tri_count
        type: u2
        doc: 'Number of rows: a triangle `t` is the slot''s if `triStart <= t < triStart + triCount`.'
      - id: batch_start
        type: u2
        doc: 'First row of Res13.'
      - id: batch_count
        type: u2
        doc: 'Number of batches.'
      - id: aabb_min
        type: f4
        repeat: expr
        repeat-expr: 3
        doc: 'Lowest x, y, z of the vertices that the slot reaches, in the node''s frame.'
      - id: aabb_max
        type: f4
        repeat: expr
        repeat-expr: 3
        doc: 'Highest x, y, z.'
      - id: sphere_center
        type: f4
        repeat: expr
        repeat-expr: 3
        doc: 'Centre of a sphere that contains the slot, in the node''s frame.'
      - id: sphere_radius
        type: f4
        doc: 'Its radius, a first, coarse test. In world space it grows by `max(scaleX, scaleY, scaleZ)`.'
      - id: area
        type: f4
        doc: 'Surface area of the slot''s triangles.'
      - id: volume
        type: f4
        doc: 'Volume of the box; the game''s mass is density times this.'
      - id: opaque56
        type: u4
        doc: 'Not understood.'
      - id: opaque60
        type: u4
        doc: 'Not understood.'
      - id: opaque64
        type: u4
        doc: 'Not understood.'
  slots_header:
    seq:
      - id: hull
        type: f4
        repeat: expr
        repeat-expr: 24
        doc: 'Eight corners of the model''s box at rest, LOD 0, in model space. [Order of the corners](#the-header). The first four are used as a footprint.'
      - id: sphere_center
        type: f4
        repeat: expr
        repeat-expr: 3
        doc: 'Centre of the sphere round the whole model.'
      - id: sphere_radius
        type: f4
        doc: 'Its radius; the game uses it as the collision radius.'
      - id: cylinder_a
        type: f4
        repeat: expr
        repeat-expr: 3
        doc: 'One end of the cylinder''s axis. The source calls the seven numbers a segment or capsule.'
      - id: cylinder_b
        type: f4
        repeat: expr
        repeat-expr: 3
        doc: 'The other end.'
      - id: cylinder_radius
        type: f4
        doc: 'Half the diagonal of the box across the axis. The axis is the one that gives the smallest volume, z for most models.'
  positions_row:
    seq:
      - id: values
        type: f4
        repeat: expr
        repeat-expr: 3
  normals_row:
    seq:
      - id: values
        type: s1
        repeat: expr
        repeat-expr: 4
  uv0_row:
    seq:
      - id: values
        type: s2
        repeat: expr
        repeat-expr: 2
  key_pool_row:
    seq:
      - id: position
        type: f4
        repeat: expr
        repeat-expr: 3
        doc: 'Translation relative to the parent.'
      - id: time
        type: f4
        doc: 'Frame at which the key holds: a whole number from 0, rising inside a run. It is the first frame whose map word names the key.'
      - id: quaternion
        type: s2
        repeat: expr
        repeat-expr: 4
        doc: 'Rotation, each word / 32767. Order by [dialect](dialects.md): `spec` x, y, z, w; `retail` w, x, y, z. All zero (ten keys of the game) is no rotation.'
  frame_map_row:
    seq:
      - id: values
        type: u2
  triangle_descriptors_row:
    seq:
      - id: tri_flags
        type: u2
        doc: '0 on 233,714 of 241,887 triangles; 2 walkable floor, 4 shots and movers pass (foliage), 16 leaf of a door, 32 glass.'
      - id: link
        type: u2
        repeat: expr
        repeat-expr: 3
        doc: 'Row of Res7 of the triangle across edge `k` (vertex `k` to the next), `0xFFFF` = none.'
      - id: normal
        type: s2
        repeat: expr
        repeat-expr: 3
        doc: 'Unit normal, `n / 32767`, along `cross(p1 - p0, p2 - p0)`. The game''s hit test uses it.'
      - id: selectors
        type: u2
        doc: 'Bits `2k`, `2k + 1`: which edge of the triangle across edge `k` is the shared one, 3 = none. The upper ten bits are leftovers.'
  batches_row:
    seq:
      - id: word0
        type: u2
        doc: 'Flags. `retail`: low half of 32 bits, [listed below](#flags-of-a-batch).'
      - id: word2
        type: u2
        doc: '`spec`: row of the material in the WEAR. `retail`: high half of the flags, 0 in every file.'
      - id: word4
        type: u2
        doc: '`retail`: low byte the material''s row in the WEAR, high byte the lightmap''s, `0xFF` = none. `spec`: not understood.'
      - id: word6
        type: u2
        doc: '`retail`: the node behind a portal (flag `0x8`, 633 batches), else `0xFFFF` (14,520). `spec`: not understood, perhaps a node.'
      - id: index_count
        type: u2
        doc: 'Number of indices, a multiple of 3.'
      - id: index_start
        type: u4
        doc: 'First index in Res6, in elements. Batches follow one another without gaps.'
      - id: window
        type: u2
        doc: 'Largest relative index + 1: how many vertices the draw call may touch. With 0 the game draws garbage.'
      - id: base_vertex
        type: u4
        doc: 'What is added to every index: row of Res3 of the batch''s vertex 0.'
  indices_row:
    seq:
      - id: values
        type: u2
  vertex_stream_15_row:
    seq:
      - id: values
        type: u1
        repeat: expr
        repeat-expr: 8
  tangents_row:
    seq:
      - id: tangent
        type: s1
        repeat: expr
        repeat-expr: 4
        doc: 'First of two streams in Res16, presumably a packed tangent (like Res4). No model of the game has the table.'
      - id: bitangent
        type: s1
        repeat: expr
        repeat-expr: 4
        doc: 'Second stream, presumably a packed bitangent.'
  vertex_extra_row:
    seq:
      - id: values
        type: u1
        repeat: expr
        repeat-expr: 4
  names_row:
    seq:
      - id: name
        size: 32
        doc: 'Name of a node (Res9) or of a control point (`.cpt`), padded with NULs.'
  table_nodes:
    doc: 'Res1 (nodes)'
    seq:
      - id: rows
        repeat: eos
        type:
          switch-on: _parent.attr3
          cases:
            24: nodes_legacy_row
            _: nodes_row
  table_slots:
    doc: 'Res2 (slots)'
    seq:
      - {id: header, type: slots_header}
      - id: rows
        repeat: eos
        type: slots_row
  table_positions:
    doc: 'Res3 (positions)'
    seq:
      - id: rows
        repeat: eos
        type: positions_row
  table_normals:
    doc: 'Res4 (normals)'
    seq:
      - id: rows
        repeat: eos
        type: normals_row
  table_uv0:
    doc: 'Res5 (UV0)'
    seq:
      - id: rows
        repeat: eos
        type: uv0_row
  table_key_pool:
    doc: 'Res8 (key pool)'
    seq:
      - id: rows
        repeat: eos
        type: key_pool_row
  table_frame_map:
    doc: 'Res19 (frame map)'
    seq:
      - id: rows
        repeat: eos
        type: frame_map_row
  table_triangle_descriptors:
    doc: 'Res7 (triangle descriptors)'
    seq:
      - id: rows
        repeat: eos
        type: triangle_descriptors_row
  table_batches:
    doc: 'Res13 (batches)'
    seq:
      - id: rows
        repeat: eos
        type: batches_row
  table_indices:
    doc: 'Res6 (indices)'
    seq:
      - id: rows
        repeat: eos
        type: indices_row
  table_vertex_stream_15:
    doc: 'Res15 (vertex stream 15)'
    seq:
      - id: rows
        repeat: eos
        type: vertex_stream_15_row
  table_tangents:
    doc: 'Res16 (tangents)'
    seq:
      - id: rows
        repeat: eos
        type: tangents_row
  table_vertex_extra:
    doc: 'Res18 (vertex extra)'
    seq:
      - id: rows
        repeat: eos
        type: vertex_extra_row
  table_names:
    doc: 'Res9 (names)'
    seq:
      - id: rows
        repeat: eos
        type: names_row
