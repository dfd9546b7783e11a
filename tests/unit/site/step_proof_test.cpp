#include "site/step_proof.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace orchid::site {
namespace {

using std::filesystem::path;

constexpr uid_t alice_uid = 1000;
constexpr uid_t bob_uid = 1001;

/// What a process of a made-up machine is like.
struct Process {
  pid_t parent = 1;
  std::string uids;  // real, effective, saved, of the file system
  std::string title;
  std::string program = "bash";
  std::string groups;  // lines of its control groups
  std::string allowed = "0-3";
};

/// /proc, the programs that run, and the control groups, in a folder that goes with this object.
class Machine {
 public:
  Machine() {
    std::string name = std::filesystem::temp_directory_path() / "orchid-proof-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
    for (const char* program : {"slurmstepd", "bash", "sudo"}) std::ofstream(folder_ / program);
  }
  ~Machine() { std::filesystem::remove_all(folder_); }

  void add(pid_t pid, const Process& process) {
    const path own = folder_ / "proc" / std::to_string(pid);
    std::filesystem::create_directories(own);
    std::ofstream(own / "status") << "Name:\tx\nPid:\t" << pid << "\nPPid:\t" << process.parent
                                  << "\nUid:\t" << process.uids << "\nGid:\t0\t0\t0\t0\n"
                                  << "Cpus_allowed:\tf\nCpus_allowed_list:\t" << process.allowed
                                  << "\n";
    std::ofstream(own / "cmdline") << process.title << '\0';
    std::ofstream(own / "cgroup") << process.groups;
    std::filesystem::remove(own / "exe");
    std::filesystem::create_symlink(folder_ / process.program, own / "exe");
  }
  void add_group(const path& group) {
    std::filesystem::create_directories(folder_ / "cgroup" / group);
  }
  [[nodiscard]] path group(const path& group) const { return folder_ / "cgroup" / group; }

  [[nodiscard]] Result<ProvenStep> prove(pid_t pid, uid_t uid) const {
    return prove_step(pid, uid, options());
  }
  [[nodiscard]] ProofOptions options() const {
    return {.slurmstepd = folder_ / "slurmstepd",
            .proc = folder_ / "proc",
            .cgroups = folder_ / "cgroup",
            .root = ::geteuid()};
  }

 private:
  path folder_;
};

const std::string root = "0\t0\t0\t0";
const std::string of_alice = "1000\t1000\t1000\t1000";
const std::string of_bob = "1001\t1001\t1001\t1001";

/// Step 3 of job 17, of alice_uid, with a shell and what that has started.
void add_step(Machine& machine) {
  machine.add(10, {.uids = root, .title = "slurmstepd: [17.3]", .program = "slurmstepd"});
  machine.add(11, {.parent = 10, .uids = of_alice, .title = "bash"});
  machine.add(12, {.parent = 11, .uids = of_alice, .title = "orchid-grant", .allowed = "1-2"});
}

ErrorCode proof_code_of(const Result<ProvenStep>& proven) {
  REQUIRE_FALSE(proven.has_value());
  return proven.error().code;
}

}  // namespace

TEST_CASE("a process below a step's slurmstepd is in that step") {
  Machine machine;
  add_step(machine);
  const auto proven = machine.prove(12, alice_uid);
  REQUIRE(proven.has_value());
  CHECK(proven->job == 17);
  CHECK(proven->step == "3");
  CHECK(proven->allowed == CoreList{1, 2});
  CHECK_FALSE(proven->held_to_cores);
  CHECK(proven->groups.empty());
  CHECK(machine.prove(11, alice_uid)->job == 17);
}

TEST_CASE("slurmstepd that works with its user's rights for a moment is still root's") {
  Machine machine;
  add_step(machine);
  machine.add(10,
              {.uids = "0\t1000\t0\t1000", .title = "slurmstepd: [17.3]", .program = "slurmstepd"});
  CHECK(machine.prove(12, alice_uid)->job == 17);
}

TEST_CASE("a process outside of jobs proves nothing") {
  Machine machine;
  machine.add(12, {.parent = 1, .uids = of_alice, .title = "orchid-grant"});
  const auto proven = machine.prove(12, alice_uid);
  CHECK(proof_code_of(proven) == ErrorCode::denied);
  CHECK(proven.error().message.find("no step of a Slurm job") != std::string::npos);
}

TEST_CASE("a title proves nothing without the program, and the program nothing without root") {
  Machine machine;
  add_step(machine);
  // A user's process can have any title.
  machine.add(10, {.uids = of_alice, .title = "slurmstepd: [17.3]"});
  CHECK(proof_code_of(machine.prove(12, alice_uid)) == ErrorCode::denied);
  // It can also run the very program.
  machine.add(10, {.uids = of_alice, .title = "slurmstepd: [17.3]", .program = "slurmstepd"});
  CHECK(proof_code_of(machine.prove(12, alice_uid)) == ErrorCode::denied);
  // A program with root's rights may have been given any title by who started it.
  machine.add(10, {.uids = root, .title = "slurmstepd: [17.3]", .program = "sudo"});
  CHECK(proof_code_of(machine.prove(12, alice_uid)) == ErrorCode::denied);
  machine.add(10,
              {.uids = "1000\t0\t0\t0", .title = "slurmstepd: [17.3]", .program = "slurmstepd"});
  CHECK(proof_code_of(machine.prove(12, alice_uid)) == ErrorCode::denied);
}

TEST_CASE("slurmstepd itself is no step's program") {
  Machine machine;
  add_step(machine);
  CHECK(proof_code_of(machine.prove(10, alice_uid)) == ErrorCode::denied);
  CHECK(proof_code_of(machine.prove(10, 0)) == ErrorCode::denied);
}

TEST_CASE("whoever is between the step and the process is of the same user") {
  Machine machine;
  add_step(machine);
  machine.add(11, {.parent = 10, .uids = of_bob, .title = "bash"});
  CHECK(proof_code_of(machine.prove(12, alice_uid)) == ErrorCode::denied);
  // As sudo would have it.
  add_step(machine);
  machine.add(11, {.parent = 10, .uids = root, .title = "sudo", .program = "sudo"});
  CHECK(proof_code_of(machine.prove(12, alice_uid)) == ErrorCode::denied);
}

TEST_CASE("a number that has come to mean another user's process proves nothing") {
  Machine machine;
  add_step(machine);
  CHECK(proof_code_of(machine.prove(12, bob_uid)) == ErrorCode::denied);
  CHECK(proof_code_of(machine.prove(99, alice_uid)) == ErrorCode::not_found);
}

TEST_CASE("a ring of parents ends") {
  Machine machine;
  machine.add(11, {.parent = 12, .uids = of_alice, .title = "bash"});
  machine.add(12, {.parent = 11, .uids = of_alice, .title = "bash"});
  CHECK(proof_code_of(machine.prove(12, alice_uid)) == ErrorCode::denied);
}

TEST_CASE("control groups of version 1 are those of the job, and hold it to its cores") {
  Machine machine;
  add_step(machine);
  for (const char* group :
       {"cpuset/slurm/uid_1000/job_17/step_3", "memory/slurm/uid_1000/job_17/step_3/task_0",
        "freezer/slurm/uid_1000/job_17/step_3"})
    machine.add_group(group);
  machine.add(12, {.parent = 11,
                   .uids = of_alice,
                   .title = "orchid-grant",
                   .groups = "9:name=systemd:/system.slice\n"
                             "4:memory:/slurm/uid_1000/job_17/step_3/task_0\n"
                             "3:cpuset:/slurm/uid_1000/job_17/step_3\n"
                             "6:freezer:/slurm/uid_1000/job_17/step_3\n0::/\n",
                   .allowed = "2"});
  const auto proven = machine.prove(12, alice_uid);
  REQUIRE(proven.has_value());
  CHECK(proven->held_to_cores);
  CHECK(proven->allowed == CoreList{2});
  CHECK(proven->groups ==
        std::vector<path>{machine.group("memory/slurm/uid_1000/job_17/step_3/task_0"),
                          machine.group("cpuset/slurm/uid_1000/job_17/step_3"),
                          machine.group("freezer/slurm/uid_1000/job_17/step_3")});
}

TEST_CASE("a control group of version 2 holds a job to cores where Slurm has said which") {
  Machine machine;
  add_step(machine);
  const path job = "system.slice/slurmstepd.scope/job_17";
  machine.add_group(job / "step_3/user/task_0");
  machine.add(12, {.parent = 11,
                   .uids = of_alice,
                   .title = "orchid-grant",
                   .groups = "0::/" + (job / "step_3/user/task_0").string() + "\n"});
  std::ofstream(machine.group(job) / "cpuset.cpus") << "\n";
  const auto free = machine.prove(12, alice_uid);
  REQUIRE(free.has_value());
  CHECK_FALSE(free->held_to_cores);
  CHECK(free->groups.size() == 1);
  std::ofstream(machine.group(job) / "cpuset.cpus") << "0-3\n";
  CHECK(machine.prove(12, alice_uid)->held_to_cores);
}

TEST_CASE("another job's control group contradicts the chain") {
  Machine machine;
  add_step(machine);
  const auto with_group = [&](const std::string& group) {
    machine.add_group("cpuset" + group);
    machine.add(12, {.parent = 11,
                     .uids = of_alice,
                     .title = "orchid-grant",
                     .groups = "3:cpuset:" + group + "\n"});
    return machine.prove(12, alice_uid);
  };
  CHECK(proof_code_of(with_group("/slurm/uid_1000/job_18/step_0")) == ErrorCode::denied);
  CHECK(proof_code_of(with_group("/slurm/uid_1001/job_17/step_3")) == ErrorCode::denied);
  CHECK(with_group("/slurm/uid_1000/job_17x/step_3").has_value());
  CHECK_FALSE(with_group("/slurm/uid_1000/job_17x/step_3")->held_to_cores);
}

TEST_CASE("a control group that anybody could have made counts for nothing") {
  Machine machine;
  add_step(machine);
  machine.add_group("cpuset/mine/job_17/step_0");
  machine.add(12, {.parent = 11,
                   .uids = of_alice,
                   .title = "orchid-grant",
                   .groups = "3:cpuset:/mine/job_17/step_0\n"});
  ProofOptions options = machine.options();
  options.root = ::geteuid() + 1;
  const auto proven = prove_step(12, alice_uid, options);
  REQUIRE(proven.has_value());
  CHECK_FALSE(proven->held_to_cores);
  CHECK(proven->groups.empty());
}

}  // namespace orchid::site
