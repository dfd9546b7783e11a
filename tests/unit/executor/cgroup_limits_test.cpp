#include "topology/cgroup_limits.h"

#include <doctest/doctest.h>

#include "file_tree.h"

namespace orchid::executor {
namespace {

/// A tree of control groups.
struct LimitTree : FileTree {
  [[nodiscard]] CgroupLimits read() const {
    return read_cgroup_limits(root() / "membership", root() / "mount");
  }
};

}  // namespace

TEST_CASE("version 2: the tightest limit on the way to the root counts") {
  const LimitTree tree;
  tree.write("membership", "0::/batch/job/step\n");
  tree.write("mount/batch/job/step/memory.max", "max\n");
  tree.write("mount/batch/job/step/cpu.max", "max 100000\n");
  tree.write("mount/batch/job/memory.max", "2147483648\n");
  tree.write("mount/batch/job/cpu.max", "250000 100000\n");
  tree.write("mount/batch/memory.max", "4294967296\n");
  CHECK(tree.read().memory == ByteCount{2147483648});
  CHECK(tree.read().cores == 2.5);
}

TEST_CASE("version 1: each controller has its own tree") {
  const LimitTree tree;
  tree.write("membership", "4:memory:/job\n3:cpuset:/\n2:cpu,cpuacct:/other\n0::/\n");
  tree.write("mount/memory/job/memory.limit_in_bytes", "1073741824\n");
  tree.write("mount/memory/memory.limit_in_bytes", "9223372036854771712\n");
  tree.write("mount/cpu,cpuacct/other/cpu.cfs_quota_us", "50000\n");
  tree.write("mount/cpu,cpuacct/other/cpu.cfs_period_us", "100000\n");
  CHECK(tree.read().memory == ByteCount{1073741824});
  CHECK(tree.read().cores == 0.5);
}

TEST_CASE("a container that sees only its own part of the tree still finds its limit") {
  const LimitTree tree;
  tree.write("membership", "4:memory:/docker/0123\n");
  tree.write("mount/memory/memory.limit_in_bytes", "1048576\n");
  CHECK(tree.read().memory == ByteCount{1048576});
}

TEST_CASE("no limit, no group and nonsense are no limits") {
  const LimitTree tree;
  CHECK_FALSE(tree.read().memory.has_value());
  tree.write("membership", "nonsense\n4:memory\n2:cpu:/\n0::/\n");
  tree.write("mount/memory.max", "\n");
  tree.write("mount/cpu.max", "max\n");
  tree.write("mount/cpu/cpu.cfs_quota_us", "-1\n");
  tree.write("mount/cpu/cpu.cfs_period_us", "100000\n");
  CHECK_FALSE(tree.read().memory.has_value());
  CHECK_FALSE(tree.read().cores.has_value());
}

}  // namespace orchid::executor
