// supervisor/supervisor.h: keeps a gateway and an executor running: `orchid up`.
#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "foundation/clock.h"
#include "foundation/owner_thread.h"
#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "processes/child_process.h"
#include "processes/restart_policy.h"
#include "supervisor/gateway_file.h"
#include "supervisor/health_probe.h"
#include "supervisor/liveness.h"
#include "supervisor/notify_socket.h"

namespace orchid::cli {

struct SupervisorOptions {
  std::filesystem::path programs;   // where orchid-gateway and orchid-executor are
  std::filesystem::path runtime;    // exists, private
  std::filesystem::path state;      // exists, private
  std::vector<std::string> listen;  // ADDRESS:PORT; port 0: the kernel chooses
  std::string lane_listen;          // IP:PORT for direct calls of other hosts, or empty
  std::string lane_fabric = {};     // tcp, auto or verbs, or empty: see the executor's
  std::string door = {};            // the same as lane_listen, for clients over UCX; empty: none
  std::filesystem::path gateway_config = {};         // TOML, of the gateway; empty: none
  std::vector<std::string> executor_arguments = {};  // further ones
  std::chrono::seconds longest_silence{10};     // of a child, until it is killed and started again
  std::chrono::milliseconds longest_stop{500};  // of a child that a signal has stopped, the same
  std::chrono::seconds longest_start{60};       // of a child, until it is ready
  std::chrono::seconds gateway_grace{6};        // to finish what runs, when we are stopped
  std::chrono::seconds executor_grace{3};
};

/// What people are told while it runs. Called on the supervisor's thread.
struct SupervisorEvents {
  std::function<void(const GatewayFile&)> ready;  // both are; again when the addresses have changed
  std::function<void(const std::string& line)> trouble;  // a child ended, is silent, …
};

/// What a gateway writes to its --ready-fd: one line of JSON. Nothing: not (yet) that.
struct GatewayReady {
  std::vector<std::string> urls;
  std::string door = {};  // "ucx://…"; empty: none
  std::string token_file;
};
[[nodiscard]] std::optional<GatewayReady> parse_gateway_ready(std::string_view text);

/// Owned by main's thread, the process's only one. Blocks SIGINT, SIGTERM, SIGCHLD and
/// (unless it was ignored) SIGHUP for good when it is made.
class Supervisor {
 public:
  [[nodiscard]] static Result<Supervisor> create(SupervisorOptions options,
                                                 SupervisorEvents events);
  /// Until a signal stops it and both children have ended. Errors: why it gave up; the children
  /// have ended then too.
  [[nodiscard]] Result<void> run();

 private:
  /// One of the two programs, running or between two runs.
  struct Child {
    std::string name;
    std::optional<processes::ChildProcess> process;
    processes::Restarts restarts;
    Liveness liveness;
    MonotonicTime started;
    std::optional<MonotonicTime> start_at;
    std::optional<MonotonicTime> stopped_since;
    bool ready = false;
    bool was_ever_ready = false;
  };

  Supervisor(SupervisorOptions options, SupervisorEvents events, NotifySocket notify,
             UniqueFd signals);
  [[nodiscard]] Result<void> supervise();
  [[nodiscard]] Result<void> start(Child& child);
  [[nodiscard]] Result<processes::ProgramStart> gateway_start();
  [[nodiscard]] processes::ProgramStart executor_start() const;
  [[nodiscard]] int poll_timeout(MonotonicTime now) const;
  void wait_for_events();
  void take_notifications(MonotonicTime now);
  void take_signals();
  [[nodiscard]] Result<void> take_addresses();
  void note_gateway_ready();
  [[nodiscard]] Result<void> reap(Child& child, MonotonicTime now);
  [[nodiscard]] Result<void> lost(Child& child, std::string_view what, const std::string& how,
                                  MonotonicTime now);
  [[nodiscard]] Result<void> look_after(Child& child, MonotonicTime now);
  void end_if_useless(Child& child, MonotonicTime now);
  void take_health(MonotonicTime now);
  void excuse_silence(MonotonicTime now);
  [[nodiscard]] Result<void> announce_when_ready();
  void stop_child(Child& child, std::chrono::seconds grace);

  OwnerThread owner_;
  SupervisorOptions options_;
  SupervisorEvents events_;
  NotifySocket notify_;
  UniqueFd signals_;       // signalfd
  UniqueFd ready_pipe_;    // the gateway writes its addresses there
  UniqueFd ready_writer_;  // its end, until it has that
  std::string ready_text_;
  GatewayReady gateway_ready_;          // of the running gateway; no URLs: not ready yet
  std::vector<std::string> listen_;     // what the next gateway is told
  std::string door_;                    // the same
  std::vector<std::string> announced_;  // addresses that gateway.json has
  HealthProbe health_;
  MonotonicTime last_round_;
  int stop_requests_ = 0;
  Child gateway_;
  Child executor_;
};

/// "127.0.0.1:41523" from "http://127.0.0.1:41523", to listen there again.
[[nodiscard]] std::string listen_address_of(const std::string& url);

}  // namespace orchid::cli
