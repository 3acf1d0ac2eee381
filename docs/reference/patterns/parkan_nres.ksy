# Made by docs/make_patterns.py of msh-gltf; docs/reference says what the fields mean and how that is known.
meta:
  id: parkan_nres
  title: 'Parkan: Iron Strategy, NRes archive: directory and payloads'
  file-extension: rlb
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
