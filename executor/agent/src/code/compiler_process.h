// code/compiler_process.h: the compiler of one tenant: started, watched, asked one thing at a
// time, replaced when it dies or hangs.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "channels/packet_channel.h"
#include "children/child_watch.h"
#include "children/own_program.h"
#include "protocol/compiler_messages.h"

namespace orchid::executor {

/// Owned by the agent's thread.
class CompilerProcess {
 public:
  struct Options {
    std::filesystem::path program;
    std::chrono::milliseconds time_limit{30'000};  // of one compilation
    std::chrono::milliseconds start_limit{10'000};
    int nice = 0;  // added to our own
    SchedulingClass scheduling = SchedulingClass::normal;
  };
  struct Compiled {
    UniqueFd code;  // a sealed memory file
    CompileTier tier = CompileTier::o3;
    std::chrono::microseconds duration{0};
  };
  using Done = std::function<void(Result<Compiled>)>;

  /// `on_ready`: after each start, with what the compiler makes code for.
  CompilerProcess(boost::asio::io_context& io, ChildWatch& children, Options options,
                  std::function<void(const CompilerReady&)> on_ready);
  ~CompilerProcess();
  CompilerProcess(const CompilerProcess&) = delete;
  CompilerProcess& operator=(const CompilerProcess&) = delete;

  void start();
  /// Ends the process; no job is done any more.
  void stop();
  /// Ends the process, and starts none until `resume`: there is no core for it. Its jobs wait.
  void pause();
  void resume();
  /// Queues. A compiler that dies is started anew and asked once more; the second time the module
  /// is to blame: `module_rejected`.
  void compile(UniqueFd module, CompileTier tier, Done done);
  [[nodiscard]] const std::optional<CompilerReady>& target() const { return target_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::size_t queued() const { return jobs_.size(); }
  [[nodiscard]] std::uint64_t restarts() const { return restarts_; }

 private:
  struct Job {
    UniqueFd module;
    CompileTier tier;
    Done done;
    unsigned attempts = 0;
  };
  void ended(const ChildEvent& event);
  void from_compiler(Packet& packet);
  void next();
  void finish(Result<Compiled> result);
  void limit(std::chrono::milliseconds time);

  boost::asio::io_context& io_;
  ChildWatch& children_;
  Options options_;
  std::function<void(const CompilerReady&)> on_ready_;
  std::unique_ptr<PacketChannel> channel_;
  pid_t pid_ = -1;
  bool ready_ = false;
  bool stopped_ = false;
  bool paused_ = false;
  bool put_down_ = false;  // by `pause`, and its end is not known yet
  bool busy_ = false;
  bool timed_out_ = false;
  std::optional<CompilerReady> target_;
  std::deque<Job> jobs_;  // the first is being worked on when busy_
  std::uint64_t next_id_ = 1;
  std::uint64_t restarts_ = 0;
  processes::Restarts ends_{child_restarts};
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer retry_timer_;
};

/// Of the process that makes the best code behind calls that run quick code: it gives way to them,
/// and so may take longer.
[[nodiscard]] CompilerProcess::Options improver_options(CompilerProcess::Options compiler);

}  // namespace orchid::executor
