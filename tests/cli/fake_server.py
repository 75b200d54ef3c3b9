"""What answers at a port and is no ZooKeeper that serves: fake_server.py KIND writes the port and runs until it is
killed. KIND: silent, hangs-up, foreign, tls (which says nothing before five bytes, like the real ones), not-serving."""
import socket
import sys
import threading

WORDS = {
    "foreign": b"-ERR unknown command 'srvr'\r\n",
    "not-serving": b"This ZooKeeper instance is not currently serving requests\n",
    "tls": bytes([21, 3, 3, 0, 2, 2, 40]),
}


def serve(connection, kind):
    with connection:
        heard = b""
        while kind != "hangs-up":
            part = connection.recv(100)
            heard += part
            if not part or kind != "silent" and len(heard) >= (5 if kind == "tls" else 4):
                break
        if heard:
            connection.sendall(WORDS.get(kind, b""))


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0], sys.argv[1]), daemon=True).start()
