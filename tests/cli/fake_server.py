"""What answers at a port and is no ZooKeeper that serves: fake_server.py KIND writes the port and runs until it is
killed. KIND: silent, hangs-up, foreign, tls (which says nothing before five bytes, like the real ones), not-serving;
handshake CERTIFICATE AUTHORITY: silent behind a complete handshake of TLS, in which it wants a certificate."""
import socket
import ssl
import sys
import threading

WORDS = {
    "foreign": b"-ERR unknown command 'srvr'\r\n",
    "not-serving": b"This ZooKeeper instance is not currently serving requests\n",
    "tls": bytes([21, 3, 3, 0, 2, 2, 40]),
}


def shake_hands(connection, certificate, authority):
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority)
    tls.load_cert_chain(certificate)
    tls.verify_mode = ssl.CERT_REQUIRED
    return tls.wrap_socket(connection, server_side=True)


def serve(connection, kind, *files):
    if kind == "handshake":
        connection, kind = shake_hands(connection, *files), "silent"
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
    threading.Thread(target=serve, args=(listener.accept()[0], *sys.argv[1:]), daemon=True).start()
