// The whole system's tests, with workers of this host (the default) or of another one (--lane=ucx).
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <optional>
#include <string_view>

#include "host_namespaces.h"
#include "local_executor.h"
#include "system_lane.h"

namespace orchid::tests {
namespace {

namespace fs = std::filesystem;

/// Orchid's programs in a folder of their own, where `orchid up` finds an executor that it starts
/// on another host: it speaks to the gateway over the same socket file, but its machine, its
/// network and its name are others.
class ProgramsWithFarExecutor {
 public:
  explicit ProgramsWithFarExecutor(const HostNamespaces& hosts) {
    for (const char* name :
         {"orchid", "orchid-gateway", "orchid-dispatch", "orchid-door", "orchid-compiler"})
      fs::copy_file(fs::path(PROGRAMS) / name, folder() / name);
    std::ofstream script(folder() / "orchid-executor");
    script << "#!/bin/sh\nexec";
    for (const std::string& word : hosts.entry(0)) script << ' ' << word;
    script << " " PROGRAMS "/orchid-executor \"$@\" --host-id " << HostNamespaces::name(0)
           << " --lane-listen " << HostNamespaces::address(0) << ":0\n";
    script.close();
    fs::permissions(folder() / "orchid-executor", fs::perms(0755));
  }
  [[nodiscard]] const fs::path& folder() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
};

std::optional<ProgramsWithFarExecutor> far_programs;

}  // namespace

bool are_workers_elsewhere() { return far_programs.has_value(); }

const fs::path& programs_under_test() {
  static const fs::path here(PROGRAMS);
  return far_programs ? far_programs->folder() : here;
}

}  // namespace orchid::tests

int main(int argc, char** argv) {
  using namespace orchid::tests;
  constexpr int skipped = 77;  // as CMakeLists.txt tells ctest
  std::optional<HostNamespaces> hosts;
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--lane=ucx") {
      auto made = HostNamespaces::create(1);
      if (!made) {
        std::fprintf(stderr, "skipped: %s\n", made.error().message.c_str());
        return skipped;
      }
      hosts.emplace(std::move(*made));
      far_programs.emplace(*hosts);
    }
  doctest::Context context(argc, argv);
  const int status = context.run();
  far_programs.reset();
  return status;
}
