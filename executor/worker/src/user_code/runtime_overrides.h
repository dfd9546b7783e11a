// worker/runtime_overrides.h: the host functions that user code gets in place of the C library's,
// because the worker has to know what was done: exit, write to standard output, signal handlers,
// locales, failed allocations.
#pragma once
#include <string_view>

#include "user_code/call_log.h"
#include "worker/status_page.h"

namespace orchid::executor {

/// What the overrides report to. Set once, before user code is loaded; process-wide because the C
/// library's functions are.
struct OverrideTargets {
  StatusPage* page = nullptr;
  CallLog* log = nullptr;
  bool signals_changed = false;  // handlers or mask: the worker restores them after the call
  bool library_changed = false;  // locales or handlers of C++: the same
};
[[nodiscard]] OverrideTargets& override_targets();

/// The override or host API function of that name; null: take the C library's.
[[nodiscard]] void* find_override(std::string_view name);

}  // namespace orchid::executor
