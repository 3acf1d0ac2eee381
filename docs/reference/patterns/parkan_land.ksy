# Made by docs/make_patterns.py of msh-gltf; docs/reference says what the fields mean and how that is known.
meta:
  id: parkan_land
  title: 'Parkan: Iron Strategy, terrain (Land.msh): an NRes file of tables'
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
            3: table_positions
            4: table_normals
            5: table_uv0
            18: table_microtexture_uv
            14: table_blend
            21: table_faces
            2: table_slots
            1: table_squares
            11: table_draw_order
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
  microtexture_uv_row:
    seq:
      - id: values
        type: s2
        repeat: expr
        repeat-expr: 2
  blend_row:
    seq:
      - id: values
        type: f4
  faces_row:
    seq:
      - id: flags
        type: u4
        doc: '32 bits, [listed below](#flags-of-a-face).'
      - id: first
        type: u1
        doc: 'Material: row of `Land1.wea`; the same row of `Land2.wea` names its microtexture. Row 0 is reserved for the footings of buildings.'
      - id: second
        type: u1
        doc: 'Second material, laid over the first by Res14: row of `Land1.wea`, `0xFF` = none.'
      - id: opaque6
        type: u2
        doc: 'Not understood.'
      - id: vertex
        type: u2
        repeat: expr
        repeat-expr: 3
        doc: 'Rows of Res3, counter-clockwise seen from above. No base is added.'
      - id: link
        type: u2
        repeat: expr
        repeat-expr: 3
        doc: 'Face across edge `k`, `0xFFFF` = none.'
      - id: normal
        type: s2
        repeat: expr
        repeat-expr: 3
        doc: 'Unit normal along the winding, `n / 32767`.'
      - id: selectors
        type: u1
        doc: 'Two bits an edge: index of the same edge in the neighbour, 3 = none. Never 63: no face is alone.'
      - id: opaque27
        type: u1
        doc: 'Not understood.'
  slots_row:
    seq:
      - id: tri_start
        type: u2
        doc: 'First face of the square on this level.'
      - id: tri_count
        type: u2
        doc: 'Number of faces. The runs chain and sum to the face count.'
      - id: batch_start
        type: u2
        doc: '0: a terrain has no batches.'
      - id: batch_count
        type: u2
        doc: '0.'
      - id: aabb_min
        type: f4
        repeat: expr
        repeat-expr: 3
        doc: 'Lowest corner of the square''s *fine* faces. Both slots of a square have this one box.'
      - id: aabb_max
        type: f4
        repeat: expr
        repeat-expr: 3
        doc: 'Highest corner.'
      - id: sphere_center
        type: f4
        repeat: expr
        repeat-expr: 3
        doc: 'Centre of the box.'
      - id: sphere_radius
        type: f4
        doc: 'Radius of the sphere round the *box*, not round the vertices.'
      - id: area
        type: f4
        doc: '0: the last 20 bytes are zero.'
      - id: volume
        type: f4
        doc: '0.'
      - id: opaque56
        type: u4
        doc: '0.'
      - id: opaque60
        type: u4
        doc: '0.'
      - id: opaque64
        type: u4
        doc: '0.'
  slots_header:
    seq:
      - id: hull
        type: f4
        repeat: expr
        repeat-expr: 24
        doc: 'Eight corners of the whole box, in the order of a core model. Corner 0 is the origin of the grid.'
      - id: sphere_center
        type: f4
        repeat: expr
        repeat-expr: 3
        doc: '0: the 44 bytes after the corners are zero.'
      - id: sphere_radius
        type: f4
        doc: '0.'
      - id: cylinder_a
        type: f4
        repeat: expr
        repeat-expr: 3
        doc: '0.'
      - id: cylinder_b
        type: f4
        repeat: expr
        repeat-expr: 3
        doc: '0.'
      - id: cylinder_radius
        type: f4
        doc: '0.'
  squares_row:
    seq:
      - id: flags
        type: u2
        doc: '0.'
      - id: parent
        type: u2
        doc: '`0xFFFF`.'
      - id: map_start
        type: u2
        doc: '0.'
      - id: fallback_key
        type: u2
        doc: '0.'
      - id: slot_index
        type: u2
        repeat: expr
        repeat-expr: 15
        doc: 'Word 0: the slot of the fine level, `i` for square `i`. Word 1: the slot of the coarse level, `squares + i`. Then 13 times `0xFFFF`.'
  draw_order_row:
    seq:
      - id: face
        type: u2
        doc: 'Row of Res21. The table is a permutation of all faces that moves a face only inside its slot''s run.'
      - id: flags
        type: u1
        doc: '`0x48`, and `0x58` on the first face of a group.'
      - id: opaque3
        type: u1
        doc: '0.'
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
  table_microtexture_uv:
    doc: 'Res18 (microtexture UV)'
    seq:
      - id: rows
        repeat: eos
        type: microtexture_uv_row
  table_blend:
    doc: 'Res14 (blend)'
    seq:
      - id: rows
        repeat: eos
        type: blend_row
  table_faces:
    doc: 'Res21 (faces)'
    seq:
      - id: rows
        repeat: eos
        type: faces_row
  table_slots:
    doc: 'Res2 (slots)'
    seq:
      - {id: header, type: slots_header}
      - id: rows
        repeat: eos
        type: slots_row
  table_squares:
    doc: 'Res1 (squares)'
    seq:
      - id: rows
        repeat: eos
        type: squares_row
  table_draw_order:
    doc: 'Res11 (draw order)'
    seq:
      - id: rows
        repeat: eos
        type: draw_order_row
