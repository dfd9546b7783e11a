#include "children/own_program.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "foundation/sockets.h"

namespace orchid::executor {
namespace {

constexpr int control_number = 3;
constexpr rlim_t stack_bytes = 8UL << 20;

/// Between fork and exec: system calls only.
const char* settle(const void* context) noexcept {
  // A batch system sends it to all processes of a job at once. When they end, and how, is for the
  // agent to say: a call would seem to have killed its worker otherwise.
  ::signal(SIGTERM, SIG_IGN);
  if (static_cast<const ChildSettings*>(context)->scheduling == SchedulingClass::idle)
    enter_idle_class();
  rlimit stack{};
  ::getrlimit(RLIMIT_STACK, &stack);
  stack.rlim_cur = std::min(stack_bytes, stack.rlim_max);
  ::setrlimit(RLIMIT_STACK, &stack);
  return nullptr;
}

}  // namespace

Result<StartedChild> start_child(const std::filesystem::path& program,
                                 const std::vector<std::string>& arguments,
                                 const ChildSettings& settings) {
  if (::access(program.c_str(), X_OK) != 0)
    return fail(ErrorCode::not_found,
                program.string() + " is not there or cannot be executed; reinstall Orchid");
  auto pair = make_packet_pair();
  if (!pair) return fail(std::move(pair.error()));
  // Whether it becomes the program is not waited for: one of the idle class may get no core for a
  // while. One that cannot ends, like any other that ends.
  auto child = processes::ChildProcess::begin(
      {.program = program,
       .arguments = arguments,
       .environment = settings.environment,
       .descriptors = {{.from = pair->second.get(), .as = control_number}},
       .dies_with_us = true,
       .default_signals = true,
       .first_to_lose_memory = true,
       .last_step = {.run = settle, .context = &settings}});
  if (!child) return fail(std::move(child.error()));
  return StartedChild{std::move(child->process), std::move(pair->first)};
}

}  // namespace orchid::executor
