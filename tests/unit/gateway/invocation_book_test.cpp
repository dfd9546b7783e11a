#include "invocations/invocation_book.h"

#include <algorithm>
#include <set>
#include <string>

#include "gateway_fakes.h"

namespace orchid::gateway {
namespace {

using std::chrono::seconds;

constexpr MonotonicTime start{std::chrono::hours(1)};

BookedInvocation booked(std::string id, UnixMillis deadline = 10'000) {
  BookedInvocation invocation;
  invocation.record.id = std::move(id);
  invocation.record.tenant = 1;
  invocation.record.deadline = deadline;
  return invocation;
}

BookedInvocation* start_next(InvocationBook& book, MonotonicTime now) {
  return book.start_next(now, [](const auto&) { return true; });
}

bool is_not_huge(const placement::WorkerRequest& worker) {
  return worker.alternatives.front().cores < 4'000;
}

std::shared_ptr<FunctionVersion> version_with(std::shared_ptr<const WorkerNeeds> needs) {
  auto version = std::make_shared<FunctionVersion>();
  version->needs = std::make_shared<FunctionNeeds>();
  version->needs->set(std::move(needs));
  return version;
}

TEST_CASE("invocations start in the order of their acceptance, on the least busy runner") {
  InvocationBook book({.running_per_runner = 1}, 2);
  for (const char* id : {"a", "b", "c"}) book.accept(booked(id));
  BookedInvocation* a = start_next(book, start);
  BookedInvocation* b = start_next(book, start);
  REQUIRE(a != nullptr);
  REQUIRE(b != nullptr);
  CHECK(a->record.id == "a");
  CHECK(b->record.id == "b");
  CHECK(a->runner != b->runner);
  CHECK(start_next(book, start) == nullptr);
  CHECK(book.queued_count() == 1);
}

TEST_CASE("calls wait for as many clusters as there may be names, and are found by them") {
  InvocationBook book({.clusters = 2}, 1);
  const auto in_cluster = [](const char* id, const char* cluster) {
    BookedInvocation invocation = booked(id);
    invocation.record.cluster = cluster;
    return invocation;
  };
  CHECK(book.check_cluster_room("moss"));
  book.accept(in_cluster("a", "moss"));
  book.accept(in_cluster("b", "fern"));
  book.accept(in_cluster("c", "moss"));
  book.accept(booked("d"));
  CHECK(book.waiting_clusters() == std::set<std::string>{"fern", "moss"});
  CHECK(book.check_cluster_room("moss"));
  CHECK(book.check_cluster_room(""));
  const auto refused = book.check_cluster_room("ivy");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::quota);
  CHECK(refused.error().message.find("'orchid hosts'") != std::string::npos);
  const auto waiting = book.waiting_for("moss");
  REQUIRE(waiting.size() == 2);
  for (BookedInvocation* const call : waiting) book.end(*call);
  CHECK(book.waiting_clusters() == std::set<std::string>{"fern"});
  CHECK(book.check_cluster_room("ivy"));
}

TEST_CASE("calls that nobody could run are told as what they need, for each tenant") {
  InvocationBook book({.running_per_runner = 2}, 1);
  const auto needs = [](std::uint32_t cores) {
    return version_with(std::make_shared<const WorkerNeeds>(
        WorkerNeeds{.number = cores, .alternatives = {{.cores = cores}}}));
  };
  const auto huge = needs(5'000);
  for (const char* id : {"a", "b", "c"}) {
    BookedInvocation invocation = booked(id);
    invocation.record.cluster = "moss";
    invocation.version = huge;
    if (id[0] == 'b') invocation.record.tenant = 2;
    book.accept(std::move(invocation));
  }
  book.accept(booked("d"));
  const auto kept_back = book.kept_back(is_not_huge);
  REQUIRE(kept_back.size() == 2);  // so many of the line may run
  for (const uid_t tenant : {1U, 2U}) {
    REQUIRE(kept_back.at(tenant).size() == 1);
    CHECK(kept_back.at(tenant)[0].workers == 1);
    CHECK(kept_back.at(tenant)[0].worker.cluster == "moss");
    CHECK(kept_back.at(tenant)[0].worker.alternatives.front().cores == 5'000);
  }
  CHECK(book.kept_back([](const auto&) { return true; }).empty());
}

TEST_CASE("a slot is free again when its call has ended") {
  InvocationBook book({.running_per_runner = 1}, 1);
  book.accept(booked("a"));
  book.accept(booked("b"));
  BookedInvocation* a = start_next(book, start);
  REQUIRE(book.hand_over(*a));
  CHECK_FALSE(book.ended(*a, Outcome::ok, true, start, 0));
  CHECK(a->state == InvocationState::ending);
  CHECK(start_next(book, start)->record.id == "b");
  book.stored("a");
  CHECK(book.find("a") == nullptr);
}

TEST_CASE("a call that found no worker waits again at its old place, after a pause") {
  InvocationBook book(
      {.running_per_runner = 4, .pause_without_capacity = std::chrono::milliseconds(250)}, 1);
  book.accept(booked("a"));
  book.accept(booked("b"));
  BookedInvocation* a = start_next(book, start);
  REQUIRE(book.hand_over(*a));
  CHECK(book.ended(*a, Outcome::no_capacity, false, start, 5'000));
  CHECK(start_next(book, start) == nullptr);
  CHECK(start_next(book, start + std::chrono::milliseconds(250)) == a);
}

TEST_CASE("a call that found no worker ends when its deadline has passed") {
  InvocationBook book({}, 1);
  book.accept(booked("a"));
  BookedInvocation* a = start_next(book, start);
  REQUIRE(book.hand_over(*a));
  CHECK_FALSE(book.ended(*a, Outcome::no_capacity, false, start, 10'000));
}

TEST_CASE("what happened on a worker is final") {
  InvocationBook book({}, 1);
  for (const Outcome outcome :
       {Outcome::function_error, Outcome::worker_lost, Outcome::no_capacity}) {
    book.accept(booked("a"));
    BookedInvocation* a = start_next(book, start);
    REQUIRE(book.hand_over(*a));
    CHECK_FALSE(book.ended(*a, outcome, true, start, 0));
    book.stored("a");
  }
}

TEST_CASE("queued invocations expire, running ones are their runner's business") {
  InvocationBook book({}, 1);
  book.accept(booked("late", 1'000));
  book.accept(booked("later", 2'000));
  BookedInvocation* running = start_next(book, start);
  CHECK(running->record.id == "late");
  CHECK(book.expired(1'500).empty());
  const auto expired = book.expired(2'000);
  REQUIRE(expired.size() == 1);
  CHECK(expired[0]->record.id == "later");
  book.end(*expired[0]);
  CHECK(book.expired(3'000).empty());
  CHECK(book.queued_count() == 0);
}

TEST_CASE("cancelling depends on how far it is") {
  InvocationBook book({}, 1);
  book.accept(booked("a"));
  CHECK(book.cancel(2, "a") == InvocationBook::Cancelled::unknown);
  BookedInvocation* a = start_next(book, start);
  CHECK(book.cancel(1, "a") == InvocationBook::Cancelled::noted);
  CHECK_FALSE(book.hand_over(*a));
  book.end(*a);
  CHECK(book.cancel(1, "a") == InvocationBook::Cancelled::too_late);
  book.accept(booked("b"));
  BookedInvocation* b = start_next(book, start);
  REQUIRE(book.hand_over(*b));
  CHECK(book.cancel(1, "b") == InvocationBook::Cancelled::ask_runner);
  CHECK_FALSE(book.ended(*b, Outcome::no_capacity, false, start, 0));
  book.accept(booked("c"));
  CHECK(book.cancel(1, "c") == InvocationBook::Cancelled::end_now);
}

TEST_CASE("a call that was synchronous takes no slot, and may be queued in the end") {
  InvocationBook book({.running_per_runner = 1}, 1);
  book.adopt_running(booked("sync"), 0);
  book.accept(booked("a"));
  BookedInvocation* a = start_next(book, start);
  REQUIRE(a != nullptr);
  REQUIRE(book.hand_over(*a));
  BookedInvocation* sync = book.find("sync");
  CHECK(book.ended(*sync, Outcome::no_capacity, false, start, 0));
  CHECK(book.queued_count() == 1);
  CHECK_FALSE(book.ended(*a, Outcome::ok, true, start, 0));
  CHECK(start_next(book, start + std::chrono::seconds(1)) == sync);
}

TEST_CASE("calls whose needs nobody can meet now keep no others waiting") {
  InvocationBook book({.running_per_runner = 1, .pause_without_capacity = seconds(1)}, 1);
  NeedsBook needs;
  const auto huge = needs.of({{.cores = 4000}});
  const auto version = version_with(huge);
  const auto other_version = version_with(huge);
  const auto accept = [&](const char* id, std::shared_ptr<FunctionVersion> of) {
    auto invocation = booked(id);
    invocation.version = std::move(of);
    book.accept(std::move(invocation));
  };
  accept("huge", version);
  accept("huge too", version);
  accept("plain", nullptr);
  accept("plain too", version_with(nullptr));
  SUBCASE("there is none of that kind") {
    BookedInvocation* plain = book.start_next(start, is_not_huge);
    REQUIRE(plain != nullptr);
    CHECK(plain->record.id == "plain");
    CHECK(book.start_next(start, is_not_huge) == nullptr);  // the slot is taken
    REQUIRE(book.hand_over(*plain));
    CHECK_FALSE(book.ended(*plain, Outcome::ok, true, start, 0));
    CHECK(book.start_next(start, is_not_huge)->record.id == "plain too");
    CHECK(book.queued_count() == 2);
    CHECK(start_next(book, start)->record.id == "huge");  // there is some now
  }
  SUBCASE("it waits with its runner, in a slot of its own") {
    CHECK(start_next(book, start)->record.id == "huge");
    CHECK(start_next(book, start)->record.id == "plain");
    CHECK(start_next(book, start) == nullptr);
    accept("other", other_version);
    CHECK(start_next(book, start)->record.id == "other");
  }
  SUBCASE("it has found no place, and pauses alone") {
    BookedInvocation* first = start_next(book, start);
    REQUIRE(book.hand_over(*first));
    CHECK(book.ended(*first, Outcome::no_capacity, false, start, 5'000));
    CHECK(start_next(book, start)->record.id == "plain");
    CHECK(start_next(book, start + seconds(1)) == first);  // at its old place
  }
  SUBCASE("its function has other needs now") {
    version->needs->set(nullptr);
    CHECK(book.start_next(start, is_not_huge)->record.id == "huge");
  }
}

TEST_CASE("a call that no host can run, whatever its function needs, pauses its function alone") {
  InvocationBook book({.running_per_runner = 4}, 1);
  for (const char* id : {"a", "b"}) {
    auto invocation = booked(id);
    invocation.version = version_with(nullptr);
    book.accept(std::move(invocation));
  }
  BookedInvocation* first = start_next(book, start);
  REQUIRE(book.hand_over(*first));
  CHECK(book.ended(*first, Outcome::no_capacity, false, start, 5'000));
  CHECK(start_next(book, start)->record.id == "b");
  CHECK(start_next(book, start) == nullptr);
  CHECK(start_next(book, start + seconds(1)) == first);
}

TEST_CASE("calls of a function that is given needs leave the line of the others") {
  InvocationBook book({.running_per_runner = 1}, 1);
  NeedsBook needs;
  const auto version = version_with(nullptr);
  auto first = booked("a");
  first.version = version;
  book.accept(std::move(first));
  book.accept(booked("b"));
  const auto huge = needs.of({{.cores = 4000}});
  version->needs->set(huge);
  CHECK(book.start_next(start, is_not_huge)->record.id == "b");
  CHECK(book.expired(10'000).size() == 1);
}

TEST_CASE("calls that ask for hosts that are not there stay, and keep no others waiting") {
  InvocationBook book({.running_per_runner = 1}, 1);
  const auto version = version_with(nullptr);
  const auto gpus_only = version_with(nullptr);
  version->hosts.images = {"aarch64", "x86-64"};
  gpus_only->hosts = {.images = {"x86-64"}, .needs_gpu = true};
  const auto accept = [&](const char* id, const std::shared_ptr<FunctionVersion>& of,
                          std::optional<placement::HostKind> kind) {
    auto invocation = booked(id);
    invocation.version = of;
    invocation.record.kind = kind;
    book.accept(std::move(invocation));
  };
  accept("on a DPU", version, placement::HostKind::dpu);
  accept("with a GPU", gpus_only, std::nullopt);
  accept("anywhere", version, std::nullopt);
  std::vector<placement::WorkerRequest> asked;
  const auto plain_only = [&](const placement::WorkerRequest& worker) {
    asked.push_back(worker);
    return !worker.kind && worker.alternatives.front().gpus == 0;
  };
  BookedInvocation* started = book.start_next(start, plain_only);
  REQUIRE(started != nullptr);
  CHECK(started->record.id == "anywhere");
  CHECK(book.start_next(start, plain_only) == nullptr);
  CHECK(std::ranges::any_of(asked, [](const placement::WorkerRequest& worker) {
    return worker.kind == placement::HostKind::dpu &&
           worker.images == std::vector<std::string>{"aarch64", "x86-64"};
  }));
  CHECK(start_next(book, start)->record.id == "on a DPU");  // hosts have come
  CHECK(start_next(book, start)->record.id == "with a GPU");
}

TEST_CASE("a call whose cluster has nobody keeps no others waiting") {
  InvocationBook book({.running_per_runner = 1}, 1);
  auto there = booked("there");
  there.record.cluster = "moss";
  book.accept(std::move(there));
  book.accept(booked("anywhere"));
  const auto is_elsewhere = [](const placement::WorkerRequest& worker) {
    return worker.cluster.empty();
  };
  BookedInvocation* started = book.start_next(start, is_elsewhere);
  REQUIRE(started != nullptr);
  CHECK(started->record.id == "anywhere");
  CHECK(book.start_next(start, is_elsewhere) == nullptr);
  CHECK(start_next(book, start)->record.id == "there");
}

TEST_CASE("beyond a number of slots in all each line has one") {
  InvocationBook book({.running_per_runner = 2, .running_per_runner_in_all = 3}, 1);
  std::vector<std::shared_ptr<FunctionVersion>> versions;
  NeedsBook needs;
  for (const char* id : {"a", "b", "c"}) {
    versions.push_back(version_with(needs.of({{.cores = 2}})));
    for (const char* number : {"1", "2"}) {
      auto invocation = booked(std::string(id) + number);
      invocation.version = versions.back();
      book.accept(std::move(invocation));
    }
  }
  std::vector<BookedInvocation*> started;
  while (BookedInvocation* next = start_next(book, start)) started.push_back(next);
  CHECK(std::ranges::equal(started, std::vector<std::string>{"a1", "a2", "b1", "c1"}, {},
                           [](const BookedInvocation* one) { return one->record.id; }));
  for (BookedInvocation* one : {started[0], started[1]}) {
    REQUIRE(book.hand_over(*one));
    CHECK_FALSE(book.ended(*one, Outcome::ok, true, start, 0));
  }
  CHECK(start_next(book, start)->record.id == "b2");
  CHECK(start_next(book, start) == nullptr);
}

TEST_CASE("there is a limit of what may wait") {
  InvocationBook book({.queued = 2}, 1);
  book.accept(booked("a"));
  CHECK(book.check_room(0).has_value());
  CHECK(book.check_room(1).error().code == ErrorCode::quota);
}

}  // namespace
}  // namespace orchid::gateway
