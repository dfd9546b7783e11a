"""slurmdbd and its database, for ./dev cluster up --accounting: an account with the caller in it, and a QOS that gives way to others."""
import os
import pwd
import subprocess

PROGRAMS = {"mariadbd": "/usr/sbin/mariadbd", "mariadb-install-db": "/usr/bin/mariadb-install-db", "slurmdbd": "/usr/sbin/slurmdbd",
            "sacctmgr": "/usr/bin/sacctmgr", "my_print_defaults": "/usr/bin/my_print_defaults"}  # the last is what the second one calls
PACKAGES = "slurmdbd mariadb-server-core mariadb-client-core"
ACCOUNT = "orchid"
USER = pwd.getpwuid(os.geteuid()).pw_name
SETUP_TIMEOUT_S = 60


def database(directory):
    return directory / "database"


def socket_of(directory):
    """Of the database; nobody else can reach it, whose folder is its owner's alone."""
    return database(directory) / "socket"


def slurm_conf_lines(directory, port):
    return f"""AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={directory}/munge/socket
AccountingStorageEnforce=associations,limits,qos
PreemptType=preempt/qos"""


def write(directory, port):
    database(directory).mkdir(exist_ok=True, mode=0o700)
    file = directory / "slurmdbd.conf"
    file.unlink(missing_ok=True)
    with open(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), "w") as out:  # slurmdbd wants it so
        out.write(f"""AuthType=auth/munge
AuthInfo=socket={directory}/munge/socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser={USER}
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser={USER}
StorageLoc=orchid_accounting
PidFile={directory}/slurmdbd.pid
""")


def make_database(directory):
    """Returns what has run, with what it said."""
    return subprocess.run([PROGRAMS["mariadb-install-db"], "--no-defaults", f"--datadir={database(directory)}", f"--user={USER}",
                           "--skip-test-db", "--skip-log-bin", "--force"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=SETUP_TIMEOUT_S, check=False)


def arguments(directory):
    """Of the daemons. What they keep is for a test, and need not survive the machine."""
    return {"mariadbd": ["--no-defaults", f"--datadir={database(directory)}", f"--socket={socket_of(directory)}", f"--user={USER}",
                         "--skip-networking", "--skip-grant-tables", "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M",
                         f"--pid-file={database(directory)}/pid"],
            "slurmdbd": ["-D"]}


def environment(directory):
    return {"MYSQL_UNIX_PORT": str(socket_of(directory))}


def entries(cluster):
    """What sacctmgr is to add, before slurmctld starts: as docs/guide/slurm.md says it to administrators, and who may submit."""
    return [["add", "cluster", cluster],
            ["add", "qos", "idle", "set", "priority=0", "preemptmode=cancel", "gracetime=0", "maxsubmitjobsperuser=32", "maxtresperuser=cpu=512"],
            ["modify", "qos", "normal", "set", "preempt+=idle"], ["modify", "account", "root", "set", "qos+=idle"],
            ["add", "account", ACCOUNT], ["add", "user", USER, f"account={ACCOUNT}"],
            ["modify", "user", USER, "set", f"defaultaccount={ACCOUNT}"]]
