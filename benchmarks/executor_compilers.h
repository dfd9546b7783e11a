// executor_compilers.h: the compilers of an executor, as the kernel tells of them.
#pragma once
#include <sys/resource.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "harness/machine.h"
#include "local_orchid.h"

namespace orchid::bench {

struct Compiler {
  pid_t pid = -1;
  int nice = 0;
  std::chrono::microseconds cpu_per_batch{0};
  [[nodiscard]] std::chrono::microseconds cpu() const {
    return cpu_time_of(pid).value_or(std::chrono::microseconds(0));
  }
};

inline std::vector<Compiler> find_compilers(const tests::LocalOrchid& orchid) {
  std::vector<Compiler> compilers;
  for (const pid_t pid : orchid.processes()) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
    const std::string words(std::istreambuf_iterator<char>(file), {});
    if (words.find("orchid-compiler") != std::string::npos &&
        words.find("--serve") != std::string::npos)
      compilers.push_back(
          {.pid = pid, .nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(pid))});
  }
  return compilers;
}

}  // namespace orchid::bench
