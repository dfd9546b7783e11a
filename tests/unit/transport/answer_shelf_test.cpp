// Answers of children that outlive a crew: what is put is read, and rubbish harms nobody.
#include "transport/answer_shelf.h"

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "protocol/crew.h"

namespace orchid::transport {
namespace {

using Found = std::map<std::pair<std::uint64_t, std::uint64_t>, std::string>;

Found found_in(std::span<const std::byte> memory) {
  Found found;
  AnswerShelf::read(
      memory, [&](std::uint64_t call, std::uint64_t key, std::span<const std::byte> answer) {
        found[{call, key}] = {reinterpret_cast<const char*>(answer.data()), answer.size()};
      });
  return found;
}
bool put(AnswerShelf& shelf, std::uint64_t call, std::uint64_t key, std::string_view answer,
         AnswerShelf::WhenFull when_full = AnswerShelf::WhenFull::stop) {
  return shelf.put(call, key, std::as_bytes(std::span(answer)), when_full);
}
/// Aligned as shared memory is.
struct Memory {
  explicit Memory(std::size_t size) : words(size / sizeof(std::uint64_t)) {}
  std::vector<std::uint64_t> words;
  [[nodiscard]] std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(words)); }
};

}  // namespace

TEST_CASE("what is put on a shelf is found, of any size") {
  Memory memory(1 << 20);
  CHECK(found_in(memory.bytes()).empty());
  AnswerShelf shelf(memory.bytes());
  const std::string large(crew::payload_size.value, 'x');
  CHECK(put(shelf, 256, 1, ""));
  CHECK(put(shelf, 256, 2, "seven b"));
  CHECK(put(shelf, 512, 1, large));
  const std::size_t filled = AnswerShelf::filled(memory.bytes());
  CHECK(filled > crew::payload_size.value);
  CHECK_FALSE(put(shelf, 512, 2, large + "y"));
  CHECK(AnswerShelf::filled(memory.bytes()) == filled);
  CHECK(found_in(memory.bytes()) ==
        Found{{{256, 1}, ""}, {{256, 2}, "seven b"}, {{512, 1}, large}});
}

TEST_CASE("a full shelf takes no more, or forgets its older half") {
  Memory stops(4096);
  AnswerShelf until_full(stops.bytes());
  std::uint64_t number = 0;
  while (put(until_full, 1, number, "an answer")) ++number;
  CHECK(found_in(stops.bytes()).size() == number);
  Memory forgets(4096);
  AnswerShelf latest(forgets.bytes());
  for (std::uint64_t key = 0; key < 10 * number; ++key) {
    CHECK(put(latest, 1, key, "an answer", AnswerShelf::WhenFull::forget_oldest));
    const Found found = found_in(forgets.bytes());
    for (std::uint64_t back = 0; back <= std::min(key, number / 2 - 1); ++back)
      CHECK(found.contains({1, key - back}));
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{64}, std::size_t{128}}) {
    Memory none(size);
    AnswerShelf shelf(none.bytes());
    CHECK_FALSE(put(shelf, 1, 1, "x", AnswerShelf::WhenFull::forget_oldest));
    CHECK(found_in(none.bytes()).empty());
  }
}

TEST_CASE("rubbish on a shelf is read within its bounds") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    Memory memory(4096);
    AnswerShelf shelf(memory.bytes());
    for (std::uint64_t key = 0; key < 20; ++key) (void)put(shelf, 1, key, "an answer");
    for (int i = 0; i < 8; ++i)
      memory.words[random() % memory.words.size()] = random() >> (random() % 64);
    AnswerShelf::read(memory.bytes(),
                      [&](std::uint64_t, std::uint64_t, std::span<const std::byte> answer) {
                        const std::span<std::byte> all = memory.bytes();
                        CHECK(answer.data() >= all.data());
                        CHECK(answer.data() + answer.size() <= all.data() + all.size());
                      });
  }
}

}  // namespace orchid::transport
