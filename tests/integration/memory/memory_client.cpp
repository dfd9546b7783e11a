// memory_client.cpp: a program that uses leased memory as it is told, line by line: "put 0 100 7"
// puts 100 bytes that 7 stands for. It answers "ok ...", or "error KIND what happened".
#include <orchid/client.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Words = std::istringstream;

template <typename T>
T take(Words& words) {
  T value{};
  if (!(words >> value))
    throw orchid::Error({.kind = orchid::ErrorKind::bad_request, .message = "a word is missing"});
  return value;
}

/// Of seed 0 all are zero.
std::vector<std::byte> bytes_of(std::size_t size, std::uint64_t seed) {
  std::vector<std::byte> bytes(size);
  if (seed == 0) return bytes;
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(((i + seed) * 2'654'435'761U) >> 13U);
  return bytes;
}

class Session {
 public:
  std::string perform(const std::string& line) {
    Words words(line);
    const auto name = take<std::string>(words);
    const auto known = commands_.find(name);
    if (known == commands_.end())
      throw orchid::Error({.kind = orchid::ErrorKind::bad_request, .message = "no such command"});
    return known->second(words);
  }

 private:
  orchid::RemoteMemory& memory() { return memory_.value(); }

  std::string take_lease(Words& words) {
    orchid::MemoryOptions options{.bytes = take<std::uint64_t>(words),
                                  .patience = std::chrono::seconds(5)};
    if (std::int64_t seconds = 0; words >> options.host >> seconds)
      options.duration = std::chrono::seconds(seconds);
    memory_ = client_.memory(options);
    return memory().id() + " " + memory().host() + " " + std::to_string(memory().size());
  }
  std::string attach(Words& words) {
    memory_ = client_.attach_memory(take<std::string>(words));
    return memory().id();
  }
  std::string put(Words& words) {
    const auto offset = take<std::uint64_t>(words);
    const auto size = take<std::size_t>(words);
    memory().put(offset, bytes_of(size, take<std::uint64_t>(words)));
    return "put";
  }
  /// Both ways to read.
  std::string compare(Words& words) {
    const auto offset = take<std::uint64_t>(words);
    const auto size = take<std::size_t>(words);
    const auto expected = bytes_of(size, take<std::uint64_t>(words));
    std::vector<std::byte> read(size);
    memory().get(offset, read);
    std::vector<std::byte> again(size);
    orchid::MemoryGet get = memory().get_async(offset, again);
    get.wait();
    return read == expected && again == expected ? "same" : "different";
  }
  std::string batch(Words& words) {
    const auto count = take<std::uint64_t>(words);
    constexpr std::uint64_t page = 4096;
    const auto bytes = bytes_of(page, 3);
    std::vector<std::vector<std::byte>> read(count, std::vector<std::byte>(page));
    orchid::MemoryBatch batch = memory().batch();
    for (std::uint64_t i = 0; i < count; ++i) batch.put(i * page, bytes).get(i * page, read[i]);
    batch.run();
    return std::ranges::all_of(read, [&](const auto& one) { return one == bytes; }) ? "same"
                                                                                    : "different";
  }
  std::string column(Words& words) {
    const auto count = take<std::uint64_t>(words);
    const orchid::MemoryRows rows{.offset = 16, .row = 8, .stride = 1000, .count = count};
    const auto bytes = bytes_of(8 * count, 5);
    memory().put(rows, bytes);
    std::vector<std::byte> read(bytes.size());
    memory().get(rows, read);
    std::vector<std::byte> again(bytes.size());
    memory().batch().put(rows, bytes).get(rows, again).run();
    return read == bytes && again == bytes ? "same" : "different";
  }
  std::string add(Words& words) {
    const auto offset = take<std::uint64_t>(words);
    return std::to_string(memory().fetch_add(offset, take<std::uint64_t>(words)));
  }
  std::string swap(Words& words) {
    const auto offset = take<std::uint64_t>(words);
    const auto expected = take<std::uint64_t>(words);
    return std::to_string(memory().compare_swap(offset, expected, take<std::uint64_t>(words)));
  }
  /// Until it fails; says when it has begun.
  std::string add_for_ever(Words&) {
    std::cout << "ok adding" << std::endl;
    for (;;) (void)memory().fetch_add(0, 1);
  }
  std::string put_for_ever(Words& words) {
    const auto bytes = bytes_of(take<std::size_t>(words), 9);
    std::cout << "ok putting" << std::endl;
    for (;;) memory().put(0, bytes);
  }

  orchid::Client client_;
  std::optional<orchid::RemoteMemory> memory_;
  const std::map<std::string, std::function<std::string(Words&)>> commands_{
      {"take", [this](Words& words) { return take_lease(words); }},
      {"attach", [this](Words& words) { return attach(words); }},
      {"put", [this](Words& words) { return put(words); }},
      {"compare", [this](Words& words) { return compare(words); }},
      {"batch", [this](Words& words) { return batch(words); }},
      {"column", [this](Words& words) { return column(words); }},
      {"add", [this](Words& words) { return add(words); }},
      {"swap", [this](Words& words) { return swap(words); }},
      {"add_for_ever", [this](Words& words) { return add_for_ever(words); }},
      {"put_for_ever", [this](Words& words) { return put_for_ever(words); }},
      {"fence", [this](Words&) { return memory().fence(), "fenced"; }},
      {"release", [this](Words&) { return memory().release(), "released"; }},
      {"leave", [this](Words&) { return memory_.reset(), "left"; }}};
};

}  // namespace

int main() {
  Session session;
  for (std::string line; std::getline(std::cin, line);) {
    try {
      const std::string said = session.perform(line);
      std::cout << "ok " << said << std::endl;
    } catch (const orchid::Error& error) {
      std::cout << "error " << orchid::to_string(error.kind()) << " " << error.message()
                << std::endl;
    }
  }
}
