"""`hailstone backup --server` and its restore, as the tests of them run these: the command line, the server that is restored, and
what the server that was backed up must be like when a backup has ended, however it has."""

import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "python"))

from checked_connection import CheckedConnection, Problem  # noqa: E402 (once the path is set)
from private_server import PrivateServer  # noqa: E402
from program import PROJECT  # noqa: E402

COMMAND = f"{PROJECT}/build/release/hailstone"
LONGEST_RELEASE = 10  # seconds within which a server must be free of a backup that has ended
LONGEST_RUN = 240  # seconds


def program_of(server, name):
    return f"{server.facts['mariadb_root']}/usr/bin/{name}"


def write_option_file(path, server, user="root", password=""):
    path.write_text(f"[client]\nsocket={server.socket}\nuser={user}\npassword={password}\n")
    return path


def backup_arguments(server, option_file, target, *more, mariadb_backup=None, max_rate=0):
    return [COMMAND, "backup", "--server", f"--defaults-file={option_file}", f"--max-rate={max_rate}",
            f"--mariadb-backup={mariadb_backup or program_of(server, 'mariadb-backup')}", *more, str(target)]


def run(arguments, **how):
    """The exit code, and all that was printed."""
    done = subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LONGEST_RUN,
                          text=True, errors="replace", **how)
    return done.returncode, done.stdout


def run_to_stream(arguments, path, **how):
    """With the standard output to a file; the exit code, and what was printed."""
    with open(path, "wb") as stream:
        done = subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.PIPE, timeout=LONGEST_RUN,
                              text=True, errors="replace", **how)
    return done.returncode, done.stderr


def replay_arguments(server, option_file, target, logs):
    return [COMMAND, "replay", str(target), str(logs), "--run", f"--defaults-file={option_file}",
            f"--mariadb-binlog={program_of(server, 'mariadb-binlog')}", f"--mariadb={program_of(server, 'mariadb')}"]


def restore_arguments(server, target, data_directory, *more):
    """By the programs and the plugin of the server that was backed up."""
    return [COMMAND, "restore", str(target), str(data_directory), f"--mariadbd={server.facts['mariadbd']}",
            f"--plugin-dir={server.facts['folder']}/plugin", f"--mariadb-backup={program_of(server, 'mariadb-backup')}",
            f"--user={server.facts['user']}", *more]


def empty_place(name):
    """The private server of that name, whose data are yet to be restored to facts['data']."""
    place = PrivateServer.existing(name)
    place.remove()
    os.makedirs(place.facts["folder"])
    return place


def restore(server, target, name, *more, options=()):
    """A private server with the restored data, and what the command has printed."""
    place = empty_place(name)
    code, said = run(restore_arguments(server, target, place.facts["data"], *more))
    if code != 0:
        raise Problem(f"restore ended with {code}: {said}")
    place.start(*options)
    return place, said


def record_of(target):
    with open(f"{target}/backup.json", encoding="utf-8") as file:
        return json.load(file)


def staged_folder(server):
    return f"{server.facts['data']}/#hailstone/staged-backup"


def wait_until_released(server):
    """Nothing of a backup is left on the server; the seconds until then."""
    begun = time.monotonic()
    connection = CheckedConnection(server)
    while True:
        ((_, state),) = connection.execute("SHOW GLOBAL STATUS LIKE 'hailstone_backup_state'")
        staged = os.path.exists(staged_folder(server))
        if state == "" and not staged:
            break
        if time.monotonic() - begun > LONGEST_RELEASE:
            raise Problem(f"after the backup has ended, its state is '{state}', and '{staged_folder(server)}' is {'' if staged else 'not '}there")
        time.sleep(0.05)
    connection.execute(f"SET SESSION lock_wait_timeout={LONGEST_RELEASE}")
    connection.execute("SET SESSION sql_log_bin=0")
    connection.execute("CREATE DATABASE released")
    for engine in ("HAILSTONE", "InnoDB"):
        connection.execute(f"CREATE TABLE released.{engine} (id INT PRIMARY KEY) ENGINE={engine}")
        connection.execute(f"INSERT INTO released.{engine} VALUES (1)")
    connection.execute("DROP DATABASE released")
    took = time.monotonic() - begun
    if took > LONGEST_RELEASE:
        raise Problem(f"after the backup has ended, tables and rows took {took:.1f} s")
    connection.close()
    return took
