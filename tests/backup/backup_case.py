"""What the tests of `hailstone backup --server` where something is not as it should be share: the server, a backup and its restore,
programs that stand for mariadb-backup."""

import base64
import os
import random
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import backup_command as command
from private_server import PrivateServer

HERE = os.path.dirname(os.path.abspath(__file__))
DAMAGE = 3  # exit code
LOST_PLACE = "[00] Was only able to copy log from 44420 to 1273128, not 1371943; try increasing innodb_log_file_size"
OPTIONS = ["--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M", "--log-bin=binlog", "--server-id=1"]


class BackupCase(unittest.TestCase):
    server_name = ""  # of the program that derives from it

    @classmethod
    def setUpClass(cls):
        cls.server = PrivateServer(cls.server_name, *OPTIONS)
        cls.addClassCleanup(cls.server.remove)
        connection = cls.server.connect()
        connection.execute("CREATE DATABASE d")
        for name, engine in (("h", "HAILSTONE"), ("n", "InnoDB")):
            connection.execute(f"CREATE TABLE d.{name} (id INT PRIMARY KEY, s MEDIUMTEXT COLUMNAR=1) ENGINE={engine}"
                               if engine == "HAILSTONE" else f"CREATE TABLE d.{name} (id INT PRIMARY KEY, s MEDIUMTEXT) ENGINE={engine}")
            connection.execute(f"INSERT INTO d.{name} SELECT seq, REPEAT(MD5(seq), 10) FROM d.seq_1_to_2000")
        connection.close()

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hailstone-backup-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.target = self.folder / "target"
        self.option_file = command.write_option_file(self.folder / "client.cnf", self.server)
        if not self.server.runs():
            self.server.start(*OPTIONS)

    def arguments(self, *more, option_file=None, **how):
        return command.backup_arguments(self.server, option_file or self.option_file, self.target, *more, **how)

    def back_up(self, *more, code=0, **how):
        done, said = command.run(self.arguments(*more), **how)
        self.assertEqual(done, code, said)
        return said

    def assert_nothing_is_left(self):
        """On the server and where the backup was to be."""
        self.assertFalse(self.target.exists())
        self.assertFalse(Path(f"{self.target}.partial").exists())
        command.wait_until_released(self.server)

    def empty_place(self):
        place = command.empty_place(f"{self.server_name}-copy")
        self.addCleanup(place.remove)
        return place

    def restore(self, code=0):
        place = self.empty_place()
        done, said = command.run(command.restore_arguments(self.server, self.target, place.facts["data"]))
        self.assertEqual(done, code, said)
        return place, said

    def halting_program(self):
        """Stands for mariadb-backup: says that it runs by a file, and goes on when another one is there."""
        path = self.folder / "halting"
        path.write_text(f"#!/bin/sh\ntouch '{self.folder}/runs'\nuntil [ -e '{self.folder}/go' ]; do sleep 0.05; done\n"
                        f"exec '{command.program_of(self.server, 'mariadb-backup')}' \"$@\"\n")
        path.chmod(0o755)
        return path

    def halted(self):
        """A backup that waits in the midst."""
        backup = subprocess.Popen(self.arguments(mariadb_backup=self.halting_program()), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(backup.stdout.close)
        self.addCleanup(backup.kill)
        end = time.monotonic() + 60
        while not (self.folder / "runs").exists():
            self.assertIsNone(backup.poll())
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        return backup

    def ended(self, backup):
        code = backup.wait(timeout=60)
        return code, backup.stdout.read()

    def noise(self):
        """A table whose files are larger than those of the other engines."""
        connection = self.server.connect()
        connection.execute("CREATE TABLE d.noise (id INT PRIMARY KEY, s MEDIUMTEXT COLUMNAR=1) ENGINE=HAILSTONE")
        path = Path(self.server.facts["folder"]) / "tmp" / "noise.txt"
        with open(path, "w", encoding="ascii") as file:
            for row in range(300):
                file.write(f"{row}\t{base64.b64encode(random.randbytes(75_000)).decode()}\n")
        path.chmod(0o644)
        connection.execute(f"LOAD DATA INFILE '{path}' INTO TABLE d.noise")
        connection.close()
        path.unlink()

    def drop(self, table):
        connection = self.server.connect()
        connection.execute(f"DROP TABLE IF EXISTS {table}")
        connection.close()

    def failing_program(self, failure, times):
        """Stands for a mariadb-backup that fails in the end, in its first `times` runs."""
        path = self.folder / "failing"
        path.write_text(f"#!/bin/sh\necho run >>'{self.folder}/runs'\n"
                        f"'{command.program_of(self.server, 'mariadb-backup')}' \"$@\" || exit\n"
                        f"[ \"$(wc -l <'{self.folder}/runs')\" -gt {times} ] && exit\n"
                        f"echo \"{failure}\" >&2\nexit 1\n")
        path.chmod(0o755)
        return path

    def wrong_program(self, times):
        """Stands for a mariadb-backup that ends well and has copied InnoDB's log wrongly, in its first `times` runs."""
        path = self.folder / "wrong"
        path.write_text(f"#!/bin/bash\nset -o pipefail\necho run >>'{self.folder}/runs'\n"
                        f"[ \"$(wc -l <'{self.folder}/runs')\" -gt {times} ] && exec '{command.program_of(self.server, 'mariadb-backup')}' \"$@\"\n"
                        f"'{command.program_of(self.server, 'mariadb-backup')}' \"$@\" | '{sys.executable}' '{HERE}/wrong_innodb_log.py'\n")
        path.chmod(0o755)
        return path

    def assert_same_rows(self, place):
        place.start(*OPTIONS)
        connection, source = place.connect(), self.server.connect()
        for table in ("d.h", "d.n"):
            self.assertEqual(connection.execute(f"SELECT * FROM {table}"), source.execute(f"SELECT * FROM {table}"))
        connection.close()
        source.close()


def flip(path):
    """A byte in the midst of a file, there and back."""
    with open(path, "r+b") as file:
        file.seek(path.stat().st_size // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 0x10]))
