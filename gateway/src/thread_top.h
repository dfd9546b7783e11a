// thread_top.h: what is at the top of each of the gateway's threads.
#pragma once
#include <cstdlib>
#include <exception>
#include <string_view>

#include "foundation/log.h"

namespace orchid::gateway {

/// What escapes here is a defect, and ends the process rather than leaving
/// it half alive.
template <typename Body>
void run_thread(std::string_view name, Body body) noexcept {
  try {
    body();
  } catch (const std::exception& error) {
    log::error("event=thread_failed thread={} reason=\"{}\"", name, error.what());
    std::abort();
  }
}

}  // namespace orchid::gateway
