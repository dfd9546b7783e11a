#include "hosts/executor_messages.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace orchid::gateway {
namespace {

TEST_CASE("a message of an executor goes to who hears its type, and to nobody else") {
  ExecutorMessages messages;
  std::vector<std::string> heard;
  messages.on<LeaseOpened>([&](const ExecutorId& executor, const LeaseOpened& opened) {
    heard.push_back(executor.value() + " opened " + std::to_string(opened.lease.number));
  });
  messages.on<CapacityReport>([&](const ExecutorId& executor, const CapacityReport& report) {
    heard.push_back(executor.value() + " has " + std::to_string(report.cores_free) + " free");
  });
  messages.deliver(ExecutorId("e1"), LeaseOpened{.lease = {.epoch = 1, .number = 7}, .workers = 1});
  messages.deliver(ExecutorId("e2"), CapacityReport{.cores_free = 3});
  CHECK(heard == std::vector<std::string>{"e1 opened 7", "e2 has 3 free"});
}

TEST_CASE("a message that nobody hears is dropped") {
  ExecutorMessages messages;
  bool heard = false;
  messages.on<LeaseOpened>([&](const ExecutorId&, const LeaseOpened&) { heard = true; });
  messages.deliver(ExecutorId("e1"), GrantChanged{.cores = {1}});
  CHECK_FALSE(heard);
}

}  // namespace
}  // namespace orchid::gateway
