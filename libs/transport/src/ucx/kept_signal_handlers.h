// ucx/kept_signal_handlers.h: what the program does with signals, over the loading of a library
// that has ideas of its own.
#pragma once
#include <array>
#include <csignal>
#include <optional>

namespace orchid::transport {

/// libucs installs handlers for crashes and for SIGHUP when it is loaded, over those of the
/// program. Its end puts back whatever is another action than at its beginning: handler, flags or
/// mask, of any signal. Owned by one thread.
class KeptSignalHandlers {
 public:
  KeptSignalHandlers();
  ~KeptSignalHandlers();
  KeptSignalHandlers(const KeptSignalHandlers&) = delete;
  KeptSignalHandlers& operator=(const KeptSignalHandlers&) = delete;

 private:
  std::array<std::optional<struct sigaction>, NSIG> kept_{};  // by signal; some are libc's own
};

}  // namespace orchid::transport
