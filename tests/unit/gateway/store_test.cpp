#include "store/store.h"

#include <algorithm>
#include <fstream>

#include "database/database.h"
#include "gateway_fakes.h"
#include "protocol/digest.h"

namespace orchid::gateway {
namespace {

struct StoreFixture {
  StoreFixture() { open(); }
  StartUpState open() {
    store.reset();
    store = Store::open(directory.path()).value();
    auto state = store->load();
    REQUIRE(state.has_value());
    store->start();
    return std::move(*state);
  }
  template <typename T>
  Completion<T> into(std::optional<Result<T>>& place) {
    return on_thread<T>(inbox.poster(),
                        [&place](Result<T> result) { place.emplace(std::move(result)); });
  }
  template <typename T>
  Result<T> wait(std::optional<Result<T>>& place) {
    inbox.run_until([&] { return place.has_value(); });
    return std::move(*place);
  }
  Result<InsertedInvocation> insert(InvocationRecord record, std::string_view input) {
    std::optional<Result<InsertedInvocation>> inserted;
    const auto bytes = as_bytes(input);
    store->insert(std::move(record), Payload::of({bytes.begin(), bytes.end()}), into(inserted));
    return wait(inserted);
  }
  Result<void> finish(const InvocationRecord& record, std::string_view output) {
    std::optional<Result<void>> done;
    const auto bytes = as_bytes(output);
    FinishedInvocation finished{
        .record = record, .output = Payload::of({bytes.begin(), bytes.end()}), .log = "a log"};
    finished.record.outcome = Outcome::ok;
    finished.record.finished = 2'000;
    finished.record.output_size = output.size();
    store->finish(std::move(finished), into(done));
    return wait(done);
  }
  Result<std::vector<std::byte>> payload(const std::string& id, PayloadKind kind) {
    std::optional<Result<std::vector<std::byte>>> read;
    store->read_payload(id, kind, into(read));
    return wait(read);
  }
  std::size_t spool_files() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& file :
         std::filesystem::directory_iterator(directory.path() / "spool"))
      ++count;
    return count;
  }
  static InvocationRecord record(std::string id) {
    InvocationRecord r;
    r.id = std::move(id);
    r.tenant = 1;
    r.function = "f";
    r.digest = "sha256:" + std::string(64, 'a');
    r.entry = "main";
    r.accepted = 1'000;
    r.deadline = 61'000;
    return r;
  }

  TemporaryDirectory directory;
  TaskInbox inbox;
  std::unique_ptr<Store> store;
};

TEST_CASE_FIXTURE(StoreFixture,
                  "a second store on the same directory is refused, and told who holds it") {
  const auto second = Store::open(directory.path());
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().code == ErrorCode::conflict);
  CHECK(second.error().message.find(std::to_string(::getpid())) != std::string::npos);
}

TEST_CASE_FIXTURE(StoreFixture, "each start has a new epoch, and is the same gateway") {
  const StartUpState first = open();
  const StartUpState second = open();
  CHECK(second.epoch == first.epoch + 1);
  CHECK(first.identity.size() == 16);
  CHECK(second.identity == first.identity);
}

TEST_CASE_FIXTURE(StoreFixture,
                  "a state file of the first layout is taken over, one of a later is refused") {
  const auto set_layout = [this](const char* sql) {
    store.reset();
    auto database = Database::open(directory.path() / "orchid.db");
    REQUIRE(database.has_value());
    REQUIRE((*database)->execute(sql).has_value());
  };
  set_layout(
      "ALTER TABLE functions DROP COLUMN concurrency; ALTER TABLE functions DROP COLUMN needs; "
      "ALTER TABLE function_versions DROP COLUMN needs; "
      "ALTER TABLE invocations DROP COLUMN lease; "
      "ALTER TABLE invocations DROP COLUMN request; ALTER TABLE invocations DROP COLUMN host_kind; "
      "ALTER TABLE invocations DROP COLUMN data; "
      "ALTER TABLE invocations DROP COLUMN output_data; "
      "ALTER TABLE invocations DROP COLUMN device; "
      "ALTER TABLE invocations DROP COLUMN cluster; PRAGMA user_version=1");
  (void)open();
  std::optional<Result<void>> done;
  store->set_options(1, "f", {.concurrency = 3, .needs = "2 cores"},
                     {.at = 1, .tenant = 1, .action = "limit"}, into(done));
  CHECK(wait(done).has_value());
  set_layout("PRAGMA user_version=11");
  const auto refused = Store::open(directory.path());
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::bad_configuration);
}

TEST_CASE_FIXTURE(StoreFixture, "tokens survive a restart") {
  store.reset();
  store = Store::open(directory.path()).value();
  REQUIRE(store->add_token({.hash = "h", .tenant = {.uid = 5, .name = "eve"}, .label = "l"}, 1));
  const auto state = open();
  REQUIRE(state.tokens.size() == 1);
  CHECK(state.tokens[0].hash == "h");
  CHECK(state.tokens[0].tenant == Tenant{.uid = 5, .name = "eve"});
}

TEST_CASE_FIXTURE(StoreFixture, "a token that was withdrawn is gone, and no other one") {
  store.reset();
  store = Store::open(directory.path()).value();
  const TokenRecord eves{.hash = "h", .tenant = {.uid = 5, .name = "eve"}, .label = "l"};
  REQUIRE(store->add_token(eves, 1));
  REQUIRE(store->add_token({.hash = "i", .tenant = {.uid = 6, .name = "ada"}, .label = "l"}, 2));
  REQUIRE(store->withdraw_token(eves, 3));
  const auto state = open();
  REQUIRE(state.tokens.size() == 1);
  CHECK(state.tokens[0].hash == "i");
}

TEST_CASE_FIXTURE(StoreFixture, "an accepted invocation and its input survive a restart") {
  InvocationRecord on_card = record("i-1");
  on_card.kind = placement::HostKind::dpu;
  on_card.cluster = "moss";
  on_card.data = to_string(DataId{});
  on_card.output_data = "smoothed";
  REQUIRE(insert(on_card, "hello"));
  const auto state = open();
  REQUIRE(state.unfinished.size() == 1);
  CHECK(state.unfinished[0].id == "i-1");
  CHECK(state.unfinished[0].kind == placement::HostKind::dpu);
  CHECK(state.unfinished[0].cluster == "moss");
  CHECK(state.unfinished[0].data == to_string(DataId{}));
  CHECK(state.unfinished[0].output_data == "smoothed");
  CHECK(state.unfinished[0].deadline == 61'000);
  CHECK(as_text(payload("i-1", PayloadKind::input).value()) == "hello");
}

TEST_CASE_FIXTURE(StoreFixture,
                  "an outcome is written once, with output and log, and the input goes") {
  REQUIRE(insert(record("i-1"), "hello"));
  REQUIRE(finish(record("i-1"), "world"));
  CHECK(finish(record("i-1"), "again").error().code == ErrorCode::conflict);
  CHECK(open().unfinished.empty());
  CHECK(as_text(payload("i-1", PayloadKind::output).value()) == "world");
  CHECK(as_text(payload("i-1", PayloadKind::log).value()) == "a log");
  CHECK(payload("i-1", PayloadKind::input)->empty());
}

TEST_CASE_FIXTURE(StoreFixture, "the module of a deleted function goes, but not at once") {
  const auto put = [&](const std::string& module, UnixMillis now) {
    const std::string digest = digest_of(as_bytes(module));
    std::optional<Result<void>> done;
    store->put_version(
        {.tenant = 1,
         .function = module,
         .digest = digest,
         .manifest = "{}",
         .created = now,
         .deleted = false,
         .module = {}},
        Payload::of({as_bytes(module).begin(), as_bytes(module).end()}), {},
        {.at = now, .tenant = 1, .action = "deploy", .subject = module, .detail = ""}, into(done));
    REQUIRE(wait(done).has_value());
  };
  const auto remove = [&](const std::string& name, UnixMillis now) {
    std::optional<Result<void>> done;
    store->delete_function(
        1, name, {.at = now, .tenant = 1, .action = "delete", .subject = name, .detail = ""},
        into(done));
    REQUIRE(wait(done).has_value());
  };
  put("one", 1'000);
  put("two", 1'000);
  remove("one", 2'000);
  CHECK(spool_files() == 2);
  remove("two", 70'000);
  CHECK(spool_files() == 1);
  put("three", 200'000);
  CHECK(spool_files() == 1);
}

TEST_CASE_FIXTURE(StoreFixture,
                  "a version that was replaced keeps the needs of its function when that goes") {
  const std::string old_digest = digest_of(as_bytes("old"));
  const auto put = [&](const std::string& module, std::vector<std::string> replaced) {
    std::optional<Result<void>> done;
    store->put_version({.tenant = 1,
                        .function = "f",
                        .digest = digest_of(as_bytes(module)),
                        .manifest = "{}",
                        .created = 1'000,
                        .needs = "2 cores",
                        .module = {}},
                       Payload::of({as_bytes(module).begin(), as_bytes(module).end()}),
                       std::move(replaced), {.at = 1'000, .tenant = 1, .action = "deploy"},
                       into(done));
    REQUIRE(wait(done).has_value());
  };
  put("old", {});
  InvocationRecord waiting = record("i-1");
  waiting.digest = old_digest;
  REQUIRE(insert(waiting, "hello"));
  put("new", {old_digest});
  std::optional<Result<void>> removed;
  store->delete_function(1, "f", {.at = 2'000, .tenant = 1, .action = "delete"}, into(removed));
  REQUIRE(wait(removed).has_value());
  const auto state = open();
  const auto old = std::ranges::find(state.versions, old_digest, &VersionRecord::digest);
  REQUIRE(old != state.versions.end());
  CHECK(old->deleted);
  CHECK(old->needs == "2 cores");
}

TEST_CASE_FIXTURE(StoreFixture, "large payloads are spool files, and go when nobody needs them") {
  const std::string large(200'000, 'x');
  REQUIRE(insert(record("i-1"), large));
  CHECK(spool_files() == 1);
  CHECK(as_text(payload("i-1", PayloadKind::input).value()) == large);
  REQUIRE(insert(record("i-2"), large));
  CHECK(spool_files() == 1);
  REQUIRE(finish(record("i-1"), "small"));
  CHECK(spool_files() == 1);
  REQUIRE(finish(record("i-2"), "small"));
  CHECK(spool_files() == 0);
}

TEST_CASE_FIXTURE(StoreFixture,
                  "an output that is the input of another call is not removed with it") {
  const std::string large(200'000, 'y');
  REQUIRE(insert(record("i-1"), large));
  REQUIRE(finish(record("i-1"), large));
  CHECK(as_text(payload("i-1", PayloadKind::output).value()) == large);
}

TEST_CASE_FIXTURE(StoreFixture, "the same idempotency key of a tenant is the same invocation") {
  InvocationRecord first = record("i-1");
  first.idempotency_key = "k";
  CHECK_FALSE(insert(first, "a")->existed);
  InvocationRecord again = record("i-2");
  again.idempotency_key = "k";
  const auto found = insert(again, "b");
  REQUIRE(found.has_value());
  CHECK(found->existed);
  CHECK(found->record.id == "i-1");
  again.tenant = 2;
  CHECK_FALSE(insert(again, "b")->existed);
}

TEST_CASE_FIXTURE(StoreFixture, "invocations are listed by how their keys begin") {
  for (const auto& [id, key] : {std::pair("i-1", "fl-1-7"), std::pair("i-2", "fl-1-8"),
                                std::pair("i-3", "fl-10-1"), std::pair("i-4", "fl-1")}) {
    InvocationRecord one = record(id);
    one.idempotency_key = key;
    REQUIRE(insert(one, "a"));
  }
  REQUIRE(insert(record("i-5"), "a"));
  REQUIRE(finish(record("i-2"), "b"));
  const auto listed = [this](std::string key, std::optional<bool> finished) {
    std::optional<Result<std::vector<InvocationRecord>>> records;
    store->list({.tenant = 1, .limit = 10, .finished = finished, .key_begins = std::move(key)},
                into(records));
    std::string ids;
    const std::vector<InvocationRecord> found = wait(records).value();
    for (const InvocationRecord& one : found) ids += one.id + " ";
    return ids;
  };
  CHECK(listed("fl-1-", std::nullopt) == "i-2 i-1 ");
  CHECK(listed("fl-1-", true) == "i-2 ");
  CHECK(listed("fl-1", std::nullopt) == "i-4 i-3 i-2 i-1 ");
  CHECK(listed("fl-2", std::nullopt).empty());
  CHECK(listed("", std::nullopt) == "i-5 i-4 i-3 i-2 i-1 ");
}

TEST_CASE_FIXTURE(StoreFixture,
                  "a key stands for one function and one input, also for large ones") {
  const std::string large(200'000, 'x');
  InvocationRecord first = record("i-1");
  first.idempotency_key = "k";
  first.request = "f.e";
  REQUIRE(insert(first, large));
  first.id = "i-2";
  CHECK(insert(first, large)->same_request);
  CHECK_FALSE(insert(first, large + "y")->same_request);
  first.request = "f";
  CHECK_FALSE(insert(first, large)->same_request);
}

TEST_CASE_FIXTURE(StoreFixture, "of a key that an older gateway stored, the function is known") {
  InvocationRecord first = record("i-1");
  first.idempotency_key = "k";
  REQUIRE(insert(first, "a"));
  store.reset();
  {
    auto database = Database::open(directory.path() / "orchid.db");
    REQUIRE(database.has_value());
    REQUIRE((*database)->execute("UPDATE invocations SET request = ''").has_value());
  }
  (void)open();
  first.id = "i-2";
  CHECK(insert(first, "b")->same_request);
  first.function = "another";
  CHECK_FALSE(insert(first, "a")->same_request);
}

TEST_CASE_FIXTURE(StoreFixture,
                  "a request that fails spoils none of those that share its transaction") {
  std::optional<Result<InsertedInvocation>> results[3];
  for (int i = 0; i < 3; ++i)
    store->insert(record(i == 1 ? "i-0" : "i-" + std::to_string(i)), {}, into(results[i]));
  CHECK(wait(results[0]).has_value());
  CHECK(wait(results[1]).error().code == ErrorCode::conflict);
  CHECK(wait(results[2]).has_value());
  CHECK(open().unfinished.size() == 2);
}

TEST_CASE_FIXTURE(StoreFixture, "ten thousand invocations are accepted in few transactions") {
  constexpr std::size_t count = 10'000;
  std::size_t durable = 0;
  for (std::size_t i = 0; i < count; ++i)
    store->insert(record("i-" + std::to_string(i)), {},
                  on_thread<InsertedInvocation>(inbox.poster(),
                                                [&durable](Result<InsertedInvocation> result) {
                                                  if (result) ++durable;
                                                }));
  inbox.run_until([&] { return durable == count; });
  CHECK(open().unfinished.size() == count);
}

TEST_CASE_FIXTURE(StoreFixture, "finished invocations are forgotten when their time is over") {
  REQUIRE(insert(record("i-1"), std::string(200'000, 'z')));
  REQUIRE(finish(record("i-1"), std::string(200'000, 'o')));
  REQUIRE(insert(record("i-2"), "x"));
  std::optional<Result<std::size_t>> forgotten;
  store->forget_finished(10'000, into(forgotten));
  CHECK(wait(forgotten).value() == 1);
  CHECK(spool_files() == 0);
  std::optional<Result<std::optional<InvocationRecord>>> found;
  store->find(1, "i-1", into(found));
  CHECK_FALSE(wait(found)->has_value());
  CHECK(open().unfinished.size() == 1);
}

TEST_CASE_FIXTURE(StoreFixture, "files that no row names are swept at the start") {
  std::ofstream(directory.path() / "spool" / std::string(64, 'f')) << "left by a crash";
  std::ofstream(directory.path() / "spool" / "half.tmp") << "half";
  open();
  CHECK(spool_files() == 0);
}

TEST_CASE_FIXTURE(StoreFixture, "another tenant does not find an invocation") {
  REQUIRE(insert(record("i-1"), ""));
  std::optional<Result<std::optional<InvocationRecord>>> found;
  store->find(2, "i-1", into(found));
  CHECK_FALSE(wait(found)->has_value());
}

TEST_CASE_FIXTURE(StoreFixture, "a file that is no database is named") {
  store.reset();
  std::filesystem::remove(directory.path() / "orchid.db-wal");
  std::ofstream(directory.path() / "orchid.db", std::ios::trunc) << std::string(5000, 'j');
  const auto opened = Store::open(directory.path());
  REQUIRE_FALSE(opened.has_value());
  CHECK(opened.error().code == ErrorCode::bad_configuration);
  CHECK(opened.error().message.find("orchid.db") != std::string::npos);
}

}  // namespace
}  // namespace orchid::gateway
