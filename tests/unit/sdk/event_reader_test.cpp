#include "api/event_reader.h"

#include <doctest/doctest.h>

#include <vector>

#include "foundation/files.h"

namespace orchid::sdk {

TEST_CASE("events are read whole, however their bytes are cut") {
  const std::string text =
      ": still here\n\nevent: node\nid: 7\ndata: {\"a\":1}\n\n"
      "event: text\ndata: one\ndata: two\n\nevent: half\ndata: never";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    CAPTURE(step);
    std::vector<ServerEvent> events;
    EventReader reader([&](const ServerEvent& event) { events.push_back(event); });
    for (std::size_t at = 0; at < text.size(); at += step)
      reader.add(as_bytes(std::string_view(text).substr(at, step)));
    REQUIRE(events.size() == 2);
    CHECK(events[0].name == "node");
    CHECK(events[0].id == "7");
    CHECK(events[0].data == "{\"a\":1}");
    CHECK(events[1].name == "text");
    CHECK(events[1].id.empty());
    CHECK(events[1].data == "one\ntwo");
  }
}

}  // namespace orchid::sdk
