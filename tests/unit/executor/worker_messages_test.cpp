#include "worker/messages.h"

#include <doctest/doctest.h>

namespace orchid::executor {

TEST_CASE("each message survives its text") {
  const std::vector<WorkerMessage> messages{
      Birth{.worker = 7,
            .data_limit = 1,
            .request_bytes = 2,
            .response_bytes = 3,
            .core = 4,
            .readable_paths = {"/a"}},
      Birth{.worker = 8,
            .readable_paths = {},
            .remote = RemoteLane{.address = "192.0.2.7", .key = "00", .trusted_fabric = true},
            .device_lane = true},
      Birth{.worker = 9, .readable_paths = {}, .crew = CrewPlace{.member = 3, .members = 64}},
      FabricFound{true, "UCX_TLS=rc,tcp,self", true},
      Born{7, 99},
      BirthFailed{7, "no"},
      ZygoteReady{},
      Proceed{},
      CrewWiring{},
      Birth{.worker = 9,
            .readable_paths = {},
            .crew = CrewPlace{.member = 3, .members = 64, .near = {0, 3, 4}}},
      WireCrew{{{2, "192.0.2.7:9", "00"}, {}}},
      CrewLost{"member 2 has gone"},
      WorkerReady{},
      WorkerUnfit{"why"},
      Assign{5},
      Load{1, 2, true, true, true, "sha256:00"},
      Improve{1, 2},
      Improved{1, "why"},
      Unload{1},
      Retire{"why"},
      Loaded{1, 2, {"a", "b"}, 3},
      LoadFailed{1, "bad \xff byte"},
      MapData{make_data_id(), 1ULL << 40},
      UnmapData{make_data_id()},
      DataMapped{make_data_id()},
      DataNotMapped{make_data_id(), "why"},
      DataUnmapped{make_data_id()}};
  for (const WorkerMessage& message : messages) {
    const auto again = parse_worker_message(encode(message));
    REQUIRE(again.has_value());
    CHECK(again->index() == message.index());
    CHECK(encode(*again) == encode(message));
  }
}

TEST_CASE("what is no message is refused") {
  for (const char* text : {"", "{", "[]", "{}", R"({"type":"unknown"})", R"({"type":"load"})",
                           R"({"type":"map_data","data":"d-1","bytes":1})",
                           R"({"type":"load","slot":"x","generation":1})"})
    CHECK(parse_worker_message(text).error().code == ErrorCode::bad_request);
}

}  // namespace orchid::executor
