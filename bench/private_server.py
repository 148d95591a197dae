"""A private mariadbd with the plugin, and connections to it."""

import os
import shutil
import time

import pymysql

from common import PROJECT, Failure, run


class PrivateServer:
    """A private mariadbd with the plugin, in a folder of its own that goes away with it."""

    def __init__(self, name, *options):
        self._name = name
        self._control("remove")
        self.facts = self._control("start", *options)
        self.socket = self.facts["socket"]
        self.pid = int(self.facts["pid"])

    def _control(self, action, *options):
        output = run([f"{PROJECT}/scripts/private-server", action, self._name, *options], f"the server '{self._name}'")
        return dict(line.split("=", 1) for line in output.splitlines() if "=" in line)

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        if failure is not None and os.path.exists(self.facts["log"]):
            kept = f"{PROJECT}/build/logs/{self._name}-server.log"
            shutil.copy(self.facts["log"], kept)
            print(f"the server's log is kept as {kept}", flush=True)
        self._control("remove")

    def connect(self):
        return Connection(self)

    def client_program(self):
        """Command line of the server's own client."""
        return [f"{self.facts['mariadb_root']}/usr/bin/mariadb", "--no-defaults", f"--socket={self.socket}",
                "--user=root"]

    def bytes_on_disk(self, *folders):
        """Bytes that the folders of the data directory take, once that has stopped changing."""
        last = None
        for _ in range(240):
            now = sum(_bytes_below(os.path.join(self.facts["data"], folder)) for folder in folders)
            if now == last:
                return now
            last = now
            time.sleep(0.5)
        return last

    def memory(self, field):
        """A memory figure of the process in bytes: VmRSS (now) or VmHWM (highest so far)."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith(field + ":"):
                    return int(line.split()[1]) * 1024
        raise Failure(f"/proc/{self.pid}/status has no {field}")


def _bytes_below(folder):
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(path, name)).st_blocks * 512
            except FileNotFoundError:  # background work replaced it meanwhile
                pass
    return total


class Connection:
    def __init__(self, server):
        self._connection = pymysql.connect(unix_socket=server.socket, user="root", autocommit=True)

    def execute(self, statement):
        """Runs one statement and returns its rows."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchall()
        except pymysql.MySQLError as error:
            raise Failure(f"'{statement}' failed: {error.args[-1]}") from error

    def no_warnings(self, what):
        """Fails when the last statement warned: the data would not be what they should be."""
        warnings = self.execute("show warnings")
        if warnings:
            raise Failure(f"{what} warned: {warnings[0][2]} (and {len(warnings) - 1} more)")

    def close(self):
        self._connection.close()
