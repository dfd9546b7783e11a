// A client that tells its members of others where there are none.
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "foundation/tcp.h"
#include "lane_relay.h"
#include "readiness.h"
#include "spread_fixture.h"

namespace orchid::tests {
namespace {

/// The first executor's members hear of those at the second one from a client that lies.
struct LiarFixture : SpreadFixture {
  [[nodiscard]] Crew take_told(std::string lie, unsigned times) {
    {
      const std::lock_guard lock(mutex);
      address = std::move(lie);
      lies = times;
    }
    return take({.workers = 4, .within = seconds(60)}, false, relay.path());
  }

  std::mutex mutex;
  std::string address;                 // guarded by mutex
  unsigned lies = 0;                   // likewise; of that address
  bool is_old = false;                 // likewise; it claims as it was done before
  std::optional<LaneRefused> refusal;  // likewise
  LaneRelay relay{first.lane_socket(), [this](LaneMessage& message, std::vector<UniqueFd>&) {
                    const std::lock_guard lock(mutex);
                    if (auto* wire = std::get_if<LaneWire>(&message); wire && lies > 0) {
                      for (LanePeer& peer : wire->peers)
                        if (peer.member > 2) peer.address = address;
                      --lies;
                    }
                    if (auto* claim = std::get_if<LaneClaim>(&message); claim && is_old)
                      claim->protocol = spread_crew_lane_protocol - 1;
                    if (const auto* refused = std::get_if<LaneRefused>(&message))
                      refusal = *refused;
                    return LaneRelay::Verdict::passes;
                  }};
};

/// What somebody says who connects, until he hangs up; after the first words he is told nonsense.
std::vector<std::byte> hear_caller(int listener) {
  REQUIRE(is_ready(listener, POLLIN, seconds(30)));
  const UniqueFd caller(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  REQUIRE(caller);
  std::vector<std::byte> heard;
  std::array<std::byte, 4096> bytes{};
  for (bool first = true;; first = false) {
    REQUIRE(is_ready(caller.get(), POLLIN, seconds(30)));
    const ssize_t got = ::recv(caller.get(), bytes.data(), bytes.size(), 0);
    if (got <= 0) return heard;
    heard.insert(heard.end(), bytes.begin(), bytes.begin() + got);
    const std::array<std::byte, 64> nonsense{};
    if (first) (void)::send(caller.get(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL);
  }
}

}  // namespace

TEST_CASE_FIXTURE(LiarFixture, "a service that members are sent to hears a hello and no more") {
  auto service = listen_tcp("127.0.0.1:0");
  REQUIRE(service.has_value());
  auto heard = std::async(std::launch::async, hear_caller, service->socket.get());
  Crew crew = take_told(service->address, 1);
  const Walk walk{.left = 9, .stride = 1};
  CHECK(walk_of(CrewFixture::entry(crew, "walk").invoke(1, bytes_of(walk))).sum ==
        sum_of(walk, 1, 4));
  CHECK(heard.get().size() == 32);
}

TEST_CASE_FIXTURE(LiarFixture, "an executor sends no member to where none can be") {
  const Error told = error_of([&] {
    Crew crew = take_told("127.0.0.1:22", 1000);
    (void)CrewFixture::entry(crew, "walk").invoke(1, bytes_of({.left = 9, .stride = 1}));
  });
  CHECK(told.message().find("no member of a crew listens at '127.0.0.1:22'") != std::string::npos);
  const std::lock_guard lock(mutex);
  REQUIRE(refusal.has_value());
  CHECK(refusal->code == ErrorCode::bad_request);
}

TEST_CASE_FIXTURE(LiarFixture, "a client that asks for the old hello is refused") {
  {
    const std::lock_guard lock(mutex);
    is_old = true;
  }
  const Error told = error_of([&] {
    Crew crew = take_told({}, 0);
    (void)CrewFixture::entry(crew, "walk").invoke(1, bytes_of({.left = 9, .stride = 1}));
  });
  CHECK(told.message().find("lane protocol 4 is not spoken any more") != std::string::npos);
  const std::lock_guard lock(mutex);
  REQUIRE(refusal.has_value());
  CHECK(refusal->code == ErrorCode::unsupported);
}

}  // namespace orchid::tests
