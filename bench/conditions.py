"""Under which conditions a run was made: what stands above its table."""
import os
import re
import subprocess
import tempfile
import time

import subjects


def first_line(*command):
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return out.stdout.decode().split("\n", 1)[0]


def processor():
    names = re.findall(r"^model name\s*: (.*)$", open("/proc/cpuinfo").read(), re.M)
    return "%d × %s" % (os.cpu_count(), names[0] if names else os.uname().machine)


def versions(planned):
    packages = {"libzookeeper-mt2", "libzookeeper-java"}
    for group in planned:
        for subject in group.subjects:
            packages.update(subject.packages)
    programs = [[subjects.BUILD + "/tools/zkl", "--version"], ["java", "-version"]]
    debian = ["%s %s" % v for v in sorted(subjects.versions(packages).items())]
    return ", ".join([first_line(*program) for program in programs] + debian)


def facts(planned, no_sync, load, began):
    """Pairs of what and how; load and began are from before the run."""
    sync, disk = "without" if no_sync else "with", first_line(
        "stat", "-fc", "%T", tempfile.gettempdir()
    )
    left_out = {name: why for group in planned for name, why in group.left_out.items()}
    return [
        ("date", time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(began))),
        ("machine", "%s, kernel %s" % (processor(), os.uname().release)),
        ("load", "%.2f before, %.2f at the end with its own" % (load, os.getloadavg()[0])),
        ("ZooKeeper", "one server, for fleets an ensemble of three, %s fsync, the data on %s" % (sync, disk)),
        ("versions", versions(planned)),
        ("took", "%d s" % (time.time() - began)),
    ] + [("left out", "%s: %s" % one) for one in left_out.items()]
