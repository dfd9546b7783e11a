// data_book_parts.h: what tests of the book of data objects ask it.
#pragma once
#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "data/data_book.h"

namespace orchid::executor {

constexpr std::uint32_t ada = 1000;
constexpr std::uint32_t eve = 1001;
constexpr MonotonicTime book_start{std::chrono::hours(1)};

inline MakeData room_request(std::uint64_t bytes, std::string name = "",
                             std::uint32_t tenant = ada) {
  return {.data = make_data_id(),
          .terms = {.tenant = {tenant, "somebody"},
                    .bytes = ByteCount{bytes},
                    .name = std::move(name),
                    .secret = std::string(64, 'a')},
          .write_within = std::chrono::seconds(10)};
}

inline DataBook book_of(std::uint64_t budget, std::uint64_t per_tenant = 0) {
  return DataBook({.budget = ByteCount{budget},
                   .per_tenant = ByteCount{per_tenant == 0 ? budget : per_tenant}});
}

inline DataId sealed_in(DataBook& book, const MakeData& made, MonotonicTime now) {
  REQUIRE(book.make(made, now).has_value());
  REQUIRE(book.seal(made.data, now) == made.terms.bytes);
  return made.data;
}

inline ErrorCode code_of_book(const auto& result) {
  return result ? ErrorCode::internal : result.error().code;
}

}  // namespace orchid::executor
