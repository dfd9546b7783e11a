#include <doctest/doctest.h>

#include <cstring>

#include "workers/worker_process.h"

namespace orchid::executor {

TEST_CASE("what is written into a worker's lane counts until it is given back") {
  auto lane = transport::make_lane({4_MiB, 4_MiB}).value();
  auto client = transport::LocalLaneClient::attach(transport::duplicate(lane).value()).value();
  const WorkerProcess worker(1, StatusPageMapping::create().value(), std::move(lane), 1_GiB);
  const auto before = worker.lane_memory();
  CHECK(before < 1_MiB);
  const auto room = client.allocate(3 << 20).value();
  std::memset(room.data(), 1, room.size());
  CHECK(worker.lane_memory().value >= before.value + room.size());
  client.abandon(room);
  client.trim();
  CHECK(worker.lane_memory() < 2_MiB);
}

}  // namespace orchid::executor
