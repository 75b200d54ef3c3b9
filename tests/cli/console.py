#!/usr/bin/env python3
"""The picture of the console's page: a fleet at $ZKL_CONNECT, a Prometheus that reads it, and Chromium.

  zkl-server -- console.py FILE.png [HEIGHT]

It is for people, and no part of the check. It needs prometheus, chromium and pngquant.
"""

import http.server
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from alerts import Fleet

EXAMPLES = os.path.join(os.path.abspath(os.environ.get("top_srcdir", ".")), "examples/prometheus")
HOSTS = ["app1", "app2", "app3", "cron1", "cron2", "db1", "db2", "web1", "web2"]
SHOWN = ["ZklFailed", "ZklGrantLost", "ZklKilled", "ZklNobodyHolds"]
CONFIG = """
global: {scrape_interval: 5s, evaluation_interval: 5s}
rule_files: ["%s/rules.yml"]
scrape_configs:
  - job_name: zkl
    static_configs:
"""
TARGET = '      - {targets: ["127.0.0.1:%d"], labels: {instance: %s, __metrics_path__: /%s}}\n'


def populate(f):
    """Holders and those who wait, one who is killed, one who loses its lock, and some who have ended."""
    def begin(instance, *arguments, **more):
        f.begin(instance, *arguments, timeout=30, **more)

    f.daemon("db2", f.connect)
    begin("web1.elect", "elect", "/services/web", "web1")
    f.held("web1.elect")
    begin("web2.elect", "elect", "/services/web", "web2")
    for host in ("app3", "app1", "app2"):
        begin(host + ".shards", "shards", "/services/mail", "4", "--id", host)
        f.wait_for(host + ".shards", "zkl_path_grants_held")
    begin("cron1.backup", "lock", "/jobs/backup")
    f.held("cron1.backup")
    begin("cron2.backup", "lock", "/jobs/backup")
    begin("cron1.import", "lock", "/jobs/import", command=["true"])
    begin("cron2.report", "lock", "/jobs/report", command=["sh", "-c", "exit 3"])
    begin("db1.vacuum", "lock", "/jobs/vacuum")
    f.held("db1.vacuum")
    f.zkl("break", "--yes", "/jobs/vacuum")
    f.end("app3.shards", signal.SIGKILL)
    begin("silent", "lock", "/jobs/mine", metrics=False)
    f.begin("db1.mine", "lock", "/jobs/mine")


class Exporter(http.server.BaseHTTPRequestHandler):
    """As a node exporter of each host: what all of its files say."""

    fleet = None

    def do_GET(self):
        host = self.path[1:]
        text = "".join(self.fleet.text(one) for one in list(self.fleet.processes) if one.split(".")[0] == host).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def begin_prometheus(folder, exporter):
    """Its address, and the process."""
    with open(os.path.join(folder, "prometheus.yml"), "w", encoding="utf-8") as file:
        file.write(CONFIG % EXAMPLES + "".join(TARGET % (exporter, host, host) for host in HOSTS))
    with socket.create_server(("127.0.0.1", 0)) as s:
        address = "127.0.0.1:%d" % s.getsockname()[1]
    line = ["prometheus", "--config.file=" + file.name, "--storage.tsdb.path=" + os.path.join(folder, "tsdb"),
            "--web.console.templates=" + EXAMPLES, "--web.console.libraries=" + EXAMPLES, "--web.listen-address=" + address]
    with open(os.path.join(folder, "prometheus.log"), "w", encoding="utf-8") as log:
        return address, subprocess.Popen(line, stdin=subprocess.DEVNULL, stderr=log)


def firing(address, prometheus):
    """What it answers, and nothing before it listens."""
    query = urllib.parse.urlencode({"query": 'ALERTS{alertstate="firing"}'})
    try:
        with urllib.request.urlopen("http://%s/api/v1/query?%s" % (address, query)) as answer:
            return answer.read().decode()
    except urllib.error.URLError:
        if prometheus.poll() is not None:
            raise
        return ""


def draw(address, picture, height, folder):
    taken = os.path.join(folder, "taken.png")
    subprocess.run(["chromium", "--headless", "--no-sandbox", "--hide-scrollbars", "--user-data-dir=" + os.path.join(folder, "chromium"),
                    "--window-size=1200," + height, "--screenshot=" + taken, "http://%s/consoles/zkl.html" % address], check=True)
    subprocess.run(["pngquant", "--force", "--output", picture, "32", taken], check=True)


def main():
    picture, height = sys.argv[1], (sys.argv[2:] or ["1260"])[0]
    with tempfile.TemporaryDirectory() as folder:
        fleet = Exporter.fleet = Fleet("console", folder)
        exporter = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
        threading.Thread(target=exporter.serve_forever, daemon=True).start()
        try:
            populate(fleet)
            address, prometheus = begin_prometheus(folder, exporter.server_port)
            fleet.processes["prometheus"] = prometheus
            while not all('"%s"' % alert in firing(address, prometheus) for alert in SHOWN):
                time.sleep(1)
            draw(address, picture, height, folder)
        finally:
            fleet.clear()


if __name__ == "__main__":
    main()
