#include "functions/function_service.h"

#include "gateway_fakes.h"
#include "protocol/digest.h"

namespace orchid::gateway {
namespace {

/// Answers when the test says so.
class FakeInspector final : public ModuleInspector {
 public:
  void inspect(uid_t, std::shared_ptr<const UniqueFd>, Done done) override {
    waiting.push_back(std::move(done));
  }
  [[nodiscard]] bool is_up() const override { return true; }
  void accept() {
    module::Manifest manifest;
    manifest.entries = {{.name = "main", .signature = std::nullopt}};
    answer(std::move(manifest));
  }
  void answer(Result<module::Manifest> result) {
    REQUIRE_FALSE(waiting.empty());
    const Done done = std::move(waiting.front());
    waiting.erase(waiting.begin());
    done(std::move(result));
  }
  std::vector<Done> waiting;
};

using Shapes = std::vector<placement::WorkerShape>;

Shapes cores(std::uint32_t number) { return {{.cores = number}}; }

struct ServiceFixture {
  ServiceFixture() { open(); }
  void open() {
    service.reset();
    store.reset();
    inbox.clear();
    store = Store::open(directory.path()).value();
    auto state = store->load();
    REQUIRE(state.has_value());
    service = std::make_unique<FunctionService>(
        FunctionService::Parts{*store, inspector, table, clock, inbox.poster()},
        FunctionRegistry::Limits{});
    kept = service->restore(std::move(state->versions));
    store->start();
  }
  void deploy(std::string name, std::string_view module, Precondition precondition = {}) {
    const auto bytes = as_bytes(module);
    service->deploy({.tenant = 1,
                     .name = std::move(name),
                     .module = {bytes.begin(), bytes.end()},
                     .precondition = std::move(precondition)},
                    [this](Result<Deployment> result) { deployed.push_back(std::move(result)); });
  }
  void wait_for(std::size_t count) {
    inbox.run_until([&] { return deployed.size() == count; });
  }

  TemporaryDirectory directory;
  TaskInbox inbox;
  ManualClock clock;
  FakeInspector inspector;
  Published<FunctionTable> table{std::make_shared<const FunctionTable>()};
  std::unique_ptr<Store> store;
  std::unique_ptr<FunctionService> service;
  FunctionService::KeptVersions kept;
  std::vector<Result<Deployment>> deployed;
};

TEST_CASE_FIXTURE(ServiceFixture, "a deployed function is there after a restart, with its bytes") {
  deploy("f", "module bytes");
  inspector.accept();
  wait_for(1);
  REQUIRE(deployed[0].has_value());
  CHECK(deployed[0]->created);
  open();
  const Function* function = table.current()->find(1, "f");
  REQUIRE(function != nullptr);
  const auto mapped = MappedFile::map(function->newest().version->module.get(), {.limit = 1_MiB});
  REQUIRE(mapped.has_value());
  CHECK(as_text(mapped->bytes()) == "module bytes");
}

TEST_CASE_FIXTURE(ServiceFixture,
                  "a good module is made known before it is stored, a bad one never") {
  std::vector<std::string> accepted;
  const auto deploy_watched = [&](std::string_view module) {
    const auto bytes = as_bytes(module);
    service->deploy({.tenant = 1,
                     .name = "f",
                     .module = {bytes.begin(), bytes.end()},
                     .precondition = {},
                     .accepted = [&](const auto& version) { accepted.push_back(version->digest); }},
                    [this](Result<Deployment> result) { deployed.push_back(std::move(result)); });
  };
  deploy_watched("bad");
  inspector.answer(fail(ErrorCode::module_rejected, "no entry"));
  CHECK(accepted.empty());
  deploy_watched("good");
  inspector.accept();
  CHECK(accepted == std::vector{digest_of(as_bytes("good"))});
  CHECK(deployed.size() == 1);
  wait_for(2);
}

TEST_CASE_FIXTURE(ServiceFixture, "the same bytes again are answered without inspection") {
  deploy("f", "x");
  inspector.accept();
  wait_for(1);
  deploy("f", "x");
  REQUIRE(deployed.size() == 2);
  CHECK_FALSE(deployed[1]->created);
  CHECK(inspector.waiting.empty());
}

TEST_CASE_FIXTURE(ServiceFixture,
                  "a concurrency limit is kept, changed without a new version, and lifted") {
  const auto limit_of = [this](std::string_view module, std::optional<unsigned> wanted,
                               bool inspects) {
    const auto bytes = as_bytes(module);
    const std::size_t before = deployed.size();
    service->deploy({.tenant = 1,
                     .name = "f",
                     .module = {bytes.begin(), bytes.end()},
                     .precondition = {},
                     .concurrency = wanted},
                    [this](Result<Deployment> result) { deployed.push_back(std::move(result)); });
    if (inspects) inspector.accept();
    wait_for(before + 1);
    REQUIRE(deployed.back().has_value());
    CHECK(deployed.back()->created == inspects);
    return deployed.back()->version.version->gate->limit();
  };
  CHECK(limit_of("one", 4, true) == 4);
  CHECK(limit_of("one", std::nullopt, false) == 4);
  CHECK(limit_of("one", 7, false) == 7);
  CHECK(limit_of("two", std::nullopt, true) == 7);
  const auto gate = deployed.back()->version.version->gate;
  CHECK(gate == deployed.front()->version.version->gate);  // of the function, not of a version
  deployed.clear();
  open();
  CHECK(limit_of("two", std::nullopt, false) == 7);
  CHECK(limit_of("two", 0, false) == 0);
  deployed.clear();
  open();
  CHECK(limit_of("two", std::nullopt, false) == 0);
}

TEST_CASE_FIXTURE(ServiceFixture,
                  "needs are kept, changed without a new version, and become one core again") {
  const auto needs_after = [this](std::string_view module, std::optional<Shapes> wanted,
                                  bool inspects) {
    const auto bytes = as_bytes(module);
    const std::size_t before = deployed.size();
    service->deploy({.tenant = 1,
                     .name = "f",
                     .module = {bytes.begin(), bytes.end()},
                     .precondition = {},
                     .needs = std::move(wanted)},
                    [this](Result<Deployment> result) { deployed.push_back(std::move(result)); });
    if (inspects) inspector.accept();
    wait_for(before + 1);
    REQUIRE(deployed.back().has_value());
    CHECK(deployed.back()->created == inspects);
    return to_string(deployed.back()->version.version->needs->get());
  };
  const Shapes either{{.cores = 1, .gpus = 1, .gpu_model = "a100"}, {.cores = 4, .memory = 2_GiB}};
  const std::string text = "1 core, 1 GPU a100 | 4 cores, 2 GiB";
  CHECK(needs_after("one", std::nullopt, true).empty());
  CHECK(needs_after("one", either, false) == text);
  CHECK(needs_after("two", std::nullopt, true) == text);
  deployed.clear();
  open();
  CHECK(needs_after("two", std::nullopt, false) == text);
  CHECK(needs_after("two", Shapes{{.cores = 2}}, false) == "2 cores");
  deployed.clear();
  open();
  CHECK(needs_after("two", std::nullopt, false) == "2 cores");
  CHECK(needs_after("two", Shapes{{}}, false).empty());
  deployed.clear();
  open();
  CHECK(needs_after("two", std::nullopt, false).empty());
}

TEST_CASE_FIXTURE(ServiceFixture, "a tenant's functions have 64 different needs at most") {
  const auto deploy_with = [this](const std::string& name, std::uint32_t cores) {
    const auto bytes = as_bytes(std::string_view("x"));
    const std::size_t before = deployed.size();
    const bool is_new = table.current()->find(1, name) == nullptr;
    service->deploy({.tenant = 1,
                     .name = name,
                     .module = {bytes.begin(), bytes.end()},
                     .precondition = {},
                     .needs = std::vector<placement::WorkerShape>{{.cores = cores}}},
                    [this](Result<Deployment> result) { deployed.push_back(std::move(result)); });
    if (is_new && deployed.size() == before) inspector.accept();
    wait_for(before + 1);
    return deployed.back().has_value() ? "" : deployed.back().error().message;
  };
  for (std::uint32_t i = 0; i < 64; ++i) CHECK(deploy_with("f" + std::to_string(i), 2 + i).empty());
  CHECK(deploy_with("g", 200).find("64 different needs already") != std::string::npos);
  CHECK(deploy_with("g", 65).empty());    // another one's
  CHECK(deploy_with("f3", 200).empty());  // in place of its own
}

TEST_CASE_FIXTURE(ServiceFixture, "at that limit one core, and what another one needs, are free") {
  const auto deploy_with = [this](const std::string& name, std::optional<Shapes> needs) {
    const auto bytes = as_bytes(std::string_view("x"));
    service->deploy({.tenant = 1,
                     .name = name,
                     .module = {bytes.begin(), bytes.end()},
                     .precondition = {},
                     .needs = std::move(needs)},
                    [this](Result<Deployment> result) { deployed.push_back(std::move(result)); });
  };
  // All of them are on their way at once: what is coming counts.
  for (std::uint32_t i = 0; i < 64; ++i) deploy_with("f" + std::to_string(i), cores(2 + i));
  deploy_with("g", cores(200));
  REQUIRE(deployed.size() == 1);
  CHECK(deployed[0].error().message.find("64 different needs already") != std::string::npos);
  for (int i = 0; i < 64; ++i) inspector.accept();
  wait_for(65);
  deploy_with("one-core", cores(1));
  inspector.accept();
  deploy_with("usual", std::nullopt);
  inspector.accept();
  deploy_with("alike", cores(65));
  inspector.accept();
  wait_for(68);
  for (std::size_t i = 65; i < 68; ++i) CHECK(deployed[i].has_value());
  // A deploy that failed holds nothing, and a need that nobody has any more can be had again.
  deploy_with("f0", cores(1));
  wait_for(69);
  deploy_with("bad", cores(200));
  inspector.answer(fail(ErrorCode::module_rejected, "no"));
  wait_for(70);
  deploy_with("g", cores(201));
  inspector.accept();
  wait_for(71);
  CHECK(deployed[70].has_value());
}

TEST_CASE_FIXTURE(ServiceFixture,
                  "calls of a deleted function keep its needs, also after a restart") {
  using Versions = std::vector<std::pair<std::string, std::optional<Shapes>>>;
  const auto deploy_all = [this](const Versions& versions) {
    for (const auto& [module, needs] : versions) {
      const auto bytes = as_bytes(module);
      const std::size_t before = deployed.size();
      service->deploy({.tenant = 1,
                       .name = "f",
                       .module = {bytes.begin(), bytes.end()},
                       .precondition = {},
                       .needs = needs},
                      [this](Result<Deployment> result) { deployed.push_back(std::move(result)); });
      inspector.accept();
      wait_for(before + 1);
    }
  };
  const auto remove = [this] {
    std::optional<Result<void>> removed;
    service->remove(1, "f", {}, [&](Result<void> result) { removed = std::move(result); });
    inbox.run_until([&] { return removed.has_value(); });
    REQUIRE(removed->has_value());
  };
  deploy_all({{"wide", cores(4)}});
  const std::string digest = deployed.back()->version.version->digest;
  InvocationRecord call;
  call.id = "i-1";
  call.tenant = 1;
  call.function = "f";
  call.digest = digest;
  call.deadline = 60'000;
  bool stored = false;
  store->insert(call, {}, [&](Result<InsertedInvocation> result) { stored = result.has_value(); });
  remove();
  REQUIRE(stored);
  const auto needs_of_kept = [&] {
    const auto found = kept.find({1, "f", digest});
    return found == kept.end() ? "gone" : to_string(found->second->needs->get());
  };
  open();
  CHECK(needs_of_kept() == "4 cores");
  CHECK(table.current()->find(1, "f") == nullptr);

  // The next one of this name has nothing of it, before and after a restart.
  deploy_all({{"narrow", std::nullopt}});
  CHECK(to_string(table.current()->find(1, "f")->newest().version->needs->get()).empty());
  deploy_all({{"narrow again", cores(2)}});
  open();
  CHECK(needs_of_kept() == "4 cores");
  CHECK(to_string(table.current()->find(1, "f")->newest().version->needs->get()) == "2 cores");
}

TEST_CASE_FIXTURE(ServiceFixture, "who prepares for calls of a new version sees the needs it has") {
  std::vector<std::string> seen;
  const auto deploy_with = [&](std::string_view module, std::optional<Shapes> needs) {
    const auto bytes = as_bytes(module);
    const std::size_t before = deployed.size();
    service->deploy({.tenant = 1,
                     .name = "f",
                     .module = {bytes.begin(), bytes.end()},
                     .precondition = {},
                     .needs = std::move(needs),
                     .accepted =
                         [&](const std::shared_ptr<const FunctionVersion>& version) {
                           seen.push_back(to_string(version->needs->get()));
                         }},
                    [this](Result<Deployment> result) { deployed.push_back(std::move(result)); });
    inspector.accept();
    wait_for(before + 1);
  };
  deploy_with("one", cores(4));
  deploy_with("two", std::nullopt);
  deploy_with("three", cores(1));
  CHECK(seen == std::vector<std::string>{"4 cores", "4 cores", ""});
}

TEST_CASE_FIXTURE(ServiceFixture, "a rejected module leaves nothing behind") {
  deploy("f", "x");
  inspector.answer(fail(ErrorCode::module_rejected, "three reasons"));
  REQUIRE(deployed.size() == 1);
  CHECK(deployed[0].error().code == ErrorCode::module_rejected);
  CHECK(table.current()->find(1, "f") == nullptr);
  open();
  CHECK(table.current()->find(1, "f") == nullptr);
}

TEST_CASE_FIXTURE(ServiceFixture,
                  "deploys of one name happen one after the other, those of others do not wait") {
  deploy("f", "first");
  deploy("f", "second");
  deploy("g", "other");
  CHECK(inspector.waiting.size() == 2);
  inspector.accept();
  wait_for(1);
  CHECK(inspector.waiting.size() == 2);
  inspector.accept();
  inspector.accept();
  wait_for(3);
  CHECK(table.current()->find(1, "f")->versions.size() == 2);
  CHECK(table.current()->find(1, "g") != nullptr);
}

TEST_CASE_FIXTURE(ServiceFixture, "a bad name and an empty module are refused at once") {
  deploy("1f", "x");
  deploy("f", "");
  REQUIRE(deployed.size() == 2);
  CHECK(deployed[0].error().code == ErrorCode::bad_request);
  CHECK(deployed[1].error().code == ErrorCode::bad_request);
}

TEST_CASE_FIXTURE(ServiceFixture, "a deleted function is gone, also after a restart") {
  deploy("f", "x");
  inspector.accept();
  wait_for(1);
  std::vector<Result<void>> removed;
  service->remove(1, "f", {}, [&](Result<void> result) { removed.push_back(std::move(result)); });
  inbox.run_until([&] { return removed.size() == 1; });
  CHECK(removed[0].has_value());
  CHECK(table.current()->find(1, "f") == nullptr);
  service->remove(1, "f", {}, [&](Result<void> result) { removed.push_back(std::move(result)); });
  CHECK(removed.at(1).error().code == ErrorCode::not_found);
  open();
  CHECK(table.current()->find(1, "f") == nullptr);
  CHECK(kept.empty());
}

}  // namespace
}  // namespace orchid::gateway
