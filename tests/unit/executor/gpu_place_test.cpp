#include "topology/gpu_place.h"

#include <doctest/doctest.h>

#include "file_tree.h"

namespace orchid::executor {
namespace {

/// A machine with GPUs, as NVIDIA's driver and the kernel show them.
struct MachineWithGpus : FileTree {
  void add(const std::string& address, const std::string& number,
           const std::string& numa_node) const {
    write("proc/driver/nvidia/gpus/" + address + "/information",
          "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 42\nBus Location: \t " + address +
              "\nDevice Minor: \t " + number + "\nGPU Excluded:\t No\n");
    write("sys/bus/pci/devices/" + address + "/numa_node", numa_node + "\n");
  }
};

}  // namespace

TEST_CASE("a GPU is on the NUMA node of its PCI device, whose number is not the order on the bus") {
  const MachineWithGpus machine;
  machine.add("0000:17:00.0", "1", "0");
  machine.add("0000:ca:00.0", "0", "1");
  CHECK(numa_node_of_gpu(0, machine.root()) == 1);
  CHECK(numa_node_of_gpu(1, machine.root()) == 0);
  CHECK_FALSE(numa_node_of_gpu(2, machine.root()));
}

TEST_CASE("what is not known of a GPU is not guessed") {
  const MachineWithGpus machine;
  CHECK_FALSE(numa_node_of_gpu(0, machine.root()));  // no driver
  machine.add("0000:17:00.0", "0", "-1");            // a machine without such nodes
  CHECK_FALSE(numa_node_of_gpu(0, machine.root()));
  machine.write("proc/driver/nvidia/gpus/0000:18:00.0/information", "Device Minor: \t N/A\n");
  machine.write("proc/driver/nvidia/gpus/0000:19:00.0/information", "Device Minor: \t 3\n");
  CHECK_FALSE(numa_node_of_gpu(3, machine.root()));  // the kernel does not know the device
}

}  // namespace orchid::executor
