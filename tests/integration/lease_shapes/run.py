#!/usr/bin/python3
"""run.py PROGRAMS DRIVER [CASE...]: leases that wish for GPUs, for one of several alternatives, for wide workers or certain nodes, and pilots
of a real cluster that serve them; the GPUs' driver is the fake one in the folder DRIVER. Exit status 0: all is as it should be; 77: there
is no Slurm here, or too small a machine."""
import json
import os
import pathlib
import sys
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
import slurm_cluster  # noqa: E402 (found only after the line above)
from processes import alive, expect, family, words_of  # noqa: E402
from site_of_pilots import automatic, orchid_beside  # noqa: E402
from slurm_cluster import chosen, environment_of_jobs, measured, started, wait_until  # noqa: E402

PROGRAMS, DRIVER = sys.argv[1:3]
NODES = ("--nodes", "2", "--cores", "2", "--gpus", "1")
REQUEST_TIMEOUT_S = 90
GPU_OR_CORES = [{"cores": 1, "gpus": 1}, {"cores": 2}]


def ask(site, method, path, document=None):
    """Status and answer."""
    token = (site.state / "token").read_text().strip()
    request = urllib.request.Request(f"http://{site.address}{path}", method=method,
                                     data=None if document is None else json.dumps(document).encode(),
                                     headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=REQUEST_TIMEOUT_S) as answer:
            text = answer.read().decode()
            return answer.status, json.loads(text) if text else {}
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.loads(refusal.read().decode())


def lease(site, **wishes):
    """Nobody claims its workers: within the ten seconds after which they lapse it is what it is."""
    status, told = ask(site, "POST", "/v1/leases", wishes)
    expect(status == 201, f"the lease is granted: {status} {told}\n{site.trouble()}\n{site.said()}")
    return told


def release(site, one):
    expect(ask(site, "DELETE", f"/v1/leases/{one['id']}")[0] == 204, "it is given back")


def log_of(site):
    return (site.folder / "gateway.log").read_text(errors="replace")


def having(one):
    """Cores and number of GPUs of its only worker."""
    worker, = one["workers"]
    return worker["cores"], len(worker["gpus"])


def a_gpu_is_leased_to_one_at_a_time(site):
    for node, options in (("n1", ["--gpus", "1"]), ("n2", [])):
        site.start_pilot("--partition", "idle", "--cores", "2", "--node-list", node, *options)
        site.wait_for_executor(node)
    wait_until(lambda: any(host["gpus_usable"] for host in site.hosts()), "its driver has run a kernel", site.trouble, 60)
    shown = {host["hostname"] if "name" not in host else host["name"]: host for host in site.hosts()}
    expect([gpu["index"] for gpu in shown["n1"]["gpus"]] == [0] and shown["n1"]["gpus_usable"] == 1, f"n1 has it: {shown['n1']}")
    expect(shown["n1"]["kind"] == "gpu" and shown["n2"]["gpus"] == [], "n2 has none")
    expect("0 of 1 leased" in site.orchid("hosts").stdout, "people see it")
    first = lease(site, alternatives=GPU_OR_CORES)
    expect(having(first) == (1, 1), f"the first one gets it: {first}")
    second = lease(site, alternatives=GPU_OR_CORES)
    expect(having(second) == (2, 0), f"the second one makes do with cores: {second}")
    expect("1 of 1 leased" in site.orchid("hosts").stdout, "people see that too")
    status, told = ask(site, "POST", "/v1/leases", {"gpus": 1, "within_ms": 0})
    expect(status == 503 and "GPUs" in told["detail"], f"nobody else gets it: {told}")
    release(site, first)
    third = lease(site, alternatives=GPU_OR_CORES)
    expect(having(third) == (1, 1), f"once it is given back another one has it: {third}")
    for one in (second, third):
        release(site, one)
    status, told = ask(site, "POST", "/v1/leases", {"gpus": 2})
    expect(status == 503 and "too few GPUs" in told["detail"], f"two of them are nowhere: {told}")
    explained = site.orchid("explain", told["detail"].split("explain ")[1].split("'")[0]).stdout
    expect("1 core, 2 GPUs" in explained and "too few GPUs free" in explained, f"that can be explained: {explained}")
    expect("GPUs free" in site.orchid("explain", "--gpus", "2").stdout, "and asked before")
    site.orchid("pilot", "stop", "--all")


def a_lease_outlives_the_gateway_with_its_gpu(site):
    site.start_pilot("--partition", "idle", "--cores", "2", "--node-list", "n1", "--option=--gres=gpu:1")
    site.wait_for_executor("n1")
    held = lease(site, gpus=1, duration_ms=60000)
    site.stop_gateway(kill=True)
    site.start_gateway()
    site.wait_for_executor("n1")
    status, told = ask(site, "POST", "/v1/leases", {"gpus": 1, "within_ms": 0})
    expect(status == 503 and "GPUs" in told["detail"], f"the next gateway knows who has it: {told}")
    found = ask(site, "GET", f"/v1/leases/{held['id']}")[1]
    expect(having(found) == (1, 1), f"and shows it: {found}")
    release(site, held)
    release(site, lease(site, gpus=1))
    site.orchid("pilot", "stop", "--all")


def a_batch_job_gets_its_gpu_back(site):
    site.start_pilot("--partition", "idle", "--cores", "2", "--node-list", "n1", "--gpus", "1")
    everybody = family(site.wait_for_executor("n1"))
    wait_until(lambda: any(host["gpus_usable"] for host in site.hosts()), "its driver has run a kernel", site.trouble, 60)
    everybody += [pid for pid in family(everybody[0]) if pid not in everybody]
    expect(any("orchid-device" in words_of(pid)[0] for pid in everybody), "a process has the GPU")
    held = lease(site, gpus=1, duration_ms=60000)
    job = site.cluster.submit("-p", "batch", "-n1", "-w", "n1", "--gres=gpu:1")
    site.cluster.wait_for_state(job, "RUNNING")
    left = [words_of(pid) for pid in everybody if alive(pid)]
    expect(not left, f"nothing of the pilot is left when the job begins: {left}")
    wait_until(lambda: not any(host["gpus_usable"] for host in site.hosts()), "the gateway knows", site.said)
    status, told = ask(site, "POST", "/v1/leases", {"gpus": 1, "within_ms": 0})
    expect(status == 503, f"nobody is given a GPU that is the job's: {told}")
    ask(site, "DELETE", f"/v1/leases/{held['id']}")
    site.cluster.run("scancel", str(job))
    site.orchid("pilot", "stop", "--all")


def a_wide_worker_gets_a_wide_pilot(site):
    # One core is free on each node: two pilots of one core each would hold no worker of two.
    jobs = [site.cluster.submit("-p", "batch", "-n1", "-w", node) for node in ("n1", "n2")]
    for job in jobs:
        site.cluster.wait_for_state(job, "RUNNING")
    status, told = ask(site, "POST", "/v1/leases", {"cores_per_worker": 2, "within_ms": 6000})
    expect(status == 503, f"there is no room for it: {told}")
    waiting = site.pilots()
    expect(all(one["cpus"] == 2 for one in waiting), f"no narrow pilot was submitted for it: {waiting}\n{site.said()}")
    site.cluster.run("scancel", str(jobs[0]))
    one = lease(site, cores_per_worker=2, within_ms=60000)
    expect(having(one) == (2, 0), f"where two cores are free it comes: {one}")
    release(site, one)
    site.cluster.run("scancel", str(jobs[1]))
    wait_until(lambda: not site.pilots(), "pilots go with the demand", lambda: site.said() + site.trouble(), 60)


def a_gpu_is_asked_of_slurm(site):
    one = lease(site, gpus=1, within_ms=60000)
    expect(having(one) == (1, 1), f"an automatic pilot has it: {one}\n{site.said()}")
    job = site.pilots()[0]["job"]
    shown = site.cluster.run("scontrol", "show", "job", "--details", str(job))
    expect("GRES=gpu:1(IDX:0)" in shown, f"Slurm has given it: {shown}")
    release(site, one)
    wait_until(lambda: not site.pilots(), "it goes with the demand", lambda: site.said() + site.trouble(), 60)


def what_no_node_has_starts_no_pilot(site):
    told = "no pilot is submitted for workers of 1 core"
    before = log_of(site).count(told)
    status, refusal = ask(site, "POST", "/v1/leases", {"within_ms": 6000, "constraints": {"features": ["none-such"]}})
    expect(status == 503, f"it is refused: {refusal}")
    expect(not site.pilots(), f"no pilot is started for it: {site.pilots()}")
    expect(log_of(site).count(told) == before + 1 and "no node has the feature none-such" in log_of(site),
           f"that is said once: {site.said()}")
    explained = site.orchid("explain", refusal["detail"].split("explain ")[1].split("'")[0]).stderr
    expect("no node has the feature none-such" in explained, f"and to who asks why: {explained}")


def main():
    slurm_cluster.skip_without_slurm()
    if len(os.sched_getaffinity(0)) < 2:
        print("skipped: a worker of two cores needs a machine with two")
        sys.exit(slurm_cluster.SKIPPED)
    by_hand = [a_gpu_is_leased_to_one_at_a_time, a_lease_outlives_the_gateway_with_its_gpu, a_batch_job_gets_its_gpu_back]
    by_demand = [a_wide_worker_gets_a_wide_pilot, a_gpu_is_asked_of_slurm, what_no_node_has_starts_no_pilot]
    by_hand, by_demand = chosen(by_hand, by_demand, wanted=sys.argv[3:])
    with (environment_of_jobs(LD_LIBRARY_PATH=DRIVER) as prolog, started(*NODES, "--option", prolog) as cluster,
          orchid_beside(PROGRAMS, cluster, 'sources = ["none"]\n') as site):
        for case in by_hand:
            measured(case, site)
        site.stop_gateway()
        site.start_gateway(automatic(site, most_queued=4, most_cores=2))
        for case in by_demand:
            measured(case, site)


if __name__ == "__main__":
    main()
