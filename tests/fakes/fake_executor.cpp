#include "fake_executor.h"

#include <poll.h>
#include <sys/socket.h>

#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include "foundation/sockets.h"
#include "transport/local_lane.h"

namespace orchid::tests {
namespace {

constexpr int look_interval_ms = 1;

template <typename T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace

struct FakeExecutor::Connection {
  UniqueFd socket;
  std::unique_ptr<transport::LocalLaneWorker> worker;
  std::optional<transport::LaneRequest> taken;  // and not answered
  std::uint32_t generation = 1;
};

FakeExecutor::FakeExecutor() {
  std::string pattern = "/tmp/orchid-fake-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
  directory_ = pattern;
  path_ = directory_ / "lanes.sock";
  listener_ = must(listen_packets(path_));
  thread_ = std::thread([this] { serve(); });
}

FakeExecutor::~FakeExecutor() {
  ends_ = true;
  thread_.join();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void FakeExecutor::revoke(const std::string& why) {
  revocation_ = why;
  revokes_ = true;
}

void FakeExecutor::hang_up() {
  hangs_up_ = true;
  hangs_up_.wait(true);
}

void FakeExecutor::serve() {
  while (!ends_) {
    pollfd wait{listener_.get(), POLLIN, 0};
    if (::poll(&wait, 1, look_interval_ms) == 1) {
      auto connection = std::make_unique<Connection>();
      connection->socket = UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      connections_.push_back(std::move(connection));
    }
    if (revokes_.exchange(false))
      for (const auto& connection : connections_)
        (void)send_packet(connection->socket.get(),
                          encode(LaneRefused{ErrorCode::lease_ended, revocation_}));
    if (hangs_up_) {
      connections_.clear();
      hangs_up_ = false;
      hangs_up_.notify_all();
    }
    for (const auto& connection : connections_) {
      obey(*connection);
      work(*connection);
    }
  }
  connections_.clear();
}

void FakeExecutor::obey(Connection& connection) {
  while (true) {
    auto packet = receive_packet(connection.socket.get(), false);
    if (!packet || !*packet) return;
    const LaneMessage message = must(parse_lane_message((*packet)->text));
    if (std::holds_alternative<LaneClaim>(message)) {
      give_worker(connection);
    } else if (const auto* announced = std::get_if<LaneAnnounce>(&message)) {
      time_left_ms_ = announced->time_left ? announced->time_left->count() : -1;
      ++announcements_;
      if (compiles_)
        (void)send_packet(connection.socket.get(), encode(LaneCompiling{announced->digest}));
      else
        (void)send_packet(connection.socket.get(),
                          encode(LaneSlot{.digest = announced->digest,
                                          .generation = connection.generation,
                                          .entries = {"e"}}));
    } else if (const auto* wanted = std::get_if<LaneAttach>(&message)) {
      attach(connection, *wanted);
    } else if (std::holds_alternative<LaneReplace>(message)) {
      ++replacements_;
      (void)send_packet(connection.socket.get(), encode(LaneEnded{.message = "replaced"}));
      give_worker(connection);
    }
  }
}

void FakeExecutor::attach(const Connection& connection, const LaneAttach& wanted) {
  attachments_ += static_cast<unsigned>(wanted.data.size());
  if (!attaches_) return;
  for (const DataId& data : wanted.data) {
    const LaneNotAttached refused{data, static_cast<ErrorCode>(data_refusal_.load()), "not here"};
    (void)send_packet(connection.socket.get(), data_refusal_ < 0
                                                   ? encode(LaneAttached{data, ByteCount{8}})
                                                   : encode(refused));
  }
}

void FakeExecutor::give_worker(Connection& connection) {
  auto lane = must(transport::make_lane({1_MiB, 1_MiB}));
  connection.taken.reset();
  connection.worker = std::make_unique<transport::LocalLaneWorker>(
      must(transport::LocalLaneWorker::attach(must(transport::duplicate(lane)))));
  (void)send_packet(
      connection.socket.get(),
      encode(LaneClaimed{
          .worker = 1, .generation = 1, .request_bytes = 1_MiB, .response_bytes = 1_MiB}),
      {lane.memory.get(), lane.wake_worker.get(), lane.wake_client.get()});
}

void FakeExecutor::work(Connection& connection) {
  if (connection.worker == nullptr) return;
  while (true) {
    if (!connection.taken) {
      auto received = connection.worker->receive();
      if (!received || !*received) return;
      connection.taken = **received;
    }
    if (!answers_) return;
    const transport::LaneRequest request = *std::exchange(connection.taken, std::nullopt);
    if (forgets_.exchange(false)) ++connection.generation;
    const auto kind = static_cast<RequestKind>(request.header.kind);
    if (kind == RequestKind::call && request.header.generation != connection.generation) {
      must(connection.worker->answer({.kind = ResponseKind::need_code}));
      continue;
    }
    if (unmaps_ > 0) {
      --unmaps_;
      must(connection.worker->answer({.kind = ResponseKind::need_data}));
      continue;
    }
    const auto input = request.input;
    std::byte* room = connection.worker->output(input.size());
    if (!input.empty()) std::memcpy(room, input.data(), input.size());
    must(connection.worker->answer({.kind = kind_}));
    ++calls_answered_;
  }
}

}  // namespace orchid::tests
