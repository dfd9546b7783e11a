"""A running orchid-slurm, and what it has said, as a gateway would know it."""
import contextlib
import json
import subprocess
import sys
import threading
import time

DEADLINE_S = 30
END_DEADLINE_S = 10


class Source:
    """Reads in a thread of its own; every wait has a deadline. All lines are judged by the protocol's parser at the end."""

    def __init__(self, program, cluster, *options, user=None):
        self.process = subprocess.Popen([program, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, env=cluster.environment(), user=user, group=user, cwd="/tmp",
                                        extra_groups=[] if user else None)
        self.changed = threading.Condition()
        self.lines, self.log = [], []
        self.nodes, self.jobs, self.forecasts, self.report, self.error, self.reports = {}, {}, {}, {}, None, []
        self.readers = [threading.Thread(target=self.read, daemon=True), threading.Thread(target=self.read_log, daemon=True)]
        for reader in self.readers:
            reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line)
                self.take(json.loads(line))
                self.changed.notify_all()

    def read_log(self):
        self.log.extend(self.process.stderr)

    def take(self, message):
        if message["type"] == "update":
            if message.get("full"):
                self.nodes, self.jobs, self.forecasts = {}, {}, {}
            for name in message.get("nodes_gone", []):
                del self.nodes[name]
            for job in message.get("jobs_gone", []):
                del self.jobs[job]
            self.nodes.update({node["name"]: node for node in message.get("nodes", [])})
            self.jobs.update({job["id"]: job for job in message.get("jobs", [])})
            self.forecasts.update({one["node"]: one["windows"] for one in message.get("forecasts", [])})
        elif message["type"] == "report":
            self.report = message
            self.reports.append((time.monotonic(), message))
        elif message["type"] == "error":
            self.error = message

    def say(self, **message):
        print(json.dumps(message), file=self.process.stdin, flush=True)

    def start(self):
        self.wait(lambda: self.lines, "it says hello")
        self.say(type="start", protocol=1)
        self.wait(lambda: self.nodes, "it tells its nodes")

    def wait(self, condition, what, seconds=DEADLINE_S):
        with self.changed:
            if not self.changed.wait_for(condition, seconds):
                sys.exit(f"not within {seconds} s: {what}\n{''.join(self.lines[-4:])}\n{''.join(self.log[-20:])}")

    def end(self, seconds=END_DEADLINE_S):
        """The gateway goes. The exit status."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        return self.wait_for_end(seconds)

    def wait_for_end(self, seconds=END_DEADLINE_S):
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            sys.exit(f"it does not end within {seconds} s\n{''.join(self.log)}")
        for reader in self.readers:
            reader.join(seconds)
        return status

    def judge(self, checker):
        judged = subprocess.run([checker], input="".join(self.lines), capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        if judged.returncode != 0:
            sys.exit(f"the protocol's parser refuses a line: {judged.stderr}")
        return judged.stdout


@contextlib.contextmanager
def running(program, checker, cluster, *options, user=None):
    source = Source(program, cluster, *options, user=user)
    try:
        yield source
        source.end()
        source.judge(checker)
    finally:
        source.process.kill()
        source.process.wait()
