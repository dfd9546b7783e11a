#include "ucx/kept_signal_handlers.h"

namespace orchid::transport {
namespace {

/// Nothing: there is no such signal, or libc keeps it for itself.
std::optional<struct sigaction> action_of(int signal) {
  struct sigaction action{};
  if (::sigaction(signal, nullptr, &action) != 0) return std::nullopt;
  return action;
}

/// Byte by byte would compare what libc leaves unset.
bool is_same(const struct sigaction& one, const struct sigaction& other) {
  if (one.sa_sigaction != other.sa_sigaction || one.sa_flags != other.sa_flags) return false;
  for (int signal = 1; signal < NSIG; ++signal)
    if (::sigismember(&one.sa_mask, signal) != ::sigismember(&other.sa_mask, signal)) return false;
  return true;
}

}  // namespace

KeptSignalHandlers::KeptSignalHandlers() {
  for (int signal = 1; signal < NSIG; ++signal)
    kept_[static_cast<std::size_t>(signal)] = action_of(signal);
}

KeptSignalHandlers::~KeptSignalHandlers() {
  for (int signal = 1; signal < NSIG; ++signal) {
    const auto& before = kept_[static_cast<std::size_t>(signal)];
    const auto now = action_of(signal);
    if (before && now && !is_same(*now, *before)) ::sigaction(signal, &*before, nullptr);
  }
}

}  // namespace orchid::transport
