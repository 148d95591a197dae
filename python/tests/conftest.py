"""What all tests of the package have in common."""

import signal

# A shell starts what runs in the background with Ctrl-C ignored; the tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)
