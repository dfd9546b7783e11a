#include "topology/grant_group.h"

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace orchid::executor {
namespace {

constexpr pid_t process = 4711;

/// A tree of control groups in a directory of its own. The kernel makes a new group's files; here
/// they have to be there before.
struct GroupTree {
  GroupTree() {
    std::string pattern = "/tmp/orchid-grant-group-XXXXXX";
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    root = pattern;
  }
  ~GroupTree() { std::filesystem::remove_all(root); }
  GroupTree(const GroupTree&) = delete;
  GroupTree& operator=(const GroupTree&) = delete;
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  }
  [[nodiscard]] std::string read(const std::string& file) const {
    std::ifstream stream(root / file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  [[nodiscard]] GrantGroup::Options options(std::vector<std::uint32_t> cores,
                                            std::optional<ByteCount> memory) const {
    return {.cores = std::move(cores),
            .memory = memory,
            .process = process,
            .membership = root / "membership",
            .mount = root / "mount"};
  }
  std::filesystem::path root;
};

void make_version_1(const GroupTree& tree) {
  tree.write("membership", "4:memory:/job\n3:cpuset:/job\n0::/\n");
  tree.write("mount/cpuset/job/cpuset.mems", "0-1\n");
  tree.write("mount/cpuset/job/cgroup.procs", "");
  tree.write("mount/memory/job/cgroup.procs", "");
  for (const char* file : {"cpuset.mems", "cpuset.cpus", "cgroup.procs"})
    tree.write("mount/cpuset/job/orchid-4711/" + std::string(file), "");
  for (const char* file : {"memory.limit_in_bytes", "cgroup.procs"})
    tree.write("mount/memory/job/orchid-4711/" + std::string(file), "");
}

void make_version_2(const GroupTree& tree) {
  tree.write("membership", "0::/batch/step\n");
  tree.write("mount/batch/step/cgroup.controllers", "cpuset cpu memory pids\n");
  tree.write("mount/batch/step/cgroup.subtree_control", "");
  tree.write("mount/batch/step/cgroup.procs", "");
  for (const char* file : {"cpuset.cpus", "memory.max", "memory.events", "cgroup.procs"})
    tree.write("mount/batch/step/orchid-4711/" + std::string(file), "");
}

}  // namespace

TEST_CASE("version 1: cores and memory are bounded in a group of each tree") {
  const GroupTree tree;
  make_version_1(tree);
  {
    const GrantGroup group = GrantGroup::enter(tree.options({0, 1, 8}, 1_GiB));
    CHECK(group.refusals().empty());
    CHECK(group.bounds_cores());
    CHECK(group.bounds_memory());
    CHECK(tree.read("mount/cpuset/job/orchid-4711/cpuset.cpus") == "0,1,8");
    CHECK(tree.read("mount/cpuset/job/orchid-4711/cpuset.mems") == "0-1");
    CHECK(tree.read("mount/cpuset/job/orchid-4711/cgroup.procs") == "4711");
    CHECK(tree.read("mount/memory/job/orchid-4711/memory.limit_in_bytes") == "1073741824");
    CHECK(tree.read("mount/memory/job/orchid-4711/cgroup.procs") == "4711");
    CHECK(tree.read("mount/cpuset/job/cgroup.procs").empty());
    tree.write("mount/memory/job/orchid-4711/memory.oom_control",
               "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    CHECK(group.memory_kills() == 3);
  }
  // Back to where it was.
  CHECK(tree.read("mount/cpuset/job/cgroup.procs") == "4711");
  CHECK(tree.read("mount/memory/job/cgroup.procs") == "4711");
}

TEST_CASE("a process that has left its group early stays where it is") {
  const GroupTree tree;
  make_version_1(tree);
  {
    GrantGroup group = GrantGroup::enter(tree.options({0}, 1_GiB));
    group.leave();
    CHECK(tree.read("mount/cpuset/job/cgroup.procs") == "4711");
    CHECK(tree.read("mount/memory/job/cgroup.procs") == "4711");
    tree.write("mount/cpuset/job/cgroup.procs", "untouched");
    group.leave();
  }
  CHECK(tree.read("mount/cpuset/job/cgroup.procs") == "untouched");
}

TEST_CASE("version 2: the process moves first, then its old group hands on its controllers") {
  const GroupTree tree;
  make_version_2(tree);
  {
    const GrantGroup group = GrantGroup::enter(tree.options({2, 3}, 512_MiB));
    CHECK(group.refusals().empty());
    CHECK(group.bounds_cores());
    CHECK(group.bounds_memory());
    CHECK(tree.read("mount/batch/step/orchid-4711/cgroup.procs") == "4711");
    CHECK(tree.read("mount/batch/step/cgroup.subtree_control") == "+memory");  // the last write
    CHECK(tree.read("mount/batch/step/orchid-4711/cpuset.cpus") == "2,3");
    CHECK(tree.read("mount/batch/step/orchid-4711/memory.max") == "536870912");
    tree.write("mount/batch/step/orchid-4711/memory.events",
               "low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n");
    CHECK(group.memory_kills() == 1);
  }
  CHECK(tree.read("mount/batch/step/cgroup.subtree_control") == "-cpuset -memory");
  CHECK(tree.read("mount/batch/step/cgroup.procs") == "4711");
}

TEST_CASE("version 2: controllers that were handed on before stay so") {
  const GroupTree tree;
  make_version_2(tree);
  tree.write("mount/batch/step/cgroup.subtree_control", "cpuset memory\n");
  {
    const GrantGroup group = GrantGroup::enter(tree.options({2}, 512_MiB));
  }
  CHECK(tree.read("mount/batch/step/cgroup.subtree_control") == "cpuset memory\n");
}

TEST_CASE("hybrid: what version 1 does not have is asked of version 2") {
  const GroupTree tree;
  make_version_1(tree);
  tree.write("membership", "3:cpuset:/job\n0::/\n");
  tree.write("mount/unified/cgroup.controllers", "hugetlb\n");
  const GrantGroup group = GrantGroup::enter(tree.options({1}, 1_GiB));
  CHECK(group.bounds_cores());
  CHECK_FALSE(group.bounds_memory());
  REQUIRE(group.refusals().size() == 1);
  CHECK(group.refusals()[0].find("has no controller memory") != std::string::npos);
}

TEST_CASE("what may not be written is left as it was, and said") {
  const GroupTree tree;
  make_version_1(tree);
  std::filesystem::remove(tree.root / "mount/cpuset/job/orchid-4711/cpuset.cpus");
  const GrantGroup group = GrantGroup::enter(tree.options({1}, 1_GiB));
  CHECK_FALSE(group.bounds_cores());
  CHECK(group.bounds_memory());
  REQUIRE(group.refusals().size() == 1);
  CHECK(group.refusals()[0].find("cpuset.cpus: No such file") != std::string::npos);
  CHECK(tree.read("mount/cpuset/job/orchid-4711/cgroup.procs").empty());
}

TEST_CASE("a process without any control group says so, and one that asks for nothing makes none") {
  const GroupTree tree;
  CHECK(GrantGroup::enter(tree.options({1}, {})).refusals().size() == 1);
  make_version_1(tree);
  const GrantGroup nothing = GrantGroup::enter(tree.options({}, {}));
  CHECK(nothing.refusals().empty());
  CHECK_FALSE(nothing.bounds_cores());
  CHECK_FALSE(nothing.bounds_memory());
  CHECK(nothing.memory_kills() == 0);
}

TEST_CASE("groups whose process has gone are removed, others are not") {
  const GroupTree tree;
  make_version_1(tree);
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  REQUIRE(::waitpid(gone, nullptr, 0) == gone);
  const auto folder = tree.root / "mount/cpuset/job";
  for (const std::string& name : {std::to_string(gone), std::to_string(::getpid())})
    std::filesystem::create_directory(folder / ("orchid-" + name));
  std::filesystem::create_directory(folder / "orchid-of-somebody");
  const GrantGroup group = GrantGroup::enter(tree.options({1}, {}));
  CHECK_FALSE(std::filesystem::exists(folder / ("orchid-" + std::to_string(gone))));
  CHECK(std::filesystem::exists(folder / ("orchid-" + std::to_string(::getpid()))));
  CHECK(std::filesystem::exists(folder / "orchid-of-somebody"));
}

}  // namespace orchid::executor
