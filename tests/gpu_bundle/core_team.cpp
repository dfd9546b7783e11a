#include "core_team.h"

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace orchid::gpu_check {
namespace {

using Kernel = void (*)(const void* arguments, std::uint64_t begin, std::uint64_t end);

/// Some for each thread of a large machine: those that are slower take fewer.
constexpr std::uint64_t pieces_of_launch = 1024;

/// What the levels of the x86-64 ABI ask for, of which compilers make use here; empty: less.
std::string level_of_this_machine() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return "x86-64-v4";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
      __builtin_cpu_supports("fma"))
    return "x86-64-v3";
  return "";
}

unsigned allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return static_cast<unsigned>(CPU_COUNT(&set));
}

}  // namespace

Result<CoreTeam> CoreTeam::load(const std::filesystem::path& folder) {
  const std::string level = level_of_this_machine();
  if (level.empty())
    return fail(ErrorCode::unsupported, "the cores have no AVX2 and FMA (x86-64-v3)");
  const std::filesystem::path file = folder / ("cores-" + level + ".so");
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return fail(ErrorCode::not_found, ::dlerror());
  return CoreTeam(library, level, allowed_cores());
}

Result<void> CoreTeam::run(const Work& work) const {
  const std::string symbol = std::string("orchid_kernel_") + work.kernel;
  auto* const function = reinterpret_cast<Kernel>(::dlsym(library_, symbol.c_str()));
  if (function == nullptr)
    return fail(ErrorCode::not_found, std::string("cores have no kernel ") + work.kernel);
  const std::uint64_t groups = (work.items + work.group_size - 1) / work.group_size;
  const std::uint64_t piece = (groups + pieces_of_launch - 1) / pieces_of_launch * work.group_size;
  std::atomic<std::uint64_t> next{0};
  const auto run_pieces = [&] {
    while (true) {
      const std::uint64_t number = next.fetch_add(1);
      const std::uint64_t launch = number / pieces_of_launch;
      if (launch >= work.launches.size()) return;
      const std::uint64_t begin = number % pieces_of_launch * piece;
      if (begin < work.items)
        function(work.launches[launch].data(), begin, std::min(begin + piece, work.items));
    }
  };
  std::vector<std::jthread> team;
  for (unsigned i = 1; i < cores_; ++i) team.emplace_back(run_pieces);
  run_pieces();
  return {};
}

}  // namespace orchid::gpu_check
