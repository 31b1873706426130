meta:
  id: croftset
  title: Set of tensor checkpoints of Undercroft
  file-extension: croftset
  license: Apache-2.0
  ks-version: '0.11'
  imports:
    - croft
  encoding: UTF-8
  endian: le

doc: A `.croftset` file, version 1. It says which `.croft` files, each at which snapshot, belong together.

doc-ref: SPEC.md, section 9

seq:
  - id: head
    type: head
  - id: shards
    type: shard
    size: head.record_size
    repeat: expr
    repeat-expr: head.shard_count
  - id: text
    size: head.text_length
  - id: slices
    size: head.slices_length
    type: croft::value
    if: head.slices_length > 0
    doc-ref: SPEC.md, section 9.3
  - id: crc32c
    type: u4
    doc: Of all bytes before it.

types:
  head:
    doc-ref: SPEC.md, section 9.1
    seq:
      - id: signature
        contents: [0x89, CRS, 0x0d, 0x0a, 0x1a, 0x0a]
      - id: major_version
        type: u2
        valid: 1
      - id: minor_version
        type: u2
      - id: shard_count
        type: u4
      - id: set_uuid
        size: 16
      - id: record_size
        type: u4
      - id: text_length
        type: u4
      - id: manifest_length
        type: u8
      - id: required_features
        type: u8
        valid: 0
      - id: slices_length
        type: u8

  shard:
    doc-ref: SPEC.md, section 9.2
    seq:
      - id: shard_uuid
        size: 16
      - id: shard_digest
        type: croft::digest
      - id: shard_sequence
        type: u8
      - id: shard_length
        type: u8
      - id: path_offset
        type: u4
      - id: path_length
        type: u4
      - id: reserved
        size: 24
    instances:
      path:
        io: _root._io
        pos: 64 + _root.head.shard_count * _root.head.record_size + path_offset
        size: path_length
        type: str
        doc: Where the file stands, relative to the folder of the manifest. It comes from somebody else.
