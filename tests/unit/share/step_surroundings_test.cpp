#include <doctest/doctest.h>

#include <fstream>

#include "scratch_folder.h"
#include "share/step_surroundings.h"
#include "topology/host.h"

namespace orchid::share {
namespace {

/// A `scontrol` that knows one job with the last of so many processors of node n1.
void write_scontrol(const tests::Scratch& scratch, std::uint32_t processors,
                    unsigned memory_mib = 1) {
  const auto path = scratch / "scontrol";
  std::ofstream(path) << "#!/bin/sh\n"
                      << "case \"$2\" in\n"
                      << "job) echo '   Nodes=n1 CPU_IDs=" << processors - 1
                      << " Mem=" << memory_mib << " GRES=' ;;\n"
                      << "node) echo '   CPUAlloc=1 CPUTot=" << processors << " CPULoad=0' ;;\n"
                      << "hostnames) echo n1 ;;\n"
                      << "esac\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

}  // namespace

TEST_CASE("a job that nobody binds has the cores that Slurm counts, by the system's numbers") {
  const auto machine = executor::discover_host();
  REQUIRE(machine.has_value());
  if (machine->cores.size() < 2) {
    MESSAGE("not tested: it takes two cores");
    return;
  }
  const tests::Scratch scratch;
  const SlurmSteps slurm({.folder = scratch.path()});
  const OwnStep own{.job = 17, .node = "n1", .cpus_here = 1};
  const auto threads = static_cast<std::uint32_t>(machine->thread_order.size());
  write_scontrol(scratch, threads);
  CHECK(cores_of_job(own, slurm).value() == CoreList{machine->thread_order.back()});
  // A node that is told to have more than this machine.
  write_scontrol(scratch, threads + 3);
  CHECK(cores_of_job(own, slurm).value() == CoreList{threads + 2});
}

TEST_CASE("a job's part of a node has as many CPUs as Slurm says, or as many cores as it sees") {
  CHECK(cpus_of_job({.job = 17, .node = "n1", .cpus_here = 4}, {0, 1}) == 4);
  CHECK(cpus_of_job({.job = 17, .node = "n1"}, {0, 1}) == 2);
}

TEST_CASE("where a job's environment says nothing of its memory, slurmctld does") {
  const tests::Scratch scratch;
  const SlurmSteps slurm({.folder = scratch.path()});
  const OwnStep own{.job = 17, .node = "n1"};
  CHECK(with_memory_here({.per_cpu = 2_GiB}, own, slurm).value().per_cpu == 2_GiB);
  CHECK_FALSE(with_memory_here({}, own, slurm).has_value());  // nobody answers
  write_scontrol(scratch, 1, 3072);
  CHECK(with_memory_here({}, own, slurm).value().per_node == 3_GiB);
  CHECK(with_memory_here({.per_node = 1_GiB}, own, slurm).value().per_node == 1_GiB);
  write_scontrol(scratch, 1, 0);
  CHECK_FALSE(with_memory_here({}, own, slurm).value().per_node.has_value());
}

TEST_CASE("an executor is told what memory the job has, and that it is too little") {
  const OwnStep own{.job = 17, .node = "n1"};
  CHECK(memory_arguments(own, 64_MiB).value() == std::vector<std::string>{"--memory", "64MiB"});
  const auto refused = memory_arguments(own, 63_MiB);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::quota);
  CHECK(refused.error().message.find("--mem") != std::string::npos);
}

}  // namespace orchid::share
