"""Becomes the program gilua, with the same arguments."""
import os
import sys

from gilua import PROGRAM


def main():
    try:
        os.execv(PROGRAM, [PROGRAM] + sys.argv[1:])
    except OSError as error:
        sys.exit("gilua: cannot start %s: %s; install the wheel again" % (PROGRAM, error.strerror))


if __name__ == "__main__":
    main()
