// code/compiler_process.h: one compiler process of one tenant: started, watched, asked one thing at
// a time, ended at its limits.
#pragma once
#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "channels/packet_channel.h"
#include "children/child_watch.h"
#include "children/own_program.h"
#include "children/time_limit.h"
#include "protocol/compiler_messages.h"

namespace orchid::executor {

/// Owned by the agent's thread. Lives until its process has ended, or kills it.
class CompilerProcess {
 public:
  struct Options {
    std::filesystem::path program;
    std::chrono::milliseconds time_limit{30'000};  // of processor time, for one compilation
    std::chrono::milliseconds start_limit{10'000};
    SchedulingClass scheduling = SchedulingClass::normal;
  };
  /// On a machine that is busy a compilation lasts longer than the processor time that it takes:
  /// one that lasts so many times its limit hangs.
  static constexpr int patience = 20;

  struct Compiled {
    UniqueFd code;  // a sealed memory file
    CompileTier tier = CompileTier::o3;
    std::chrono::microseconds duration{0};
  };
  /// What it said of the module that it is compiling, if it has read it.
  using Figures = std::optional<CompileStarted>;
  enum class Overrun : std::uint8_t { none, processor_time, time };
  struct Handlers {
    std::function<void(const CompilerReady&)> ready;
    std::function<void(Result<Compiled>)> answered;
    std::function<void(const ChildEvent&)> ended;  // may destroy it
  };

  CompilerProcess(boost::asio::io_context& io, ChildWatch& children, Options options,
                  Handlers handlers);
  ~CompilerProcess();
  CompilerProcess(const CompilerProcess&) = delete;
  CompilerProcess& operator=(const CompilerProcess&) = delete;

  /// `nice`: added to our own. Errors: `system`, `not_found`.
  [[nodiscard]] Result<void> start(int nice);
  /// It must be ready, and do nothing. `wanted`: as in CompileRequest.
  struct Wanted {
    CompileTier tier = CompileTier::o3;
    std::string gpu = {};
    std::string constants = {};
  };
  void compile(int module, const Wanted& wanted);
  /// It stands behind others from now on.
  void give_way(int nice);
  void kill();
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// `ended` is about to be told.
  [[nodiscard]] bool has_ended() const { return pid_ < 0; }
  [[nodiscard]] const Figures& figures() const { return figures_; }
  /// Why we killed it, if a compilation was the reason.
  [[nodiscard]] Overrun overrun() const { return overrun_; }
  /// What it has spent on what it compiles, or has compiled last: processor time, as long as its
  /// process is there, or else the time that has passed. No more than one compilation may have.
  [[nodiscard]] std::chrono::microseconds worked() const;

 private:
  void happened(const ChildEvent& event);
  void from_compiler(Packet& packet);
  void watch_limits();
  [[nodiscard]] std::chrono::nanoseconds processor_time() const;

  boost::asio::io_context& io_;
  ChildWatch& children_;
  Options options_;
  Handlers handlers_;
  std::unique_ptr<PacketChannel> channel_;
  pid_t pid_ = -1;
  bool said_ready_ = false;
  bool busy_ = false;
  Overrun overrun_ = Overrun::none;
  Figures figures_;
  std::uint64_t next_id_ = 1;
  MonotonicTime began_;                      // the compilation
  std::chrono::nanoseconds used_before_{0};  // by its process, before it
  TimeLimit limit_;                          // of its start, then of a look at what it compiles
};

}  // namespace orchid::executor
