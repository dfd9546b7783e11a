#include "calls/module_hosts.h"

#include <doctest/doctest.h>

namespace orchid::gateway {

TEST_CASE("a module runs where it has bitcode for a processor") {
  module::Manifest manifest;
  CHECK(hosts_of(manifest) == ModuleHosts{});
  manifest.targets = {{.triple = "", .arch = "x86_64", .kind = "bitcode", .size = {}},
                      {.triple = "", .arch = "nvptx64", .kind = "bitcode", .size = {}},
                      {.triple = "", .arch = "aarch64", .kind = "bitcode", .size = {}},
                      {.triple = "", .arch = "riscv64", .kind = "object", .size = {}}};
  manifest.kernels = {{.name = "k"}};
  CHECK(hosts_of(manifest) == ModuleHosts{.images = {"aarch64", "x86_64"}});
}

TEST_CASE("a kernel without an image for cores needs a GPU") {
  module::Manifest manifest;
  manifest.kernels = {{.name = "a"}, {.name = "b", .on_cores = false}};
  CHECK(hosts_of(manifest).needs_gpu);
}

}  // namespace orchid::gateway
