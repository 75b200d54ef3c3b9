"""mangle.py HOST:PORT: a proxy before a ZooKeeper server that makes it a hostile one: the words below
become bytes that no server lets into a name. Prints its address, and runs until its input ends."""

import socket
import sys
import threading

WORDS = {b"HOSTILEA": b"\x1b[31m\x9b\xff\x07", b"HOSTILEB": b"\xc2\x9b\xe2\x80\xae\r\n\x0b",
         b"HOSTILEC": b"\x1b]0;\xf0\x9f\x7f\x08"}


def held_back(data, words):
    """How many bytes at the end may be the beginning of a word."""
    return max((n for word in words for n in range(1, len(word)) if data.endswith(word[:n])), default=0)


def pump(source, sink, words):
    rest = b""
    try:
        while data := source.recv(65536):
            data = rest + data
            for old, new in words.items():
                data = data.replace(old, new)
            keep = held_back(data, words)
            rest = data[len(data) - keep:]
            sink.sendall(data[:len(data) - keep])
        sink.sendall(rest)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(listener, target):
    back = {new: old for old, new in WORDS.items()}
    while True:
        client, _ = listener.accept()
        try:
            server = socket.create_connection(target)
        except OSError:
            client.close()
            continue
        for args in ((client, server, back), (server, client, WORDS)):
            threading.Thread(target=pump, args=args, daemon=True).start()


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=(listener, (host, int(port))), daemon=True).start()
    print(f"127.0.0.1:{listener.getsockname()[1]}", flush=True)
    sys.stdin.read()


main()
