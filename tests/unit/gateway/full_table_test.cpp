// What the gateway keeps beside it, when no descriptor is left: it is tried again, and nothing
// ends.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "companions/kept_process.h"
#include "foundation/clock.h"
#include "foundation/duplicate.h"
#include "inspector/inspector.h"

namespace orchid::gateway {
namespace {

/// As many more descriptors as it says.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t more) {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const auto free = duplicate(STDIN_FILENO);
    REQUIRE(free.has_value());
    const rlimit less{.rlim_cur = static_cast<rlim_t>(free->get()) + more,
                      .rlim_max = before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &less) == 0);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;
  ~FewDescriptors() { (void)::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

constexpr rlim_t enough = 24;  // for one start, with all that is closed again

}  // namespace

TEST_CASE("a kept process starts, or is tried later, however few descriptors are left") {
  for (rlim_t more = 0; more < enough; ++more) {
    boost::asio::io_context io;
    KeptProcess kept(io, {.name = "companion", .program = "/bin/cat", .arguments = {}});
    const FewDescriptors few(more);
    CHECK_NOTHROW(kept.start());
    CHECK(kept.is_wanted());
    kept.stop();
  }
}

TEST_CASE("the inspector starts, or is tried later, however few descriptors are left") {
  const SystemClock clock;
  bool was_up = false;
  for (rlim_t more = 0; more < enough; ++more) {
    boost::asio::io_context io;
    Inspector inspector(io, clock, {.compiler = "/bin/cat"});
    const FewDescriptors few(more);
    CHECK_NOTHROW(inspector.start());
    CHECK_FALSE((was_up && !inspector.is_up()));
    was_up = inspector.is_up();
    inspector.stop();
  }
  CHECK(was_up);
}

}  // namespace orchid::gateway
