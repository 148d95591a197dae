"""A private mariadbd with the plugin, and connections to it."""

import os
import shutil
import signal
import subprocess
import time

import pymysql

from program import PROJECT, Failure, run


class PrivateServer:
    """A private mariadbd with the plugin, in a folder of its own that goes away with it, unless it is to be kept."""

    def __init__(self, name, *options, plugin=None):
        """`plugin`: the folder of another build's plugin."""
        self._name = name
        self._plugin = plugin
        self._kept = False
        self._log_read = 0
        self._control("remove")
        self.start(*options)

    @classmethod
    def existing(cls, name):
        """The server of that name as it was left: with its data or none, running or not."""
        server = cls.__new__(cls)
        server._name = name
        server._plugin = None
        server._kept = True
        server._log_read = 0
        server._note(server._control("facts"))
        return server

    def start(self, *options):
        """Starts it again, on the same data, after stop() or kill()."""
        self._note(self._control("start", *options))

    def _note(self, facts):
        self.facts = facts
        self.socket = facts["socket"]
        self.pid = int(facts["pid"] or 0)

    def start_and_kill(self, seconds, *options):
        """Starts it and kills it so many seconds later, ready or not."""
        start = subprocess.Popen([f"{PROJECT}/scripts/private-server", "start", self._name, *options],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 env=self._environment())
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline or not _processes_with(f"--datadir={self.facts['data']}"):
            if start.poll() not in (None, 0):
                raise Failure(f"the server '{self._name}' did not start; its log is {self.facts['log']}")
            time.sleep(0.01)
        for pid in _processes_with(f"--datadir={self.facts['data']}"):
            os.kill(pid, signal.SIGKILL)
            _wait_for_end(pid)
        start.wait()

    def kill(self):
        """Ends it as a power switch ends a process: no handler of it runs."""
        os.kill(self.pid, signal.SIGKILL)
        _wait_for_end(self.pid)

    def limit_file_size(self, limit):
        """Lets no write go past so many bytes of a file, as on a full disk, until it is called with None."""
        # The server's own user may do so; root in a container may not.
        as_user = [] if os.geteuid() != 0 else ["setpriv", f"--reuid={self.facts['user']}", "--regid=nogroup", "--clear-groups"]
        run([*as_user, "prlimit", f"--pid={self.pid}", f"--fsize={'unlimited' if limit is None else limit}:"], "prlimit")

    def stop(self):
        self._control("stop")

    def runs(self):
        return _command_line(self.pid) != []

    def keep_log(self):
        """Copies the server's log to where it outlives the server; the copy's name."""
        kept = f"{PROJECT}/build/logs/{self._name}-server.log"
        shutil.copy(self.facts["log"], kept)
        return kept

    def complaints(self):
        """What the engine has complained of in the server's log since the last call, and crashes."""
        with open(self.facts["log"], encoding="utf-8", errors="replace") as file:
            file.seek(self._log_read)
            lines = file.readlines()
            self._log_read = file.tell()
        return [line.strip() for line in lines
                if "Hailstone:" in line and ("[ERROR]" in line or "[Warning]" in line) or "got signal" in line]

    def keep(self):
        """Its end leaves its data."""
        self._kept = True

    def remove(self):
        self._control("remove")

    def _control(self, action, *options):
        output = run([f"{PROJECT}/scripts/private-server", action, self._name, *options], f"the server '{self._name}'",
                     environment=self._environment())
        return dict(line.split("=", 1) for line in output.splitlines() if "=" in line)

    def _environment(self):
        return {**os.environ, "HAILSTONE_PLUGIN": self._plugin} if self._plugin else None

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        if failure is not None and os.path.exists(self.facts["log"]):
            print(f"the server's log is kept as {self.keep_log()}", flush=True)
        if self._kept and failure is None:
            self.stop()
        else:
            self.remove()

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

    def cpu_seconds(self):
        """Processor time that the process has taken."""
        return time.clock_gettime(~self.pid << 3 | 2)  # the clock of a process, as Linux numbers it


def _command_line(pid):
    """Empty when the process has ended, even when nobody has waited for it yet."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return [argument.decode(errors="replace") for argument in file.read().split(b"\0")[:-1]]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _processes_with(argument):
    """The servers, not the programs that start them: those have the same argument for an instant before exec."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and argument in (line := _command_line(name))
            and os.path.basename(line[0]) == "mariadbd"]


def _wait_for_end(pid):
    while _command_line(pid):
        time.sleep(0.005)


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
