"""The other end of peer_process.py: reads requests, (name of a method, arguments), and writes (answer, failure), all pickled."""

import pickle
import sys

from common import Failure

# Of DuckDB's COPY: a file as LOAD DATA reads it.
TEXT = "(format csv, delimiter '\t', header false, quote '', escape '', nullstr '\\N')"


def serve(worker, *errors):
    """`errors`: what the peer's library raises."""
    replies = sys.stdout.buffer
    sys.stdout = sys.stderr
    while True:
        try:
            name, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            reply = getattr(worker, name)(*arguments), None
        except (*errors, Failure) as failure:
            reply = None, str(failure)
        pickle.dump(reply, replies)
        replies.flush()
