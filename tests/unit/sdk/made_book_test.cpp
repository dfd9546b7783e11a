#include "crew/made_book.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "foundation/files.h"

namespace orchid::sdk {
namespace {

UniqueFd file_of(std::size_t size) {
  auto file = make_sealed_memory("test", std::vector<std::byte>(size));
  REQUIRE(file.has_value());
  return std::move(*file);
}
LaneMade module_of(unsigned number, std::string base = {}) {
  const std::string digits = std::to_string(number);
  return {.digest = "sha256:" + std::string(64 - digits.size(), '0') + digits,
          .base = std::move(base)};
}
ErrorCode refusal(const Result<void>& kept) {
  REQUIRE_FALSE(kept.has_value());
  return kept.error().code;
}

}  // namespace

TEST_CASE("what a call has made is found by its digest, and by the beginning of that") {
  MadeBook book;
  const LaneMade made = module_of(7, module_of(1).digest);
  REQUIRE(book.keep(made, file_of(10), 1).has_value());
  for (const std::string& name : {made.digest, made.digest.substr(0, 23)}) {
    const MadeBook::Entry* const found = book.find(name);
    REQUIRE(found != nullptr);
    CHECK(found->first == made.digest);
    CHECK(found->second.base == made.base);
  }
  CHECK(book.find(module_of(8).digest) == nullptr);
  CHECK(book.find("sha256:f") == nullptr);
  // Functions may be called so.
  CHECK(book.find("sha256") == nullptr);
  CHECK(book.find("s") == nullptr);
  CHECK(book.find("") == nullptr);
}

TEST_CASE("what is kept is not replaced") {
  MadeBook book;
  REQUIRE(book.keep(module_of(1), file_of(10), 1).has_value());
  const int content = book.find(module_of(1).digest)->second.content.get();
  REQUIRE(book.keep(module_of(1, module_of(2).digest), file_of(20), 1).has_value());
  CHECK(book.find(module_of(1).digest)->second.content.get() == content);
  CHECK(book.find(module_of(1).digest)->second.base.empty());
}

TEST_CASE("no more is kept than the limits say") {
  MadeBook book;
  CHECK(refusal(book.keep(module_of(1), file_of(largest_made_module.value + 1), 1)) ==
        ErrorCode::too_large);
  CHECK(refusal(book.keep(module_of(1), UniqueFd(), 1)) == ErrorCode::bad_request);
  CHECK(refusal(book.keep({.digest = "sha256:1"}, file_of(1), 1)) == ErrorCode::bad_request);
  CHECK(refusal(book.keep(module_of(1, "base"), file_of(1), 1)) == ErrorCode::bad_request);
  for (unsigned i = 0; i < MadeBook::most; ++i)
    REQUIRE(book.keep(module_of(i), file_of(1), 1).has_value());
  CHECK(refusal(book.keep(module_of(100), file_of(1), 1)) == ErrorCode::no_capacity);
  CHECK(book.keep(module_of(0), file_of(1), 1).has_value());
}

TEST_CASE("what an earlier crew has made goes for what the next one makes") {
  MadeBook book;
  for (unsigned i = 0; i < MadeBook::most; ++i)
    REQUIRE(book.keep(module_of(i), file_of(1), 1).has_value());
  REQUIRE(book.keep(module_of(0), file_of(1), 2).has_value());  // made once more
  for (unsigned i = 100; i < 100 + MadeBook::most - 1; ++i)
    REQUIRE(book.keep(module_of(i), file_of(1), 2).has_value());
  CHECK(book.find(module_of(0).digest) != nullptr);
  CHECK(book.find(module_of(1).digest) == nullptr);
  CHECK(refusal(book.keep(module_of(200), file_of(1), 2)) == ErrorCode::no_capacity);
}

}  // namespace orchid::sdk
