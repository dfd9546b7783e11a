// The example functions/kvstore: look-ups that go to the record, and filters of whoever asks.
#include <cmath>
#include <cstring>
#include <span>
#include <string_view>

#include "crew_fixture.h"
#include "kvstore/record.h"

namespace orchid::tests {
namespace {

constexpr std::uint64_t records = 10'000;
constexpr unsigned members = 3;

kvstore::Filter filter_of(std::string_view name) {
  kvstore::Filter filter{};
  std::memcpy(filter.data(), name.data(), std::min(name.size(), filter.size() - 1));
  return filter;
}

struct StoreFixture : CrewFixture {
  Crew crew = take({.workers = members});
  CrewFunction get = entry_of(crew, store(), "kv_get");
  CrewFunction count = entry_of(crew, store(), "kv_count");
  /// It is invoked by the others; that it was asked for loads it.
  CrewFunction whole = entry_of(crew, std::filesystem::path(EXAMPLES) / "filters.bc", "is_whole");

  static std::filesystem::path store() { return std::filesystem::path(EXAMPLES) / "kvstore.bc"; }
  [[nodiscard]] Reply look_up(unsigned member, std::uint64_t key, std::string_view filter) const {
    const kvstore::Lookup asked{.records = records, .key = key, .filter = filter_of(filter)};
    return get.invoke(member, std::as_bytes(std::span(&asked, 1)));
  }
  [[nodiscard]] std::array<std::uint64_t, 2> counted(unsigned member,
                                                     std::string_view filter) const {
    const kvstore::Count asked{.records = records,
                               .found = 0,
                               .left = members - 1,
                               .moves = 0,
                               .filter = filter_of(filter)};
    return value_of<std::array<std::uint64_t, 2>>(
        count.invoke(member, std::as_bytes(std::span(&asked, 1))));
  }
};

}  // namespace

TEST_CASE_FIXTURE(StoreFixture, "a record is found from each member, if the filter lets it pass") {
  for (const std::uint64_t key : {0U, 1U, 2U, 144U, 9'999U})
    for (unsigned member = 1; member <= members; ++member) {
      const auto record = value_of<kvstore::Record>(look_up(member, key, ""));
      CHECK(record.key == key);
      CHECK(record.value == std::sqrt(static_cast<double>(key)));
    }
  CHECK(value_of<kvstore::Record>(look_up(1, 144, "is_whole")).value == 12);
  CHECK(look_up(1, 145, "is_whole").output.empty());
  CHECK(look_up(2, 145, "is_odd").output.size() == sizeof(kvstore::Record));
  CHECK(look_up(2, records, "").output.empty());
}

TEST_CASE_FIXTURE(StoreFixture, "a count visits all members, and takes its filter along") {
  CHECK(counted(1, "") == std::array<std::uint64_t, 2>{records, members - 1});
  CHECK(counted(2, "is_whole") == std::array<std::uint64_t, 2>{100, members - 1});
  CHECK(counted(3, "is_odd") == std::array<std::uint64_t, 2>{records / 2, members - 1});
}

TEST_CASE("a filter that nobody has loaded comes to the record by itself") {
  LocalExecutor executor({.programs = PROGRAMS, .spare = 1});
  auto source = std::make_unique<ExecutorCrews>(executor);
  const auto filters =
      read_file(std::filesystem::path(EXAMPLES) / "filters.bc", limits::module_size);
  REQUIRE(filters.has_value());
  source->deploy("filters", *filters);
  Crew crew = take_crew(std::move(source), {.workers = members});
  const CrewFunction get = CrewFixture::entry_of(crew, StoreFixture::store(), "kv_get");
  for (const std::uint64_t key : {144U, 145U}) {
    const kvstore::Lookup asked{
        .records = records, .key = key, .filter = filter_of("filters.is_whole")};
    CHECK(get.invoke(1, std::as_bytes(std::span(&asked, 1))).output.empty() == (key == 145));
  }
}

TEST_CASE_FIXTURE(StoreFixture, "a filter that there is not is told by its name") {
  for (const auto& ask : {+[](const StoreFixture& store) { (void)store.look_up(1, 5, "is_prime"); },
                          +[](const StoreFixture& store) { (void)store.counted(1, "is_prime"); }}) {
    try {
      ask(*this);
      FAIL("it was found");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::function_error);
      CHECK(std::string_view(error.what()).find("is_prime") != std::string_view::npos);
    }
  }
}

}  // namespace orchid::tests
