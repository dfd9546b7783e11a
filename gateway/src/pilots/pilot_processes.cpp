#include "pilots/pilot_processes.h"

namespace orchid::gateway {

namespace {

constexpr std::chrono::seconds look_every{2};

}  // namespace

PilotProcesses::PilotProcesses(boost::asio::io_context& control, const Options& options)
    : automatic_(options.settings.automatic),
      state_(options.state),
      keeper_(control,
              pilot_keeper(options.settings, options.orchid, options.socket, options.state)),
      guard_(control, pilot_guard(options.settings, options.orchid, options.state)) {}

void PilotProcesses::start() {
  if (automatic_) keeper_.start();
}

void PilotProcesses::stop() {
  keeper_.stop();
  guard_.stop();
}

/// Whoever starts pilots leaves a mark in our state directory. One look at a file on a disk without
/// which nothing goes on here.
void PilotProcesses::tick(MonotonicTime now) {
  if (guard_.is_wanted() || now - looked_ < look_every) return;
  looked_ = now;
  if (has_had_pilots(state_)) guard_.start();
}

}  // namespace orchid::gateway
