#include "device/messages.h"

#include <doctest/doctest.h>

#include <string>

using namespace orchid;
using namespace orchid::executor;

TEST_CASE("each message between agent and device process survives the way through text") {
  const DeviceMessage messages[] = {
      DeviceStart{.gpu = "GPU-1", .data_limit = 7},
      ServeLane{
          .lane = 1, .memory_limit = 2, .call_request_bytes = 4096, .call_response_bytes = 8192},
      LoadKernels{.lane = 1, .module = 3, .generation = 4},
      StopCall{.lane = 1, .call = 18446744073709551615U},
      EndLane{.lane = 1},
      DeviceReady{.driver = "CUDA 12.4",
                  .model = "card",
                  .uuid = "GPU-1",
                  .architecture = "sm_80",
                  .memory = 1,
                  .multiprocessors = 2,
                  .start_us = 3},
      DeviceEnded{.fault = DeviceFault::lost, .message = "\"words\" \xff"},
      KernelsLoaded{.lane = 1, .module = 3, .generation = 4, .load_us = 5},
      KernelsRefused{.lane = 1, .module = 3, .generation = 4, .message = "ptxas: line 3"},
      DeviceLaneEnded{.lane = 1, .end = DeviceLaneEnd::worker, .message = "nonsense"},
      DeviceUsage{.lane = 1,
                  .call = 2,
                  .memory = 3,
                  .peak_memory = 4,
                  .pinned = 5,
                  .kernel_us = 6,
                  .launches = 7,
                  .sub_ranges = 8,
                  .long_sub_ranges = 9}};
  for (const DeviceMessage& message : messages) {
    const auto read = parse_device_message(encode(message));
    REQUIRE_MESSAGE(read.has_value(), read.error().message);
    CHECK(read->index() == message.index());
    CHECK(encode(*read) == encode(message));
  }
}

TEST_CASE("a message of agent or device process that does not fit is refused with its fault") {
  const auto message = [](const char* text) {
    const auto read = parse_device_message(text);
    REQUIRE_FALSE(read.has_value());
    return read.error().message;
  };
  CHECK(message(R"({"type":"end_lane"})").find("lane") != std::string::npos);
  CHECK(message(R"({"type":"end_lane","lane":0})").find("lane") != std::string::npos);
  CHECK(message(R"({"type":"ended","fault":"tired","message":""})").find("fault") !=
        std::string::npos);
  CHECK(message(R"({"type":"lane_ended","lane":1,"end":"never","message":""})").find("end") !=
        std::string::npos);
  CHECK(message(R"({"type":"dance"})").find("dance") != std::string::npos);
  CHECK(message("[]").find("must be a JSON object") != std::string::npos);
}

TEST_CASE("each end of a lane has a name of its own") {
  for (const auto end : {DeviceLaneEnd::asked, DeviceLaneEnd::worker, DeviceLaneEnd::system})
    CHECK(parse_device_lane_end(to_string(end)) == end);
  CHECK_FALSE(parse_device_lane_end("never").has_value());
}

TEST_CASE("each fault of a device has a name of its own") {
  for (const auto fault : {DeviceFault::no_driver, DeviceFault::old_driver, DeviceFault::no_device,
                           DeviceFault::refused, DeviceFault::crashed, DeviceFault::lost})
    CHECK(parse_device_fault(to_string(fault)) == fault);
  CHECK_FALSE(parse_device_fault("tired").has_value());
}
