#include "leases/host_claims.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "foundation/random.h"
#include "leases/lease_table.h"

namespace orchid::executor {
namespace {

using std::chrono_literals::operator""h;

OpenLease request(std::uint64_t number, CoreList cores, CoreList gpus = {}) {
  OpenLease open{.lease = {1, number}, .secret = "s", .tenant = {1000, "ada"}};
  open.workers = static_cast<std::uint32_t>(cores.size());
  open.core_ids = std::move(cores);
  open.gpus = std::move(gpus);
  return open;
}

/// Of one gateway and one host.
struct TwoExecutors {
  TwoExecutors() {
    const std::string gateway = random_hex(8);
    for (SocketClaims* claims : {&mine, &others}) claims->belong_to(gateway, "host");
  }
  SocketClaims mine;
  SocketClaims others;
};

}  // namespace

TEST_CASE("what one executor of a gateway has no other one takes, until it is left") {
  const std::string gateway = random_hex(8);
  SocketClaims one;
  SocketClaims other;
  one.belong_to(gateway, "host");
  other.belong_to(gateway, "host");
  CHECK(one.take(HostPart::core, 3));
  CHECK_FALSE(other.take(HostPart::core, 3));
  CHECK(other.take(HostPart::gpu, 3));
  CHECK(other.take(HostPart::core, 4));
  one.leave(HostPart::core, 3);
  CHECK(other.take(HostPart::core, 3));

  SocketClaims stranger;  // of another gateway
  stranger.belong_to(random_hex(8), "host");
  CHECK(stranger.take(HostPart::core, 3));
  SocketClaims elsewhere;  // another host, as far as the batch system is concerned
  elsewhere.belong_to(gateway, "host/n2");
  CHECK(elsewhere.take(HostPart::core, 3));
  SocketClaims old;  // whose gateway does not say who it is
  CHECK(old.take(HostPart::core, 3));
}

TEST_CASE("what an executor has that was killed is free") {
  const std::string gateway = random_hex(8);
  std::array<int, 2> ready{};
  REQUIRE(::pipe(ready.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    SocketClaims claims;
    ::alarm(30);  // whatever becomes of the test
    claims.belong_to(gateway, "host");
    const char taken = claims.take(HostPart::core, 0) ? 'y' : 'n';
    if (::write(ready[1], &taken, 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  ::close(ready[1]);
  char taken = 0;
  REQUIRE(::read(ready[0], &taken, 1) == 1);
  CHECK(taken == 'y');
  SocketClaims claims;
  claims.belong_to(gateway, "host");
  CHECK_FALSE(claims.take(HostPart::core, 0));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(claims.take(HostPart::core, 0));
  ::close(ready[0]);
}

TEST_CASE(
    "a lease on cores that another executor has is refused, and they are not offered meanwhile") {
  TwoExecutors host;
  const MonotonicTime now{1h};
  LeaseTable table(first_numbers(4), {0, 1}, &host.mine);
  LeaseTable other(first_numbers(2), {0}, &host.others);
  REQUIRE(other.open(request(1, {1}, {0}), now).has_value());

  CHECK(table.open(request(2, {0}, {0}), now).error().code == ErrorCode::no_capacity);  // the GPU
  REQUIRE(other.open(request(3, {0}), now).has_value());  // and the core was left
  const auto refused = table.open(request(4, {0, 1, 2}), now);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::no_capacity);
  CHECK(refused.error().message.find("cores 0-1") != std::string::npos);
  CHECK(table.usable_cores() == CoreList{2, 3});
  CHECK(table.cores_free() == 2);
  CHECK_FALSE(table.look_at_others());
  REQUIRE(table.open(request(5, {2}), now).has_value());  // it was not kept

  CHECK(other.close({1, 3}));
  CHECK(table.look_at_others());
  CHECK(table.usable_cores() == CoreList{0, 2, 3});
  CHECK(other.close({1, 1}));
  REQUIRE(table.open(request(6, {1}), now).has_value());  // before anybody has looked
  CHECK(table.usable_cores() == first_numbers(4));
  CHECK_FALSE(table.look_at_others());
}

TEST_CASE("a GPU is another executor's when its lease is over and no process of it is left") {
  TwoExecutors host;
  const MonotonicTime now{1h};
  LeaseTable table(first_numbers(4), {0, 1}, &host.mine);
  LeaseTable other(first_numbers(4), {0, 1}, &host.others);
  REQUIRE(table.open(request(1, {0}, {0, 1}), now).has_value());
  CHECK(table.close({1, 1}));
  CHECK(other.open(request(2, {0}, {0}), now).error().code == ErrorCode::no_capacity);
  REQUIRE(table.open(request(3, {0}, {0}), now).has_value());  // its own next lease
  table.vacated({1, 1});
  REQUIRE(other.open(request(4, {1}, {1}), now).has_value());
  CHECK(other.open(request(5, {2}, {0}), now).error().code == ErrorCode::no_capacity);
  CHECK(table.close({1, 3}));
  table.vacated({1, 3});
  CHECK(other.open(request(6, {2}, {0}), now).has_value());
}

}  // namespace orchid::executor
