#include "transport/ucx_lane.h"

#include "ucx_lane_fixture.h"

namespace orchid::transport {
namespace {

using namespace tests;

}  // namespace

TEST_CASE("a call carries its header and its bytes both ways, whatever their size") {
  for (const std::size_t size : {0UL, 1UL, 8UL, 64UL, 65UL, 1024UL, 4096UL, 6144UL, 6145UL,
                                 100'000UL, 1UL << 20, 64UL << 20}) {
    CAPTURE(size);
    Lane lane = make({80_MiB, 80_MiB});
    const auto input = pattern(size, 1);
    const auto id = send(lane.client, input);
    CHECK(id == 1);
    const auto request = next_call(lane);
    REQUIRE(request.has_value());
    CHECK(request->header.slot == 3);
    CHECK(request->header.generation == 7);
    CHECK(request->header.entry == 1);
    CHECK(request->header.deadline_ns == 5'000'000'000);
    CHECK(same(request->input, input));
    if (size != 0) std::memcpy(lane.worker.output(size), request->input.data(), size);
    REQUIRE(lane.worker.answer({.run_time = 42ns}).has_value());
    const auto response = next_answer(lane);
    REQUIRE(response.has_value());
    CHECK(response->request_id == id);
    CHECK(response->outcome == Outcome::ok);
    CHECK(response->run_time == 42ns);
    CHECK(same(response->payload, input));
    lane.client.release(*response);
    CHECK(lane.client.in_flight() == 0);
  }
}

}  // namespace orchid::transport
