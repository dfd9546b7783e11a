#include "foundation/posts_together.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace orchid {
namespace {

/// A thread's inbox, without the thread.
struct Inbox {
  std::vector<Task> tasks{};
  Poster poster = PostsTogether::together([this](Task task) { tasks.push_back(std::move(task)); });
  /// Says how many tasks there were.
  std::size_t run() {
    std::vector<Task> now = std::exchange(tasks, {});
    for (Task& task : now) task();
    return now.size();
  }
};

}  // namespace

TEST_CASE("tasks are handed over at once, unless their thread keeps them together") {
  Inbox inbox;
  std::string order;
  inbox.poster([&] { order += 'a'; });
  CHECK(inbox.run() == 1);
  {
    const PostsTogether posts;
    inbox.poster([&] { order += 'b'; });
    {
      const PostsTogether inner;
      inbox.poster([&] { order += 'c'; });
    }
    CHECK(inbox.tasks.empty());
    inbox.poster([&] { order += 'd'; });
  }
  CHECK(inbox.run() == 1);
  CHECK(order == "abcd");
  inbox.poster([&] { order += 'e'; });
  CHECK(inbox.run() == 1);
  CHECK(order == "abcde");
}

TEST_CASE("each poster is given its own tasks") {
  Inbox one;
  Inbox other;
  int ones = 0;
  int others = 0;
  {
    const PostsTogether posts;
    one.poster([&] { ++ones; });
    other.poster([&] { ++others; });
    one.poster([&] { ++ones; });
  }
  CHECK(one.run() == 1);
  CHECK(ones == 2);
  CHECK(others == 0);
  CHECK(other.run() == 1);
  CHECK(others == 1);
}

TEST_CASE("what tasks that came together hand on goes on together") {
  Inbox first;
  Inbox second;
  int run = 0;
  {
    const PostsTogether posts;
    for (int i = 0; i < 3; ++i) first.poster([&] { second.poster([&] { ++run; }); });
  }
  CHECK(first.run() == 1);
  CHECK(second.run() == 1);
  CHECK(run == 3);
}

TEST_CASE("who is about to sleep hands over what there is") {
  Inbox inbox;
  int run = 0;
  {
    PostsTogether posts;
    inbox.poster([&] { ++run; });
    posts.hand_over();
    CHECK(inbox.run() == 1);
    CHECK(run == 1);
    posts.hand_over();
  }
  CHECK(inbox.tasks.empty());
}

}  // namespace orchid
