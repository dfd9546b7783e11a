#include "crew/crew_connection.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include "fabric/ucx_context.h"
#include "foundation/tcp.h"
#include "protocol/crew.h"

namespace orchid::sdk {
namespace {

/// Members have as long from when they are told.
constexpr std::chrono::seconds wiring_patience{10};

}  // namespace

CrewConnection::CrewConnection(std::vector<transport::CrewMesh::Peer> peers,
                               std::function<void()> over)
    : peers_(std::move(peers)), over_(std::move(over)), stop_(::eventfd(0, EFD_CLOEXEC)) {
  if (!stop_) {
    end(fail_errno("eventfd"));
    return;
  }
  try {
    thread_ = std::thread([this] { end(connect()); });
  } catch (const std::system_error& error) {
    end(fail(ErrorCode::system, std::string("no thread to connect a crew: ") + error.what()));
  }
}

CrewConnection::~CrewConnection() {
  stop();
  if (thread_.joinable()) thread_.join();
}

void CrewConnection::end(Mesh made) {
  made_.emplace(std::move(made));
  is_over_.store(true, std::memory_order_release);
  over_();
}

void CrewConnection::stop() {
  constexpr std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stop_.get(), &one, sizeof(one));
}

std::optional<CrewConnection::Mesh> CrewConnection::take() {
  if (!is_over_.load(std::memory_order_acquire)) return std::nullopt;
  return std::exchange(made_, std::nullopt);
}

CrewConnection::Mesh CrewConnection::connect() const {
  auto context =
      shared_ucx_context(transport::Fabric::tcp, local_host_towards(peers_.front().address));
  if (!context) return std::unexpected(std::move(context.error()));
  return transport::CrewMesh::wire(**context, nullptr,
                                   {.member = crew::client_member,
                                    .peers = peers_,
                                    .deadline = std::chrono::steady_clock::now() + wiring_patience,
                                    .stop = stop_.get()});
}

}  // namespace orchid::sdk
