#include "ucx/library.h"

#include <array>

#include "ucx/link.h"
#include "ucx_lane_fixture.h"

namespace orchid::transport {
namespace {

using namespace tests;

}  // namespace

TEST_CASE("a worker of UCX that fewer threads may use than were asked for is refused") {
  const std::array modes{UCS_THREAD_MODE_SINGLE, UCS_THREAD_MODE_SERIALIZED, UCS_THREAD_MODE_MULTI};
  for (std::size_t asked = 0; asked < modes.size(); ++asked)
    for (std::size_t granted = 0; granted < modes.size(); ++granted) {
      const auto checked = check_thread_mode(modes[asked], modes[granted]);
      CHECK(checked.has_value() == (granted >= asked));
      if (checked) continue;
      CHECK(checked.error().code == ErrorCode::unsupported);
      CHECK(checked.error().message.find("--enable-mt") != std::string::npos);
    }
}

TEST_CASE("the UCX worker of a lane may be used by one thread after another") {
  const auto link = UcxLink::create(context(), random_key());
  REQUIRE_MESSAGE(link.has_value(), link.error().message);
  CHECK((*link)->thread_mode().value() >= UCS_THREAD_MODE_SERIALIZED);
}

}  // namespace orchid::transport
