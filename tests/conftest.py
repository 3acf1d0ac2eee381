"""For all tests."""

import signal

# a shell that runs pytest in the background lets it ignore Ctrl-C, and so would every command that
# the tests start and interrupt
signal.signal(signal.SIGINT, signal.default_int_handler)
