"""Stands for a mariadb-backup that takes what is left in the last block of InnoDB's log for its next changes: passes a stream of
mariadb-backup on, from standard input to standard output, in which the last bytes of ib_logfile0 are others."""

import struct
import sys
import zlib

MAGIC, LOG = b"XBSTCK01", b"ib_logfile0"


def chunks(stream):
    """Kind, path, offset in the file and payload of each."""
    at = 0
    while at < len(stream):
        assert stream[at:at + 8] == MAGIC
        kind, length = stream[at + 9:at + 10], struct.unpack_from("<I", stream, at + 10)[0]
        path = stream[at + 14:at + 14 + length]
        at += 14 + length
        if kind == b"E":
            yield kind, path, 0, b""
            continue
        size, offset, _ = struct.unpack_from("<QQI", stream, at)
        yield kind, path, offset, stream[at + 20:at + 20 + size]
        at += 20 + size


def chunk(kind, path, offset, payload):
    head = MAGIC + b"\0" + kind + struct.pack("<I", len(path)) + path
    return head if kind == b"E" else head + struct.pack("<QQI", len(payload), offset, zlib.crc32(payload)) + payload


def main():
    all_of_it = list(chunks(sys.stdin.buffer.read()))
    last = max((i for i, (kind, path, _, _) in enumerate(all_of_it) if (kind, path) == (b"P", LOG)), default=None)
    for i, (kind, path, offset, payload) in enumerate(all_of_it):
        if i == last:
            payload = payload[:-20] + bytes(byte ^ 0x55 for byte in payload[-20:])
        sys.stdout.buffer.write(chunk(kind, path, offset, payload))


if __name__ == "__main__":
    main()
