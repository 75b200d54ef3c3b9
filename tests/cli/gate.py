"""The proxy of gate.c, which can be cut, for scripts in Python."""

import subprocess


class Gate:
    """A way to the server of ZKL_CONNECT, whose address is .connect. program is tests/cli/gate as it was built."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.connect = self.process.stdout.readline().strip()

    def order(self, word):
        """One of the orders that gate.c names: cut, heal, silence, ..."""
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        if self.process.stdout.readline() != "ok\n":
            raise RuntimeError("the gate does not obey: " + word)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
