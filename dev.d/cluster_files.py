"""The files of a cluster that ./dev cluster starts: slurm.conf, gres.conf, cgroup.conf, a munge key, and ports that are free."""
import contextlib
import pathlib
import secrets
import socket

import cluster_accounting

GROUPS = "groups"  # a file with the names of nodes whose slurmd makes control groups
GROUP_TREES = pathlib.Path("/sys/fs/cgroup")
SLICE = GROUP_TREES / "system.slice"
CONTROLLERS = ("cpuset", "cpu", "memory", "pids")
MADE_SLICE = "made-slice"  # a file that is there when the slice was made for this cluster

# For scheduling alone any character device is a GPU.
FAKE_GPUS = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"]


def free_ports(count):
    """Ports that the kernel gives away now. Somebody may take one before the daemon does; `up` tries others then."""
    with contextlib.ExitStack() as keep:
        sockets = [keep.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def node_names(options):
    return [f"n{i + 1}" for i in range(options.nodes)]


def node_lines(options, ports):
    """The last nodes are the DPUs: nodes with that feature and without GPUs."""
    lines = []
    for i, name in enumerate(node_names(options)):
        is_dpu = i >= options.nodes - options.dpus
        gres = f" Gres=gpu:{options.gpus}" if options.gpus and not is_dpu else ""
        feature = " Feature=dpu" if is_dpu else ""
        lines.append(f"NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[i]} Sockets={options.sockets} "
                     f"CoresPerSocket={options.cores // options.sockets} ThreadsPerCore={options.threads} "
                     f"RealMemory={options.memory}{gres}{feature} {options.node_option}".rstrip())
    return "\n".join(lines)


def slurm_conf(directory, options, ports):
    """`ports`: slurmctld's, one for each node, and slurmdbd's."""
    every = f"n[1-{options.nodes}]"
    more = "\n".join(options.option)
    accounting = "AccountingStorageType=accounting_storage/none\nPreemptType=preempt/partition_prio"
    if options.accounting:
        accounting = cluster_accounting.slurm_conf_lines(directory, ports[-1])
    return f"""ClusterName={options.name}
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={cluster_accounting.USER}
SlurmdUser={cluster_accounting.USER}
AuthType=auth/munge
AuthInfo=socket={directory}/munge/socket
CredType=cred/munge
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/%n
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/%n.pid
ProctrackType=proctrack/{"cgroup" if options.cgroups else "linuxproc"}
TaskPlugin=task/{"cgroup" if options.cgroups else "none"}
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU={max(1, options.memory // (2 * options.cores * options.threads))}
PreemptMode=CANCEL
SchedulerParameters=bf_interval=5,bf_resolution=10,sched_min_interval=100000
ReturnToService=2
SlurmdTimeout=15
SlurmctldTimeout=15
MessageTimeout=5
KillWait=5
MinJobAge=30
{accounting}
{"GresTypes=gpu" if options.gpus else ""}
{more}
{node_lines(options, ports[1:])}
PartitionName=batch Nodes={every} Default=YES PriorityTier=10 PreemptMode=OFF MaxTime=INFINITE State=UP
PartitionName=idle Nodes={every} PriorityTier=1 PreemptMode=CANCEL GraceTime=0 MaxTime=INFINITE State=UP
"""


def gres_conf(options):
    with_gpus = options.nodes - options.dpus
    files = "\n".join(f"NodeName=n[1-{with_gpus}] Name=gpu File={device}" for device in FAKE_GPUS[:options.gpus])
    return f"AutoDetect=off\n{files}\n"


def make_slice(directory):
    """What systemd has made where it runs: the group in which slurmd makes its own. Slurm 22.05 does not read the last controller. What
    was not there before is noted, for `remove_slice`."""
    if not SLICE.exists():
        SLICE.mkdir()
        before = (GROUP_TREES / "cgroup.subtree_control").read_text().split()
        (directory / MADE_SLICE).write_text(" ".join(f"-{one}" for one in CONTROLLERS if one not in before))
    for group in (GROUP_TREES, SLICE):
        (group / "cgroup.subtree_control").write_text(" ".join(f"+{one}" for one in CONTROLLERS))


def remove_slice(directory):
    """Unless somebody else uses it by now."""
    note = directory / MADE_SLICE
    if not note.exists():
        return
    with contextlib.suppress(OSError):
        SLICE.rmdir()
        if added := note.read_text():
            (GROUP_TREES / "cgroup.subtree_control").write_text(added)


def write(directory, options):
    for folder in ["state", "munge", *node_names(options)]:
        (directory / folder).mkdir(exist_ok=True)
    ports = free_ports(options.nodes + 2)
    (directory / "slurm.conf").write_text(slurm_conf(directory, options, ports))
    if options.accounting:
        cluster_accounting.write(directory, ports[-1])
    constrain = "yes" if options.cgroups else "no"
    # Without cgroups the plugin is loaded all the same. In version 2 slurmd would ask systemd for its scope.
    unified = options.cgroups and (GROUP_TREES / "cgroup.controllers").exists()
    plugin = "cgroup/v2\nIgnoreSystemd=yes" if unified else "cgroup/v1"
    (directory / "cgroup.conf").write_text(f"CgroupPlugin={plugin}\nConstrainCores={constrain}\nConstrainRAMSpace={constrain}\n")
    if unified:
        make_slice(directory)
    if options.cgroups:
        (directory / GROUPS).write_text("\n".join(node_names(options)) + "\n")
    if options.gpus:
        (directory / "gres.conf").write_text(gres_conf(options))
    key = directory / "munge" / "key"
    key.unlink(missing_ok=True)
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)


def remove_groups(directory):
    """slurmd leaves its own ones behind: /sys/fs/cgroup/cpuset/slurm_n1, /sys/fs/cgroup/system.slice/n1_slurmstepd.scope and the like."""
    names = (directory / GROUPS).read_text().split() if (directory / GROUPS).exists() else []
    for name in names:
        for top in (one for pattern in (f"*/slurm_{name}", f"system.slice/{name}_slurm*") for one in GROUP_TREES.glob(pattern)):
            for folder in sorted((one for one in top.rglob("*") if one.is_dir()), reverse=True):
                with contextlib.suppress(OSError):
                    folder.rmdir()
            with contextlib.suppress(OSError):
                top.rmdir()
    remove_slice(directory)


def problem_with(directory, options):
    """What cannot work, in words; nothing if all can."""
    if not 1 <= options.nodes <= 256:
        return "a cluster has 1 to 256 nodes"
    if not 0 <= options.gpus <= len(FAKE_GPUS):
        return f"at most {len(FAKE_GPUS)} GPUs can be made up"
    if not 0 <= options.dpus < options.nodes:
        return "at least one node is no DPU"
    if options.cores < 1 or options.threads < 1 or options.sockets < 1 or options.cores % options.sockets:
        return "--cores are those of all --sockets together: a multiple"
    if options.memory < 64:
        return "a node has at least 64 MiB"
    if len(f"{directory}/munge/socket") > 100:
        return f"{directory} is too long for a socket's path: choose another --directory"
    if any(c.isspace() or c in '"#=\\' for c in str(directory)):
        return f"{directory}: slurm.conf cannot say this name; choose another --directory"
    return None
