#include "process_limits.h"

#include <sys/resource.h>

#include <algorithm>

#include "functions/function_registry.h"

namespace orchid::gateway {

std::size_t most_versions() {
  rlimit limit{};
  const std::size_t most = FunctionRegistry::Limits{}.versions;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return most;
  return std::min<std::size_t>(most, limit.rlim_cur / 2);
}

}  // namespace orchid::gateway
