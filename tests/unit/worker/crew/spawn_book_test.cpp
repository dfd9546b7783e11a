// The books of spawned children: by hand, and as members of a simulated crew that lend each other
// children in random order, over trees of random shapes.
#include "crew/spawn_book.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace orchid::executor {
namespace {

AlignedBytes bytes_of(std::string_view text) {
  AlignedBytes bytes;
  REQUIRE(bytes.assign(std::as_bytes(std::span(text))));
  return bytes;
}
std::string text_of(const AlignedBytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
Step step_of(std::string_view input) {
  Step step;
  step.input = bytes_of(input);
  return step;
}
StepEnd output_of(std::string_view text) {
  StepEnd end;
  end.payload = bytes_of(text);
  return end;
}
StepEnd failure_of(Outcome outcome, std::string_view why) {
  StepEnd end = output_of(why);
  end.outcome = outcome;
  return end;
}
std::vector<Step> children_of(std::initializer_list<std::string_view> inputs) {
  std::vector<Step> children;
  for (const std::string_view input : inputs) children.push_back(step_of(input));
  return children;
}

constexpr std::uint64_t call = 300;

}  // namespace

TEST_CASE("children whose answers were kept do not run, and those that answer are kept") {
  struct Keeper final : AnswerKeeper {
    std::map<std::uint64_t, std::string> kept;
    void keep(std::uint64_t request_id, std::uint64_t key,
              std::span<const std::byte> answer) override {
      CHECK(request_id == call);
      kept[key] = {reinterpret_cast<const char*>(answer.data()), answer.size()};
    }
  } keeper;
  SpawnBook book;
  KeptChildren kept{.keys = {7, 8, 9}};
  kept.answers.resize(3);
  kept.answers[1] = bytes_of("of b");
  book.suspend(step_of("state"), children_of({"a", "b", "c"}), std::move(kept));
  for (const std::string_view name : {"a", "c"}) {
    const auto step = book.next();
    REQUIRE(step.has_value());
    CHECK(text_of(step->input) == name);
    CHECK_FALSE(book.end(step->asker, call, output_of(name), &keeper).has_value());
  }
  CHECK(keeper.kept == std::map<std::uint64_t, std::string>{{7, "a"}, {9, "c"}});
  const auto rest = book.next();
  REQUIRE(rest.has_value());
  REQUIRE(rest->outputs.size() == 3);
  CHECK(text_of(rest->outputs[1]) == "of b");
  CHECK(book.bytes() == ByteCount{0});
  CHECK(book.held() == 0);
  // All of them: the call goes on at once.
  KeptChildren all;
  all.answers.resize(2);
  all.answers[0] = bytes_of("x");
  all.answers[1] = bytes_of("");
  book.suspend(step_of("state"), children_of({"a", "b"}), std::move(all));
  CHECK(text_of(book.next()->input) == "state");
  CHECK(book.held() == 0);
}

TEST_CASE("a child that fails is not kept") {
  struct Keeper final : AnswerKeeper {
    void keep(std::uint64_t, std::uint64_t, std::span<const std::byte>) override { ++count; }
    int count = 0;
  } keeper;
  SpawnBook book;
  book.suspend(step_of("state"), children_of({"a"}), {.keys = {1}});
  const auto step = book.next();
  (void)book.end(step->asker, call, failure_of(Outcome::function_error, "no"), &keeper);
  CHECK(keeper.count == 0);
}

TEST_CASE("a call goes on when all its children have ended, with their outputs in order") {
  SpawnBook book;
  CHECK_FALSE(book.has_steps());
  book.suspend(step_of("state"), children_of({"a", "b", "c"}));
  CHECK(book.held() == 4);
  CHECK(book.bytes() == ByteCount{8});
  std::vector<Step> steps;
  while (auto step = book.next()) steps.push_back(std::move(*step));
  REQUIRE(steps.size() == 3);
  CHECK(text_of(steps[0].input) == "a");
  CHECK(text_of(steps[2].input) == "c");
  for (const std::size_t i : {1, 2, 0})
    CHECK_FALSE(book.end(steps[i].asker, call, output_of("of " + text_of(steps[i].input))));
  auto rest = book.next();
  REQUIRE(rest.has_value());
  CHECK(rest->asker.kind == Asker::Kind::client);
  CHECK(text_of(rest->input) == "state");
  REQUIRE(rest->outputs.size() == 3);
  CHECK(text_of(rest->outputs[0]) == "of a");
  CHECK(text_of(rest->outputs[2]) == "of c");
  CHECK(book.held() == 0);
  CHECK(book.bytes() == ByteCount{0});
}

TEST_CASE("a call without children goes on at once, and before any child") {
  SpawnBook book;
  book.suspend(step_of("first"), children_of({"child"}));
  book.suspend(step_of("second"), {});
  CHECK(text_of(book.next()->input) == "second");
  CHECK(text_of(book.next()->input) == "child");
  CHECK_FALSE(book.next().has_value());
}

TEST_CASE("a child that fails fails its call, when the others have ended, all the way up") {
  SpawnBook book;
  book.suspend(step_of("root"), children_of({"x"}));
  Step x = std::move(*book.next());
  Step rest = step_of("inner");
  rest.asker = x.asker;
  book.suspend(std::move(rest), children_of({"a", "b", "c"}));
  const Step a = std::move(*book.next());
  const Step b = std::move(*book.next());
  const Step c = std::move(*book.next());
  // What is ended because of it says less than what it was.
  CHECK_FALSE(book.end(a.asker, call, failure_of(Outcome::cancelled, "cancelled")));
  StepEnd failure = failure_of(Outcome::function_error, "b is wrong");
  failure.log.append("b was here");
  CHECK_FALSE(book.end(b.asker, call, std::move(failure)));
  const auto told = book.end(c.asker, call, failure_of(Outcome::function_error, "c is too"));
  REQUIRE(told.has_value());
  CHECK(told->to.kind == Asker::Kind::client);
  CHECK(told->request_id == call);
  CHECK(told->end.outcome == Outcome::function_error);
  CHECK(text_of(told->end.payload) == "b is wrong");
  CHECK(told->end.log.text == "b was here");
  CHECK(book.held() == 0);
  CHECK(book.bytes() == ByteCount{0});
  CHECK_FALSE(book.has_steps());
}

TEST_CASE("the oldest children are lent, but for the last one, and so many to one member") {
  SpawnBook book;
  std::vector<Step> children;
  for (int i = 0; i < 100; ++i) {
    children.push_back(step_of(std::to_string(i)));
    children.back().header.request_id = call;
  }
  book.suspend(step_of("root"), std::move(children));
  for (std::uint32_t i = 0; i < crew::loans; ++i) {
    const auto loan = book.lend(2);
    REQUIRE(loan.has_value());
    CHECK(loan->number == i);
    CHECK(text_of(loan->child.input) == std::to_string(99 - i));
  }
  CHECK_FALSE(book.lend(2).has_value());
  CHECK(book.lend(3).has_value());
  CHECK_FALSE(book.take_back(2, crew::loans, call).has_value());
  CHECK_FALSE(book.take_back(65, 0, call).has_value());
  CHECK_FALSE(book.take_back(1, 0, call).has_value());
  CHECK_FALSE(book.take_back(2, 7, call + 1).has_value());
  CHECK(book.take_back(2, 7, call)->child == 92);
  CHECK_FALSE(book.take_back(2, 7, call).has_value());
  CHECK(book.lend(2)->number == 7);

  SpawnBook small;
  small.suspend(step_of("root"), children_of({"only"}));
  CHECK(small.spare() == 0);
  CHECK_FALSE(small.lend(2).has_value());
  small.suspend(step_of("ready"), {});
  CHECK(small.spare() == 1);
}

TEST_CASE("what was borrowed has to end before the same loan comes again") {
  SpawnBook book;
  const Asker lender{.kind = Asker::Kind::member, .loan = 3, .number = 2};
  const auto lent = [&](std::string_view input) {
    Step child = step_of(input);
    child.asker = lender;
    return child;
  };
  CHECK(book.borrow(lent("first")));
  CHECK_FALSE(book.borrow(lent("again")));
  const Step child = std::move(*book.next());
  CHECK_FALSE(book.borrow(lent("while it runs")));
  const auto told = book.end(child.asker, call, output_of("done"));
  REQUIRE(told.has_value());
  CHECK(told->to.number == 2);
  CHECK(told->to.loan == 3);
  CHECK(book.borrow(lent("next")));
}

TEST_CASE("what calls have logged counts as bytes that are held") {
  SpawnBook book({.held = 100, .bytes = 100_KiB});
  Step rest = step_of("state");
  rest.log.append(std::string(3000, 'r'));
  book.suspend(std::move(rest), children_of({"a", "b"}));
  CHECK(book.bytes() == ByteCount{5 + 2 + 3000});
  const Step a = std::move(*book.next());
  StepEnd end = output_of("");
  end.log.append(std::string(4000, 'a'));
  CHECK_FALSE(book.end(a.asker, call, std::move(end)));
  CHECK(book.bytes() == ByteCount{5 + 1 + 7000});
  const Step b = std::move(*book.next());
  end = output_of("");
  end.log.append(std::string(4000, 'b'));
  CHECK_FALSE(book.end(b.asker, call, std::move(end)));
  const auto goes_on = book.next();
  CHECK(goes_on->log.text.size() == crew::log_size.value);
  CHECK(goes_on->log.dropped == 11'000 - crew::log_size.value);
  CHECK(book.bytes() == ByteCount{0});
}

TEST_CASE("limits are on children that wait, calls that wait for them, and their bytes") {
  SpawnBook book({.held = 4, .bytes = ByteCount{10}});
  CHECK(book.has_room(3, 10));
  CHECK_FALSE(book.has_room(4, 0));
  CHECK_FALSE(book.has_room(1, 11));
  book.suspend(step_of("12"), children_of({"34"}));
  CHECK(book.has_room(1, 6));
  CHECK_FALSE(book.has_room(2, 6));
  CHECK_FALSE(book.has_room(1, 7));
  const Step child = std::move(*book.next());
  const auto told = book.end(child.asker, call, output_of("123456789"));
  REQUIRE(told.has_value());
  CHECK(told->end.outcome == Outcome::no_capacity);
  CHECK(text_of(told->end.payload).find("10 B") != std::string::npos);
  CHECK(book.bytes() == ByteCount{0});
}

TEST_CASE("a log of many steps is kept up to its limit, and what is cut is counted") {
  StepLog log;
  log.append(std::string(crew::log_size.value - 1, 'x'));
  log.append("ab", 5);
  CHECK(log.text.size() == crew::log_size.value);
  CHECK(log.text.back() == 'a');
  CHECK(log.dropped == 6);
}

namespace {

/// What a tree is made of: how many children each node has, and which of them fail.
struct Shape {
  std::uint32_t depth = 0;
  std::uint32_t most_children = 0;
  bool even = false;               // each has the most, down to the depth
  std::uint32_t fails_one_in = 0;  // 0: none
  std::uint64_t seed = 0;
};
struct Node {
  std::uint64_t name = 0;
  std::uint32_t depth = 0;
};
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}
std::vector<Node> below(const Shape& shape, const Node& node) {
  std::vector<Node> nodes;
  if (node.depth == shape.depth) return nodes;
  const std::uint64_t count =
      shape.even ? shape.most_children : mix(node.name + shape.seed) % (shape.most_children + 1);
  for (std::uint64_t i = 0; i < count; ++i)
    nodes.push_back({.name = mix(node.name * 31 + i + 1), .depth = node.depth + 1});
  return nodes;
}
std::uint64_t size_below(const Shape& shape, const Node& node) {
  std::uint64_t size = 1;
  for (const Node& child : below(shape, node)) size += size_below(shape, child);
  return size;
}
bool fails(const Shape& shape, const Node& node) {
  return shape.fails_one_in != 0 && mix(node.name ^ shape.seed) % shape.fails_one_in == 0;
}

template <typename T>
AlignedBytes packed(const T& value) {
  AlignedBytes bytes;
  REQUIRE(bytes.assign(std::as_bytes(std::span(&value, 1))));
  return bytes;
}
template <typename T>
T unpacked(const AlignedBytes& bytes) {
  T value{};
  REQUIRE(bytes.size() == sizeof(value));
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

enum : std::uint16_t { entry_visit, entry_sum };

/// Members 1 to N. Each turn one of them, by chance, takes a message or runs a step.
class SimulatedCrew {
 public:
  SimulatedCrew(const Shape& shape, std::uint32_t members)
      : shape_(shape), books_(members + 1), random_(shape.seed) {}

  StepEnd run() {
    Step root;
    root.input = packed(Node{.name = shape_.seed, .depth = 0});
    run_step(1, std::move(root));
    std::size_t turns = 0;
    while (!answer_) {
      REQUIRE(++turns < 3'000'000);
      const auto member = static_cast<std::uint32_t>(1 + random_() % (books_.size() - 1));
      lend(member);
      if (!take_message(member))
        if (auto step = books_[member].next()) run_step(member, std::move(*step));
      most_held_ = std::max(most_held_, books_[member].held());
      if (books_[member].lent() > 0) ++turns_with_loans;
    }
    for (const SpawnBook& book : books_) {
      CHECK(book.held() == 0);
      CHECK(book.lent() == 0);
      CHECK(book.bytes() == ByteCount{0});
    }
    for (const auto& [pair, messages] : messages_) CHECK(messages.empty());
    return std::move(*answer_);
  }
  [[nodiscard]] std::size_t most_held() const { return most_held_; }
  std::size_t steps = 0;
  std::size_t turns_with_loans = 0;

 private:
  struct Message {
    bool is_end = false;
    std::uint32_t loan = 0;
    Step child;
    StepEnd end;
  };
  using Pair = std::pair<std::uint32_t, std::uint32_t>;

  bool is_idle(std::uint32_t member) {
    if (books_[member].has_steps()) return false;
    return std::ranges::all_of(messages_, [member](const auto& each) {
      return each.first.second != member || each.second.empty();
    });
  }
  void lend(std::uint32_t member) {
    const auto members = static_cast<std::uint32_t>(books_.size() - 1);
    for (std::uint32_t other = 1; other <= members; ++other) {
      if (other == member || !is_idle(other)) continue;
      for (std::size_t left = books_[member].share(members); left > 0; --left) {
        auto loan = books_[member].lend(other);
        if (!loan) break;
        push({member, other},
             {.is_end = false, .loan = loan->number, .child = std::move(loan->child), .end = {}});
      }
    }
  }
  void push(const Pair& pair, Message message) {
    std::deque<Message>& messages = messages_[pair];
    messages.push_back(std::move(message));
    // Each kind has as many rooms.
    CHECK(std::ranges::count(messages, true, &Message::is_end) <= crew::loans);
    CHECK(std::ranges::count(messages, false, &Message::is_end) <= crew::loans);
  }
  bool take_message(std::uint32_t member) {
    for (auto& [pair, messages] : messages_) {
      if (pair.second != member || messages.empty()) continue;
      Message message = std::move(messages.front());
      messages.pop_front();
      if (message.is_end) {
        const auto asker = books_[member].take_back(pair.first, message.loan, 0);
        REQUIRE(asker.has_value());
        end_step(member, *asker, std::move(message.end));
      } else {
        message.child.asker = {.kind = Asker::Kind::member,
                               .loan = static_cast<std::uint8_t>(message.loan),
                               .number = pair.first};
        REQUIRE(books_[member].borrow(std::move(message.child)));
      }
      return true;
    }
    return false;
  }
  void run_step(std::uint32_t member, Step step) {
    ++steps;
    if (step.header.entry == entry_sum) {
      const auto node = unpacked<Node>(step.input);
      const auto children = below(shape_, node);
      REQUIRE(step.outputs.size() == children.size());
      std::uint64_t sum = 1;
      for (std::size_t i = 0; i < children.size(); ++i) {
        const auto size = unpacked<std::uint64_t>(step.outputs[i]);
        if (node.depth + 3 > shape_.depth) CHECK(size == size_below(shape_, children[i]));
        sum += size;
      }
      return end_step(member, step.asker, {.payload = packed(sum)});
    }
    const auto node = unpacked<Node>(step.input);
    if (fails(shape_, node))
      return end_step(member, step.asker, {.outcome = Outcome::function_error});
    std::vector<Step> children;
    for (const Node& child : below(shape_, node)) {
      children.emplace_back();
      children.back().input = packed(child);
    }
    if (children.empty())
      return end_step(member, step.asker, {.payload = packed(std::uint64_t{1})});
    Step rest;
    rest.header.entry = entry_sum;
    rest.asker = step.asker;
    rest.input = std::move(step.input);
    books_[member].suspend(std::move(rest), std::move(children));
  }
  void end_step(std::uint32_t member, const Asker& asker, StepEnd end) {
    auto told = books_[member].end(asker, call, std::move(end));
    if (!told) return;
    if (told->to.kind == Asker::Kind::client) {
      REQUIRE_FALSE(answer_.has_value());
      answer_ = std::move(told->end);
      return;
    }
    push({member, told->to.number},
         {.is_end = true, .loan = told->to.loan, .child = {}, .end = std::move(told->end)});
  }

  Shape shape_;
  std::vector<SpawnBook> books_;
  std::map<Pair, std::deque<Message>> messages_;
  std::mt19937_64 random_;
  std::optional<StepEnd> answer_;
  std::size_t most_held_ = 0;
};

}  // namespace

TEST_CASE("trees of any shape come to their sums on any number of members, and nothing is left") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed)
    for (const std::uint32_t members : {1U, 2U, 3U, 8U}) {
      const Shape shape{.depth = static_cast<std::uint32_t>(1 + seed % 7),
                        .most_children = static_cast<std::uint32_t>(1 + seed % 5),
                        .seed = mix(seed)};
      CAPTURE(seed);
      CAPTURE(members);
      const std::uint64_t size = size_below(shape, {.name = shape.seed, .depth = 0});
      if (size > 20'000) continue;
      SimulatedCrew crew(shape, members);
      const StepEnd end = crew.run();
      REQUIRE(end.is_ok());
      CHECK(unpacked<std::uint64_t>(end.payload) == size);
    }
}

TEST_CASE("a tree with failures is answered once, as failed, and nothing is left of it") {
  std::size_t failed = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Shape shape{.depth = 6, .most_children = 4, .fails_one_in = 50, .seed = mix(seed)};
    if (size_below(shape, {.name = shape.seed, .depth = 0}) > 20'000) continue;
    CAPTURE(seed);
    SimulatedCrew crew(shape, 3);
    if (crew.run().outcome == Outcome::function_error) ++failed;
  }
  CHECK(failed > 20);
}

TEST_CASE("of ten thousand spawns two members hold no more than depth times fan-out each") {
  struct Tree {
    std::uint32_t depth;
    std::uint32_t fan_out;
  };
  for (const Tree& tree : {Tree{13, 2}, Tree{4, 10}, Tree{2, 100}, Tree{1, 10'000}}) {
    CAPTURE(tree.depth);
    const Shape shape{.depth = tree.depth, .most_children = tree.fan_out, .even = true, .seed = 5};
    SimulatedCrew crew(shape, 2);
    const StepEnd end = crew.run();
    CHECK(unpacked<std::uint64_t>(end.payload) >= 10'000);
    CHECK(crew.turns_with_loans > 0);
    // The calls that wait for their children among them.
    CHECK(crew.most_held() <= std::size_t{tree.depth} * (tree.fan_out + 1));
  }
}

}  // namespace orchid::executor
