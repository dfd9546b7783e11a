"""A gateway of one's own, as `orchid up` would leave it, and the command `orchid` beside a test cluster."""
import contextlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from gateway_process import launch
from slurm_cluster import wait_until

COMMAND_TIMEOUT_S = 90


def expect(fact, what):
    if not fact:
        sys.exit(f"not so: {what}")


def family(pid):
    """A process and all below it."""
    children = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = entry.read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found = [pid]
    for one in found:
        found.extend(children.get(one, []))
    return found


def alive(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


class Site:
    def __init__(self, programs, cluster, folder):
        self.programs, self.cluster, self.folder = pathlib.Path(programs), cluster, folder
        self.state, self.runtime = folder / "state", folder / "run" / "orchid"
        for one in (self.state, self.runtime):
            one.mkdir(parents=True, mode=0o700, exist_ok=True)
        self.environment = {**cluster.environment(), "XDG_RUNTIME_DIR": str(folder / "run"), "HOME": str(folder)}
        self.environment.pop("ORCHID_GATEWAY", None)
        self.gateway = None
        self.port = 0
        self.start_gateway()
        # The same for all that follow: pilots of one find the next.
        self.port = int(self.address.rpartition(":")[2])

    def start_gateway(self, settings=""):
        configuration = self.folder / "gateway.toml"
        configuration.write_text(settings)
        command = [self.programs / "orchid-gateway", "--state", self.state, "--compiler", self.programs / "orchid-compiler", "--dispatch",
                   self.programs / "orchid-dispatch", "--listen", f"127.0.0.1:{self.port}", "--socket", self.runtime / "gateway.sock", "--config",
                   configuration]
        with open(self.folder / "gateway.log", "ab") as log:
            self.gateway, ready = launch(command, self.environment, log)
        self.address = ready["urls"][0].removeprefix("http://").rstrip("/")
        file = self.runtime / "gateway.json"
        file.write_text(json.dumps({"addresses": ready["urls"], "socket": str(self.runtime / "gateway.sock"), "state": str(self.state),
                                    "token_file": str(self.state / "token"), "version": "0", "pid": self.gateway.pid}))
        file.chmod(0o600)

    def stop_gateway(self, kill=False):
        if kill:
            self.gateway.kill()
        else:
            self.gateway.terminate()
        self.gateway.wait(timeout=30)

    def orchid(self, *words, check=True, data=None, environment=None):
        done = subprocess.run([self.programs / "orchid", *words], env={**self.environment, **(environment or {})}, input=data,
                              capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=False)
        if check and done.returncode != 0:
            sys.exit(f"orchid {' '.join(map(str, words))} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done

    def calling(self, function, data):
        """A call in the background."""
        call = subprocess.Popen([self.programs / "orchid", "invoke", function, "--deadline", "60s"], env=self.environment,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        call.stdin.write(data)
        call.stdin.close()
        call.stdin = None
        return call

    def start_pilot(self, *options):
        """The job's number; --host-identity node, since all nodes of the test cluster are this machine."""
        done = self.orchid("pilot", "start", "--json", "--address", self.address, "--host-identity", "node", "--time", "10m",
                           "--scheduling", "normal", *options)  # what else runs on this machine is none of the tests' business
        return json.loads(done.stdout)["pilots"][0]["job"]

    def pilots(self):
        return json.loads(self.orchid("pilot", "list", "--json").stdout)["pilots"]

    def executors(self):
        """Process ids of pilots' executors, by the batch system's name of their node."""
        found = {}
        for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                words = entry.read_text().split("\0")
                if words[0] == str(self.programs / "orchid-executor") and "--node" in words and self.address in words:
                    found[words[words.index("--node") + 1]] = int(entry.parent.name)
        return found

    def hosts(self):
        return json.loads(self.orchid("hosts", "--json").stdout)["hosts"]

    def said(self):
        return (self.folder / "gateway.log").read_text(errors="replace")[-4000:]

    def wait_for_executor(self, node):
        """Until the gateway knows it; its process id."""
        def there():
            return any(str(host.get("id", host.get("boot_id", ""))).endswith("/" + node) and
                       any(executor.get("state") == "connected" for executor in host.get("executors", [])) for host in self.hosts())
        wait_until(there, f"the pilot on {node} has joined", self.trouble)
        return self.executors()[node]

    def trouble(self):
        logs = [path.read_text(errors="replace")[-3000:] for path in (self.state / "pilots").glob("*.log")]
        return "\n".join([self.cluster.run("squeue", check=False), json.dumps(self.hosts()), *logs])

    def wait_until_running(self, function):
        def runs():
            told = json.loads(self.orchid("status", "--json").stdout)
            calls = told.get("invocations", told if isinstance(told, list) else [])
            return any(one["function"] == function and one["state"] == "running" for one in calls)
        wait_until(runs, f"{function} runs", self.trouble)

    @staticmethod
    def folder_of(executor):
        """That the pilot has made on its node."""
        words = pathlib.Path(f"/proc/{executor}/cmdline").read_text().split("\0")
        return pathlib.Path(words[words.index("--runtime") + 1]).parent


@contextlib.contextmanager
def orchid_beside(programs, cluster):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="orchid-", dir="/tmp"))
    site = Site(programs, cluster, folder)
    try:
        yield site
    finally:
        cluster.clear()
        site.gateway.kill()
        site.gateway.wait(timeout=30)
        shutil.rmtree(folder, ignore_errors=True)
