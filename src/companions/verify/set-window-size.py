# set-window-size.py TERMINAL ROWS COLUMNS: changes both at once, as terminals do. stty(1) changes one after the other, and a
# program that looks in between finds a size that no window had.
import fcntl
import os
import struct
import sys
import termios

terminal = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", int(sys.argv[2]), int(sys.argv[3]), 0, 0))
