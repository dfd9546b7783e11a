// pilots/pilot_processes.h: the programs that the gateway keeps for its pilots: one that submits
// them by demand, and one that clears the queue of them after the gateway's end.
#pragma once
#include <boost/asio/io_context.hpp>
#include <filesystem>

#include "companions/kept_process.h"
#include "foundation/clock.h"
#include "pilots/pilot_settings.h"

namespace orchid::gateway {

/// Owned by the control thread, whose io_context it is given.
class PilotProcesses {
 public:
  struct Options {
    PilotSettings settings;
    std::filesystem::path orchid;  // the program
    std::filesystem::path socket;  // of the gateway
    std::filesystem::path state;   // its directory
  };
  PilotProcesses(boost::asio::io_context& control, const Options& options);

  void start();
  void stop();
  /// Now and then: with the first pilot comes the guard.
  void tick(MonotonicTime now);

 private:
  bool automatic_;
  std::filesystem::path state_;
  KeptProcess keeper_;
  KeptProcess guard_;
  MonotonicTime looked_;
};

}  // namespace orchid::gateway
