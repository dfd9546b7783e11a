// executor/executor_at_gate.h: the program orchid-executor, with this test in the gateway's place:
// the gateway's own gate at a Unix socket, and whatever comes through it kept.
#pragma once
#include <doctest/doctest.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hosts/executor_gate.h"
#include "hosts/executor_messages.h"
#include "local_executor.h"
#include "processes/child_process.h"

namespace orchid::tests {

/// Owned by the test's thread, on which everything happens. The executor ends with it.
class ExecutorAtGate final : public gateway::ExecutorEvents {
 public:
  ExecutorAtGate() {
    hear_all(static_cast<ControlMessage*>(nullptr));
    open_gate();
    accept();
  }
  ExecutorAtGate(const ExecutorAtGate&) = delete;
  ExecutorAtGate& operator=(const ExecutorAtGate&) = delete;
  ~ExecutorAtGate() override { gate_->stop(); }

  /// `log`: where it writes what it has to say; -1: where we do.
  void start_executor(const std::vector<std::string>& flags, int log = -1) {
    executor_.reset();
    std::vector<std::string> words{"--gateway", "unix:" + socket_path(),
                                   "--runtime", (directory_.path() / "run").string(),
                                   "--state",   (directory_.path() / "state").string()};
    words.insert(words.end(), flags.begin(), flags.end());
    std::vector<processes::PassedDescriptor> descriptors;
    if (log >= 0) descriptors.push_back({.from = log, .as = STDERR_FILENO});
    executor_ = processes::ChildProcess::start({.program = PROGRAMS "/orchid-executor",
                                                .arguments = words,
                                                .descriptors = descriptors})
                    .value();
  }
  [[nodiscard]] processes::ChildProcess& executor() { return *executor_; }
  /// Another gateway, which has never heard of anybody.
  void restart_gateway() {
    gate_->stop();
    open_gate();
  }
  /// What the executor says when it comes, next.
  ControlHello await_hello() {
    await([this] { return hello_.has_value(); });
    return *std::exchange(hello_, std::nullopt);
  }
  void send(ControlMessage message) { gate_->send(id_, std::move(message)); }
  /// The next message of that type; others are passed over.
  template <typename Message>
  Message await_message() {
    std::optional<Message> found;
    await([&] {
      while (!said_.empty() && !found) {
        if (const auto* message = std::get_if<Message>(&said_.front())) found = *message;
        said_.erase(said_.begin());
      }
      return found.has_value();
    });
    return *found;
  }
  template <typename Condition>
  void await(Condition condition) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
      REQUIRE(std::chrono::steady_clock::now() < give_up);
      io_.restart();
      io_.run_one_for(std::chrono::milliseconds(50));
    }
  }

  void executor_joined(const ControlHello& hello, const gateway::PeerIdentity&) override {
    hello_ = hello;
    id_ = gateway::ExecutorId(hello.executor);
  }
  void executor_resumed(const gateway::ExecutorId&) override {}
  void executor_lost(const gateway::ExecutorId&) override {}

 private:
  using Protocol = boost::asio::local::stream_protocol;
  struct Arrival {
    Protocol::socket socket;
    boost::beast::flat_buffer buffer;
    gateway::UpgradeRequest request;
  };
  [[nodiscard]] std::string socket_path() const { return directory_.path() / "gateway.sock"; }

  template <typename... Message>
  void hear_all(std::variant<Message...>*) {
    (messages_.on<Message>(
         [this](const gateway::ExecutorId&, const Message& said) { said_.emplace_back(said); }),
     ...);
  }
  void open_gate() {
    gate_ = std::make_unique<gateway::ExecutorGate>(io_, "f00d", ++epoch_, *this, messages_);
  }
  void accept() {
    acceptor_.async_accept([this](boost::system::error_code error, Protocol::socket socket) {
      if (error) return;
      auto arrival = std::make_shared<Arrival>(Arrival{std::move(socket), {}, {}});
      boost::beast::http::async_read(
          arrival->socket, arrival->buffer, arrival->request,
          [this, arrival](boost::system::error_code failure, std::size_t) {
            if (!failure)
              gate_->accept(UniqueFd(arrival->socket.release()), std::move(arrival->request),
                            {.tenant = {::geteuid(), "test"}, .peer_uid = ::geteuid()});
          });
      accept();
    });
  }

  TemporaryDirectory directory_;
  boost::asio::io_context io_;
  Protocol::acceptor acceptor_{io_, Protocol::endpoint(socket_path())};
  gateway::ExecutorMessages messages_;
  std::uint64_t epoch_ = 0;
  std::optional<ControlHello> hello_;
  gateway::ExecutorId id_;
  std::vector<ControlMessage> said_;
  std::unique_ptr<gateway::ExecutorGate> gate_;
  std::optional<processes::ChildProcess> executor_;
};

}  // namespace orchid::tests
