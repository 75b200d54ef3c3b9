#!/usr/bin/env python3
"""who_has.py DEVICE ADDRESS: asks by ARP who has the address, again and again, and writes a line whenever the answer differs
from the last one: the time in seconds, and the hardware addresses of all that have answered one question, or "nobody"."""

import select
import socket
import struct
import sys
import time

ARP = 0x0806
WINDOW = 0.02  # how long answers to one question count; kernels on one machine answer within a millisecond


def answers(link, address):
    """Asks once: the hardware addresses that answer. A question from 0.0.0.0 changes nobody's table."""
    own = link.getsockname()[4]
    link.send(b"\xff" * 6 + own + struct.pack("!HHHBBH6s4s6s4s", ARP, 1, 0x0800, 6, 4, 1, own, b"\0" * 4, b"\0" * 6, address))
    found, until = set(), time.monotonic() + WINDOW
    while select.select([link], [], [], max(0, until - time.monotonic()))[0]:
        packet = link.recv(2048)
        _, _, _, _, operation, hardware, sender = struct.unpack("!HHBBH6s4s", packet[14:32])
        if operation == 2 and sender == address:
            found.add(hardware.hex(":"))
    return found


def main():
    device, address = sys.argv[1], socket.inet_aton(sys.argv[2])
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ARP))
    link.bind((device, ARP))
    last = None
    while True:
        found = answers(link, address)
        if found != last:
            print("%.3f %s" % (time.monotonic(), " ".join(sorted(found)) or "nobody"), flush=True)
        last = found


main()
