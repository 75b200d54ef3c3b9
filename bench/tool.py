"""The command: how long it takes from its start to its end, and its memory."""
import os
import statistics
import subprocess
import time

from groups import Group
from subjects import BUILD, ours


class Tool(Group):
    """`zkl lock PATH true` beside a program that creates a node and deletes it."""

    RUNS = 10
    PATH = "/bench/tool"
    BARE_PATH = "/bench/once"

    def __init__(self):
        super().__init__("tool", [ours("once-bare"), ours("zkl")])

    def start(self, subject, server):
        self.servers[subject] = server
        if subject.name == "once-bare":
            subprocess.run(self.command(subject) + ["make=1"], check=True)

    def command(self, subject, *command):
        if subject.name == "once-bare":
            return subject.run + [
                "address=" + self.servers[subject].address,
                "lock=" + self.BARE_PATH,
            ]
        return [BUILD + "/tools/.libs/zkl", "lock", self.PATH] + list(
            command
        )  # not libtool's script

    def environment(self, subject):
        return dict(
            os.environ,
            ZKL_CONNECT=self.servers[subject].address,
            LD_LIBRARY_PATH=BUILD + "/lib/.libs",
        )

    def once(self, subject):
        begun = time.perf_counter()
        subprocess.run(self.command(subject, "true"), env=self.environment(subject), check=True)
        return (time.perf_counter() - begun) * 1e3

    def resident(self, subject):
        """While the lock is held: its process, and what the guard has for itself."""
        command = self.command(subject, "sh", "-c", "echo READY; read go")
        if subject.name == "once-bare":
            command.append("wait=1")
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.environment(subject)
        ) as p:
            p.stdout.readline()
            total = memory(p.pid, ("Rss",))
            for guard in guards(p.pid):
                total += memory(guard, ("Private_Clean", "Private_Dirty"))
            p.communicate(b"GO\n")
        return total

    def play(self, subject):
        return {
            "ms": statistics.median(self.once(subject) for _ in range(self.RUNS)),
            "resident": self.resident(subject),
        }


def stat(pid):
    """Its parent and its name; nothing for one that has just ended."""
    try:
        name, rest = open("/proc/%d/stat" % pid).read().split("(", 1)[1].rsplit(") ", 1)
        return int(rest.split()[1]), name
    except OSError:
        return None, None


def guards(pid):
    """Its children that are not yet the command: lock-guard."""
    others = ((int(p), stat(int(p))) for p in os.listdir("/proc") if p.isdigit())
    return [p for p, (parent, name) in others if parent == pid and name == "lock-guard"]


def memory(pid, keys):
    rollup = (line.split() for line in open("/proc/%d/smaps_rollup" % pid))
    return sum(int(words[1]) * 1024 for words in rollup if words[0].rstrip(":") in keys)
