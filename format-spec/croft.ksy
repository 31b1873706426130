meta:
  id: croft
  title: Tensor checkpoint of Undercroft
  file-extension: croft
  license: Apache-2.0
  ks-version: '0.11'
  encoding: UTF-8
  endian: le

doc: |
  A `.croft` file, version 1: storages, the tensors that stand on them, and the state tree around these, in one or many
  snapshots. Names of fields are those of the tables of SPEC.md, which is the normative text. What a table cannot say is
  not here either: checksums are shown and not checked, and a reader has to check the rules of section 14 itself.

  Start with `newest.index`; `newest.parent` is the snapshot before. `index.entries` lists all sections of an index, those
  that this version does not know included, with their bytes.

doc-ref: SPEC.md

seq:
  - id: header
    type: header
    size: 256
  - id: first
    type: slot
    size: 768
    doc: The commit record of the first snapshot, unless the file is sealed.

instances:
  last:
    pos: _io.size - 768
    size: 768
    type: slot
    if: header.is_sealed
    doc: The commit record of a sealed file, which has no other (10.8).
  has_slots:
    value: not header.is_sealed and _io.size >= header.commit_slots + 8192
  slots:
    pos: header.commit_slots
    size: 4096
    type: slot
    repeat: expr
    repeat-expr: 2
    if: has_slots
    doc: The two slots for the records of later snapshots. A file of one snapshot ends before them.
  newer_slot:
    value: 'slots[0].sequence > slots[1].sequence ? slots[0] : slots[1]'
    if: has_slots
  newest:
    value: 'header.is_sealed ? last.record : has_slots and newer_slot.sequence > 0 ? newer_slot.record : first.record'
    doc: The record with the greatest sequence. That its checksums match is for the caller to see.

types:
  digest:
    doc: A number of 128 bits, XXH3-128.
    seq:
      - id: low
        type: u8
      - id: high
        type: u8

  header:
    doc-ref: SPEC.md, section 5
    seq:
      - id: signature
        contents: [0x89, CRF, 0x0d, 0x0a, 0x1a, 0x0a]
      - id: major_version
        type: u2
        valid: 1
      - id: minor_version
        type: u2
      - id: header_length
        type: u4
        valid: 256
      - id: file_uuid
        size: 16
      - id: required_features
        type: u8
        valid: 0
      - id: read_only_compatible_features
        type: u8
      - id: optional_features
        type: u8
      - id: chunk_size_log2
        type: u1
        valid:
          min: 16
          max: 30
      - id: reserved
        size: 7
      - id: data_start
        type: u8
      - id: commit_slots
        type: u8
      - id: reserved_2
        size: 172
      - id: crc32c_of_the_bytes_before
        type: u4
    instances:
      is_sealed:
        value: (read_only_compatible_features & 1) != 0

  slot:
    doc: A place for a commit record. It is zero, or torn, or holds one, with zeros behind it.
    seq:
      - id: record
        type: commit_record
        if: signature == [0x43, 0x4d, 0x49, 0x54]
    instances:
      signature:
        pos: 0
        size: 4
      sequence:
        value: '(signature == [0x43, 0x4d, 0x49, 0x54] ? record.sequence : 0).as<u8>'
        doc: Of the record, from 1, or 0 if there is none.

  commit_record:
    doc-ref: SPEC.md, section 6
    seq:
      - id: signature
        contents: CMIT
      - id: record_length
        type: u4
        doc: 112 without a message, 624 with one, more if a newer version has more to say.
      - id: sequence
        type: u8
      - id: index_offset
        type: u8
      - id: index_length
        type: u8
      - id: directory_digest
        type: digest
      - id: file_uuid
        size: 16
      - id: committed_length
        type: u8
      - id: previous_record
        type: u8
      - id: time_in_ms
        type: s8
      - id: required_features
        type: u8
        valid: 0
      - id: root_digest
        type: digest
      - id: message_length
        type: u4
        valid:
          max: 508
      - id: message
        size: 508
      - id: reserved
        size: 140
      - id: crc32c_of_the_bytes_before
        type: u4
    instances:
      text:
        pos: 116
        size: message_length
        type: str
        doc: The message.
      index:
        io: _root._io
        pos: index_offset
        size: index_length
        type: index
      parent:
        io: _root._io
        pos: previous_record
        size: 768
        type: commit_record
        if: previous_record != 0
        doc: The record of the snapshot before, from its parent record.

  index:
    doc-ref: SPEC.md, section 7
    seq:
      - id: head
        type: directory_head
      - id: entries
        type: directory_entry
        repeat: expr
        repeat-expr: head.section_count
    instances:
      extents:
        pos: 32
        type: section("EXTN")
      storages:
        pos: 32
        type: section("STOR")
      tensors:
        pos: 32
        type: section("TENS")
      dims:
        pos: 32
        type: section("DIMS")
      names:
        pos: 32
        type: section("NAMS")
      strings:
        pos: 32
        type: section("STRS")
      dtypes:
        pos: 32
        type: section("DTYP")
      texts:
        pos: 32
        type: section("STRB")
      tree:
        pos: 32
        type: section("TREE")
      metadata:
        pos: 32
        type: section("META")
      bases:
        pos: 32
        type: section("BASE")
      free_ranges:
        pos: 32
        type: section("FREE")
      codings:
        pos: 32
        type: section("CODE")
      block_sums:
        pos: 32
        type: section("ISUM")

  directory_head:
    doc-ref: SPEC.md, section 7.1
    seq:
      - id: signature
        contents: CIDX
      - id: section_count
        type: u4
      - id: index_length
        type: u8
      - id: sequence
        type: u8
      - id: crc32c_of_the_directory
        type: u4
      - id: reserved
        size: 4

  directory_entry:
    doc-ref: SPEC.md, section 7.2
    seq:
      - id: section
        type: str
        size: 4
        encoding: ISO-8859-1
      - id: flags
        type: u4
      - id: offset_in_the_index
        type: u8
      - id: length
        type: u8
      - id: count
        type: u8
      - id: record_size
        type: u4
      - id: crc32c
        type: u4
      - id: reserved
        size: 8
    instances:
      is_critical:
        value: (flags & 1) != 0
      is_safe_to_copy:
        value: (flags & 2) != 0
      content:
        pos: offset_in_the_index
        size: length
        doc: All its bytes, whatever they mean.

  section:
    doc: The section of a code. Entries stand in any order, so they are read until it is found.
    params:
      - id: code
        type: str
    seq:
      - id: looked_at
        type: directory_entry
        repeat: until
        repeat-until: _.section == code or _io.pos == 32 + 48 * _parent.head.section_count
    instances:
      index:
        value: _parent
      entry:
        value: looked_at.last
      is_there:
        value: entry.section == code
      start:
        value: entry.offset_in_the_index
      records:
        pos: start
        size: entry.record_size
        type:
          switch-on: code
          cases:
            '"EXTN"': extent
            '"STOR"': storage
            '"TENS"': tensor
            '"DIMS"': dim
            '"NAMS"': name
            '"STRS"': numbered_string
            '"DTYP"': dtype
            '"BASE"': base_file
            '"FREE"': free_range
            '"CODE"': coding
            '"ISUM"': checksum
        repeat: expr
        repeat-expr: entry.count
        if: is_there and entry.record_size > 1
        doc: What stands in a record past the fields below belongs to a newer version.
      value:
        pos: start
        size: entry.length
        type: value
        if: code == "TREE" or code == "META"
        doc: What the state tree is, or the metadata.

  extent:
    doc-ref: SPEC.md, section 7.3
    seq:
      - id: extent_kind
        type: u1
        enum: extent_kind
      - id: extent_flags
        type: u1
      - id: base
        type: u2
      - id: extent_crc32c
        type: u4
      - id: file_offset
        type: u8
      - id: extent_length
        type: u8
      - id: digest
        type: digest
    instances:
      is_shared:
        value: (extent_flags & 1) != 0
      other_file:
        value: _parent.index.bases.records[base - 1].as<base_file>
        if: base != 0
        doc: Where the bytes stand, if not in this file.
      stored_bytes:
        io: _root._io
        pos: file_offset
        size: extent_length
        if: base == 0 and extent_kind != extent_kind::zero and extent_kind != extent_kind::coded
        doc: The bytes as they are. Those of a coded extent are in its record of CODE.

  storage:
    doc-ref: SPEC.md, section 7.4
    seq:
      - id: storage_nbytes
        type: u8
      - id: first_extent
        type: u4
      - id: device_string
        type: u4
    instances:
      device:
        value: _parent.index.strings.records[device_string].as<numbered_string>.text

  tensor:
    doc-ref: SPEC.md, section 7.5
    seq:
      - id: tensor_dtype
        type: u2
      - id: rank
        type: u1
      - id: flags
        type: u1
      - id: storage
        type: u4
      - id: byte_offset
        type: u8
      - id: first_dim
        type: u4
      - id: name
        type: u4
    instances:
      requires_grad:
        value: (flags & 1) != 0
      is_conjugate:
        value: (flags & 2) != 0
      is_negative:
        value: (flags & 4) != 0
      is_reversed:
        value: (flags & 8) != 0
      bit_offset:
        value: (flags >> 4) & 7
      dtype:
        value: _parent.index.dtypes.records[tensor_dtype].as<dtype>
      shape:
        io: _parent._io
        pos: _parent.index.dims.start + 8 * first_dim
        type: dim
        repeat: expr
        repeat-expr: rank
      strides:
        io: _parent._io
        pos: _parent.index.dims.start + 8 * (first_dim + rank)
        type: dim
        repeat: expr
        repeat-expr: rank
      shown_as:
        value: _parent.index.names.records[name].as<name>.text
        if: name != 0xffffffff

  dim:
    doc-ref: SPEC.md, section 7.6
    seq:
      - id: size_or_stride
        type: s8

  name:
    doc-ref: SPEC.md, section 7.7
    seq:
      - id: name_text_offset
        type: u8
      - id: text_length
        type: u4
      - id: tensor
        type: u4
    instances:
      text:
        io: _parent._io
        pos: 'name_text_offset < _parent.index.texts.entry.length ? _parent.index.texts.start + name_text_offset
          : _parent.index.tree.start + name_text_offset - _parent.index.texts.entry.length'
        size: text_length
        type: str

  numbered_string:
    doc-ref: SPEC.md, section 7.8
    seq:
      - id: string_text_offset
        type: u8
      - id: text_length
        type: u4
      - id: reserved
        size: 4
    instances:
      text:
        io: _parent._io
        pos: _parent.index.texts.start + string_text_offset
        size: text_length
        type: str

  dtype:
    doc-ref: SPEC.md, section 7.9
    seq:
      - id: dtype_text_offset
        type: u8
      - id: text_length
        type: u4
      - id: bits_per_block
        type: u4
      - id: elements_per_block
        type: u4
      - id: reserved
        size: 12
    instances:
      text:
        io: _parent._io
        pos: _parent.index.texts.start + dtype_text_offset
        size: text_length
        type: str

  base_file:
    doc-ref: SPEC.md, section 7.10
    seq:
      - id: path_text_offset
        type: u8
      - id: text_length
        type: u4
      - id: base_kind
        type: u2
        enum: base_kind
      - id: base_depth
        type: u2
      - id: base_uuid
        size: 16
      - id: base_digest
        type: digest
      - id: base_length
        type: u8
      - id: base_sequence
        type: u8
      - id: reserved
        size: 32
    instances:
      text:
        io: _parent._io
        pos: _parent.index.texts.start + path_text_offset
        size: text_length
        type: str
        doc: The path hint. It comes from somebody else.

  free_range:
    doc-ref: SPEC.md, section 7.11
    seq:
      - id: free_offset
        type: u8
      - id: free_length
        type: u8

  coding:
    doc-ref: SPEC.md, sections 7.12 and 11.5
    seq:
      - id: coded_extent
        type: u4
      - id: codec
        type: u1
        enum: codec
      - id: width
        type: u1
      - id: reference_base
        type: u2
      - id: coded_length
        type: u8
      - id: reference_offset
        type: u8
      - id: coded_crc32c
        type: u4
      - id: reserved
        size: 4
    instances:
      extent:
        value: _parent.index.extents.records[coded_extent].as<extent>
      coded_bytes:
        io: _root._io
        pos: extent.file_offset
        size: coded_length
        if: extent.base == 0
        doc: A Zstandard frame, which a skippable frame may follow.
      reference_file:
        value: _parent.index.bases.records[reference_base - 1].as<base_file>
        if: reference_base != 0
      reference_bytes:
        io: _root._io
        pos: reference_offset
        size: extent.extent_length
        if: codec == codec::difference and reference_base == 0

  checksum:
    doc-ref: SPEC.md, section 7.13
    seq:
      - id: crc32c
        type: u4

  value:
    doc: A value of the state tree, with those that it holds.
    doc-ref: SPEC.md, section 8
    seq:
      - id: tag
        type: u1
        enum: tag
        valid:
          in-enum: true
      - id: content
        type:
          switch-on: tag
          cases:
            tag::integer: stop_bit
            tag::negative: stop_bit
            tag::big_integer: run
            tag::float: floating
            tag::complex: complex
            tag::int8: int8
            tag::int16: int16
            tag::int32: int32
            tag::float32: float32
            tag::string: text
            tag::bytes: run
            tag::list: values
            tag::tuple: values
            tag::map: pairs
            tag::set: values
            tag::object: typed
            tag::reference: stop_bit
            tag::tensor: stop_bit
            tag::storage: typed_storage
            tag::dtype: stop_bit
            tag::device: text
            tag::shape: sizes
            tag::symbol: text

  stop_bit:
    doc: A number, seven bits a byte, the lowest first.
    seq:
      - id: group
        type: u1
      - id: rest
        type: stop_bit
        if: group >= 0x80
    instances:
      value:
        value: '((group & 0x7f) + (group >= 0x80 ? rest.value * 0x80 : 0)).as<u8>'

  run:
    seq:
      - id: length
        type: stop_bit
      - id: bytes
        size: length.value
  text:
    seq:
      - id: length
        type: stop_bit
      - id: text
        type: str
        size: length.value
  floating:
    seq:
      - id: number
        type: f8
  complex:
    seq:
      - id: real
        type: f8
      - id: imaginary
        type: f8
  int8:
    seq:
      - id: number
        type: s1
  int16:
    seq:
      - id: number
        type: s2
  int32:
    seq:
      - id: number
        type: s4
  float32:
    seq:
      - id: number
        type: f4
  values:
    seq:
      - id: count
        type: stop_bit
      - id: values
        type: value
        repeat: expr
        repeat-expr: count.value
  pairs:
    seq:
      - id: count
        type: stop_bit
      - id: pairs
        type: pair
        repeat: expr
        repeat-expr: count.value
  pair:
    seq:
      - id: key
        type: value
      - id: value
        type: value
  typed:
    seq:
      - id: type_name
        type: text
      - id: value
        type: value
      - id: attributes
        type: value
  typed_storage:
    seq:
      - id: storage
        type: stop_bit
      - id: dtype_plus_one
        type: stop_bit
        doc: 0 for an untyped one.
  sizes:
    seq:
      - id: rank
        type: stop_bit
      - id: sizes
        type: stop_bit
        repeat: expr
        repeat-expr: rank.value

enums:
  extent_kind:
    0: raw
    1: zero
    2: foreign
    3: coded
  codec:
    1: planes
    2: difference
  base_kind:
    0: croft
    1: foreign
  tag:
    0x01: 'null'
    0x02: 'false'
    0x03: 'true'
    0x04: integer
    0x05: negative
    0x06: big_integer
    0x07: float
    0x08: complex
    0x09: string
    0x0a: bytes
    0x0b: int8
    0x0c: int16
    0x0d: int32
    0x0e: float32
    0x10: list
    0x11: tuple
    0x12: map
    0x13: set
    0x14: object
    0x15: reference
    0x20: tensor
    0x21: storage
    0x22: dtype
    0x23: device
    0x24: shape
    0x25: symbol
