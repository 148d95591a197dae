"""What the tests of `hailstone collect` beside a server share: the server, a database, a configuration, the command."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "python"))

from private_server import PrivateServer  # noqa: E402 (once the path is set)
from program import PROJECT  # noqa: E402

COMMAND = f"{PROJECT}/build/release/hailstone"


class CollectCase(unittest.TestCase):
    server_name = "collect-command"

    @classmethod
    def setUpClass(cls):
        cls.server = PrivateServer(cls.server_name, "--innodb-buffer-pool-size=32M", "--local-infile=1")
        cls.addClassCleanup(cls.server.remove)
        cls.connection = cls.server.connect()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.set_clock(None)
        self.execute("DROP DATABASE IF EXISTS web")
        self.execute("CREATE DATABASE web CHARACTER SET utf8mb4")

    def set_clock(self, moment):
        """The collector's connections have this Unix time as NOW(), which stands still; None: the true one."""
        command = "" if moment is None else f'init-command="SET timestamp = {moment}"\n'
        (self.folder / "c.cnf").write_text(f"[client]\nsocket={self.server.socket}\nuser=root\n{command}")

    def execute(self, statement):
        return self.connection.execute(statement)

    def config(self, stream="", source="stdin = true", table="t", more=""):
        (self.folder / "c.toml").write_text(f"""
[server]
option_file = "{self.folder}/c.cnf"
database = "web"
[spool]
directory = "{self.folder}/spool"
[[stream]]
name = "s"
table = "{table}"
{source}
format = "tsv"
reject_file = "{self.folder}/rejects"
""" + (stream or 'header = false\ncolumns = ["id", "name", "day"]\n') + more)

    def collect(self, action, *arguments, data="", code=0):
        done = subprocess.run([COMMAND, "collect", action, str(self.folder / "c.toml"), *arguments], input=data.encode(),
                              capture_output=True, timeout=100)
        said = done.stdout.decode() + done.stderr.decode()
        self.assertEqual(done.returncode, code, said)
        return said

    def rejects(self):
        path = self.folder / "rejects"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line.split("\t")[2:] for line in lines]
