#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <random>
#include <sstream>
#include <string>

#include "fake_host.h"

extern "C" EntryPoint orchid_entry_wordcount;

namespace {

std::string counts_of(std::string_view text) {
  return call_entry(orchid_entry_wordcount, text).output;
}

/// What coreutils says, its columns joined by single spaces.
std::string counts_of_wc(const std::string& text) {
  const std::string path = "wordcount-" + std::to_string(text.size()) + ".txt";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  REQUIRE(file != nullptr);
  REQUIRE(std::fwrite(text.data(), 1, text.size(), file) == text.size());
  std::fclose(file);
  std::FILE* wc = ::popen(("LC_ALL=C wc < " + path).c_str(), "r");
  REQUIRE(wc != nullptr);
  std::array<char, 100> line{};
  REQUIRE(std::fgets(line.data(), line.size(), wc) != nullptr);
  ::pclose(wc);
  std::remove(path.c_str());
  std::istringstream columns{line.data()};
  std::string lines, words, bytes;
  columns >> lines >> words >> bytes;
  return lines + " " + words + " " + bytes + "\n";
}

}  // namespace

TEST_CASE("wordcount counts an empty input") { CHECK(counts_of("") == "0 0 0\n"); }

TEST_CASE("wordcount counts a last line without its end as words but not as a line") {
  CHECK(counts_of("one two\nthree") == "1 3 13\n");
}

TEST_CASE("bytes that are neither printable nor white space neither start nor end a word") {
  CHECK(counts_of("\x01\x80 a\x01"
                  "b \xff") == "0 1 8\n");
}

TEST_CASE("wordcount agrees with wc on random bytes of many kinds") {
  std::mt19937 random{7};
  for (int round = 0; round < 60; ++round) {
    std::string text(random() % 4000, ' ');
    const unsigned alphabet = round % 3 == 0 ? 256 : round % 3 == 1 ? 128 : 40;
    for (char& c : text) c = static_cast<char>(random() % alphabet);
    CHECK(counts_of(text) == counts_of_wc(text));
  }
}
