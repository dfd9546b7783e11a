// code/compiler_pool.h: the compiler processes of all tenants. CompileSchedule decides which of
// them there are and what they do; this does it.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "children/child_watch.h"
#include "code/compile_schedule.h"
#include "code/compiler_process.h"

namespace orchid::executor {

/// Owned by the agent's thread.
class CompilerPool {
 public:
  using Compiled = CompilerProcess::Compiled;
  using Done = std::function<void(Result<Compiled>)>;
  struct Options {
    CompilerProcess::Options process;
    CompileSchedule::Options schedule;
  };
  struct Request {
    CompileSchedule::Tenant tenant = 0;
    CompileRank purpose = CompileRank::calls;
    CompileTier tier = CompileTier::o3;
    UniqueFd module;
    ByteCount size;
    std::string gpu = {};        // as in CompileRequest
    std::string constants = {};  // likewise
    /// What a compiler has spent on it, without the time in which it waited for one: before `done`,
    /// and for each compiler that it has ended. May be empty.
    std::function<void(std::chrono::microseconds)> spent = {};
  };

  /// `on_ready`: after each start, with what the compilers make code for.
  CompilerPool(boost::asio::io_context& io, ChildWatch& children, Options options,
               std::function<void(const CompilerReady&)> on_ready);
  CompilerPool(const CompilerPool&) = delete;
  CompilerPool& operator=(const CompilerPool&) = delete;

  void start() { pump(); }
  /// Ends the processes; no job is done any more.
  void stop();
  /// Ends the processes, and starts none until it is false again: there is no core for them. Jobs
  /// wait.
  void pause(bool paused);
  /// Errors through `done`: `compile_limit`, with figures and what helps; `module_rejected`, also
  /// when the compiler has crashed of the module twice; `no_capacity` when the host had no time for
  /// it; `internal` when others end the compiler again and again.
  void compile(Request request, Done done);

  [[nodiscard]] const std::optional<CompilerReady>& target() const { return target_; }
  [[nodiscard]] std::size_t waiting(CompileSchedule::Tenant tenant, CompileRank purpose) const {
    return schedule_.waiting(tenant, purpose);
  }
  /// A process of that rank; -1: there is none.
  [[nodiscard]] pid_t pid_of(CompileRank rank) const;
  [[nodiscard]] std::uint64_t restarts() const { return restarts_; }
  /// Adds what it has counted.
  void count(std::map<std::string, std::uint64_t>& counters) const;

 private:
  struct Job {
    Request request;
    Done done;
    unsigned attempts = 0;
  };
  struct Entry {
    std::unique_ptr<CompilerProcess> process;
    CompileRank rank = CompileRank::calls;
    CompileSchedule::Job job = 0;
    bool put_down = false;  // by us: its end is nobody's fault
  };
  void pump();
  void obey(const CompileSchedule::Action& action);
  void start_process(const CompileSchedule::Action& action);
  void answered(CompileSchedule::Process number, Result<Compiled> result);
  void ended(CompileSchedule::Process number, const ChildEvent& event);
  void charge(const Entry& entry) const;
  [[nodiscard]] Failure failure_of(const Entry& entry, const ChildEvent& event) const;
  void set_timer();

  boost::asio::io_context& io_;
  ChildWatch& children_;
  Options options_;
  std::function<void(const CompilerReady&)> on_ready_;
  CompileSchedule schedule_;
  std::map<CompileSchedule::Job, Job> jobs_;
  std::map<CompileSchedule::Process, Entry> processes_;
  std::optional<CompilerReady> target_;
  bool stopped_ = false;
  bool pumping_ = false;
  bool pump_again_ = false;
  std::uint64_t restarts_ = 0;
  std::uint64_t limits_ = 0;  // compilations that were ended at one
  boost::asio::steady_timer timer_;
};

}  // namespace orchid::executor
