#include "foundation/packet_room.h"

#include <doctest/doctest.h>

#include <string>

#include "foundation/sockets.h"

namespace orchid {

TEST_CASE("a packet comes whole, or there is no room for it, or nobody who takes it") {
  auto [here, there] = make_packet_pair().value();
  CHECK(try_send_packet(here.get(), "head", "bytes").value());
  CHECK(receive_packet(there.get(), true).value()->text == "headbytes");
  const std::string large(64 * 1024, 'x');
  int sent = 0;
  while (try_send_packet(here.get(), "head", large).value()) ++sent;
  CHECK(sent > 0);
  for (int i = 0; i < sent; ++i)
    CHECK(receive_packet(there.get(), true).value()->text.size() == 4 + large.size());
  CHECK(try_send_packet(here.get(), "again").value());
  CHECK(try_send_packet(here.get(), large, large + "x").error().code == ErrorCode::too_large);
  there.reset();
  CHECK(try_send_packet(here.get(), "nobody").error().code == ErrorCode::unreachable);
}

}  // namespace orchid
