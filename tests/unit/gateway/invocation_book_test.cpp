#include "invocations/invocation_book.h"

#include "gateway_fakes.h"

namespace orchid::gateway {
namespace {

constexpr MonotonicTime start{std::chrono::hours(1)};

BookedInvocation booked(std::string id, UnixMillis deadline = 10'000) {
  BookedInvocation invocation;
  invocation.record.id = std::move(id);
  invocation.record.tenant = 1;
  invocation.record.deadline = deadline;
  return invocation;
}

TEST_CASE("invocations start in the order of their acceptance, on the least busy runner") {
  InvocationBook book({.running_per_runner = 1}, 2);
  for (const char* id : {"a", "b", "c"}) book.accept(booked(id));
  BookedInvocation* a = book.start_next(start);
  BookedInvocation* b = book.start_next(start);
  REQUIRE(a != nullptr);
  REQUIRE(b != nullptr);
  CHECK(a->record.id == "a");
  CHECK(b->record.id == "b");
  CHECK(a->runner != b->runner);
  CHECK(book.start_next(start) == nullptr);
  CHECK(book.queued_count() == 1);
}

TEST_CASE("a slot is free again when its call has ended") {
  InvocationBook book({.running_per_runner = 1}, 1);
  book.accept(booked("a"));
  book.accept(booked("b"));
  BookedInvocation* a = book.start_next(start);
  REQUIRE(book.hand_over(*a));
  CHECK_FALSE(book.ended(*a, Outcome::ok, true, start, 0));
  CHECK(a->state == InvocationState::ending);
  CHECK(book.start_next(start)->record.id == "b");
  book.stored("a");
  CHECK(book.find("a") == nullptr);
}

TEST_CASE("a call that found no worker waits again at its old place, after a pause") {
  InvocationBook book(
      {.running_per_runner = 4, .pause_without_capacity = std::chrono::milliseconds(250)}, 1);
  book.accept(booked("a"));
  book.accept(booked("b"));
  BookedInvocation* a = book.start_next(start);
  REQUIRE(book.hand_over(*a));
  CHECK(book.ended(*a, Outcome::no_capacity, false, start, 5'000));
  CHECK(book.start_next(start) == nullptr);
  CHECK(book.start_next(start + std::chrono::milliseconds(250)) == a);
}

TEST_CASE("a call that found no worker ends when its deadline has passed") {
  InvocationBook book({}, 1);
  book.accept(booked("a"));
  BookedInvocation* a = book.start_next(start);
  REQUIRE(book.hand_over(*a));
  CHECK_FALSE(book.ended(*a, Outcome::no_capacity, false, start, 10'000));
}

TEST_CASE("what happened on a worker is final") {
  InvocationBook book({}, 1);
  for (const Outcome outcome :
       {Outcome::function_error, Outcome::worker_lost, Outcome::no_capacity}) {
    book.accept(booked("a"));
    BookedInvocation* a = book.start_next(start);
    REQUIRE(book.hand_over(*a));
    CHECK_FALSE(book.ended(*a, outcome, true, start, 0));
    book.stored("a");
  }
}

TEST_CASE("queued invocations expire, running ones are their runner's business") {
  InvocationBook book({}, 1);
  book.accept(booked("late", 1'000));
  book.accept(booked("later", 2'000));
  BookedInvocation* running = book.start_next(start);
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
  BookedInvocation* a = book.start_next(start);
  CHECK(book.cancel(1, "a") == InvocationBook::Cancelled::noted);
  CHECK_FALSE(book.hand_over(*a));
  book.end(*a);
  CHECK(book.cancel(1, "a") == InvocationBook::Cancelled::too_late);
  book.accept(booked("b"));
  BookedInvocation* b = book.start_next(start);
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
  BookedInvocation* a = book.start_next(start);
  REQUIRE(a != nullptr);
  REQUIRE(book.hand_over(*a));
  BookedInvocation* sync = book.find("sync");
  CHECK(book.ended(*sync, Outcome::no_capacity, false, start, 0));
  CHECK(book.queued_count() == 1);
  CHECK_FALSE(book.ended(*a, Outcome::ok, true, start, 0));
  CHECK(book.start_next(start + std::chrono::seconds(1)) == sync);
}

TEST_CASE("there is a limit of what may wait") {
  InvocationBook book({.queued = 2}, 1);
  book.accept(booked("a"));
  CHECK(book.check_room(0).has_value());
  CHECK(book.check_room(1).error().code == ErrorCode::quota);
}

}  // namespace
}  // namespace orchid::gateway
