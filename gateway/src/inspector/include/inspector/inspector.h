// inspector/inspector.h: reads modules in an orchid-compiler that the gateway starts, watches and
// replaces.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "foundation/clock.h"
#include "foundation/metrics_text.h"
#include "foundation/owner_thread.h"
#include "foundation/unique_fd.h"
#include "functions/module_inspector.h"
#include "processes/child_process.h"
#include "processes/restart_policy.h"
#include "protocol/compiler_messages.h"

namespace orchid::gateway {

/// Owned by the control thread, whose io_context it is given. A request whose server dies or does
/// not answer in time is sent once more, to a new server.
class Inspector final : public ModuleInspector {
 public:
  struct Options {
    std::filesystem::path compiler;  // the program
    std::chrono::milliseconds answer_within{15'000};
    std::size_t at_once = 4;         // requests in the server; others wait here
    std::size_t at_once_of_one = 3;  // of one tenant: slow ones of his leave a place for others
    std::size_t most_waiting = 64;   // of one tenant; more are refused
  };
  Inspector(boost::asio::io_context& control, const Clock& clock, Options options);
  ~Inspector() override;
  Inspector(const Inspector&) = delete;
  Inspector& operator=(const Inspector&) = delete;

  /// On the control thread, first.
  void start();
  /// Ends the server; requests that wait are dropped.
  void stop();
  void inspect(uid_t tenant, std::shared_ptr<const UniqueFd> module, Done done) override;
  [[nodiscard]] bool is_up() const override { return server_.has_value() && ends_.ends() == 0; }
  void add_metrics(MetricsText& text) const;

 private:
  struct Request {
    uid_t tenant;
    std::shared_ptr<const UniqueFd> module;  // shared with whoever deploys it
    Done done;
    unsigned attempts = 0;
    MonotonicTime due;
  };
  struct Server {
    processes::ChildProcess process;
    boost::asio::posix::stream_descriptor socket;
    boost::asio::posix::stream_descriptor end;  // of the process: its pidfd
  };
  [[nodiscard]] Result<boost::asio::posix::stream_descriptor> watched(UniqueFd descriptor);
  [[nodiscard]] Result<void> start_server();
  void launch();
  void end_server();
  void server_lost(const std::string& why);
  void watch_socket();
  void watch_process();
  void receive();
  void answered(std::uint64_t id, Result<module::Manifest> result);
  void send_waiting();
  [[nodiscard]] std::optional<Request> take_next();
  void tick();

  boost::asio::io_context& control_;
  const Clock& clock_;
  Options options_;
  OwnerThread owner_;
  boost::asio::steady_timer timer_;
  std::optional<Server> server_;
  std::uint64_t server_number_ = 0;  // callbacks of earlier servers are ignored
  std::map<std::uint64_t, Request> sent_;
  std::deque<Request> waiting_;
  std::uint64_t next_id_ = 1;
  std::uint64_t restarts_ = 0;
  /// Of servers, since one has last answered. One that always dies at once is not started in a
  /// tight loop.
  processes::Restarts ends_{{.at_once = 3}};
  std::uint64_t failed_starts_ = 0;  // in a row
  MonotonicTime start_again_{};
  bool stopped_ = false;
};

}  // namespace orchid::gateway
