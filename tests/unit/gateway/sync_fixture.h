// sync_fixture.h: the synchronous calls of one HTTP thread, with the asynchronous ones that they
// become.
#pragma once
#include "gateway_fakes.h"
#include "invocations/sync_calls.h"

namespace orchid::gateway {

struct SyncFixture {
  SyncFixture() : store(open_store(directory.path())) {}
  static std::unique_ptr<Store> open_store(const std::filesystem::path& path) {
    auto store = Store::open(path).value();
    store->start();
    return store;
  }
  std::uint64_t start(std::chrono::seconds wait = std::chrono::seconds(30)) {
    auto started = calls.start({.tenant = 1,
                                .version = version,
                                .entry = 0,
                                .input = {},
                                .deadline = clock.now() + std::chrono::seconds(60),
                                .wait_until = clock.now() + wait,
                                .at_most_once = false},
                               [this](SyncAnswer answer) { answers.push_back(std::move(answer)); });
    REQUIRE(started.has_value());
    return *started;
  }
  void run_until(const std::function<bool()>& condition) {
    control.run_until([&] {
      here.run_all();
      return condition();
    });
  }
  std::optional<InvocationView> view(std::uint64_t number, uid_t tenant = 1) {
    std::optional<InvocationView> seen;
    calls.wait(tenant, number, {},
               [&](Result<std::optional<InvocationView>> found) { seen = *found; });
    return seen;
  }

  [[nodiscard]] bool counts(const std::string& line) const {
    const CallMetrics* const thread = &calls.metrics();
    MetricsText text;
    add_metrics(text, {&thread, 1});
    return text.take().find("\n" + line + "\n") != std::string::npos;
  }

  TemporaryDirectory directory;
  TaskInbox control;
  TaskInbox here;
  ManualClock clock;
  FakeRunner runner;
  bool has_supply = true;
  std::shared_ptr<const FunctionVersion> version = make_version("f", 'a');
  std::unique_ptr<Store> store;
  AsyncInvocations async{{*store,
                          clock,
                          control.poster(),
                          {{here.poster(), &runner}},
                          [this](const auto&) { return has_supply; }},
                         {}};
  SyncCalls calls{{runner, async, clock, here.poster(), control.poster()},
                  {.home = 1, .in_flight = 2, .recent = {.capacity = 4}}};
  std::vector<SyncAnswer> answers;
};

}  // namespace orchid::gateway
