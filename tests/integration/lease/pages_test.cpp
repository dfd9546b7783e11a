// Where a Buffer lies: in the same physical memory for the program and for the function.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <optional>

#include "lease_fixture.h"

namespace orchid::tests {
namespace {

/// The byte of which file is mapped at `address`.
struct FileByte {
  std::string file;  // device and inode
  std::uint64_t offset = 0;
  friend bool operator==(const FileByte&, const FileByte&) = default;
};

std::optional<FileByte> file_byte(const std::string& process, std::uintptr_t address) {
  std::ifstream maps("/proc/" + process + "/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long start = 0;
    unsigned long end = 0;
    unsigned long offset = 0;
    char rights[8] = {};
    char device[16] = {};
    unsigned long inode = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %7s %lx %15s %lu", &start, &end, rights, &offset, device,
                    &inode) == 6 &&
        address >= start && address < end && inode != 0 && rights[3] == 's')
      return FileByte{std::string(device) + " " + std::to_string(inode),
                      offset + (address - start)};
  }
  return std::nullopt;
}

/// The number of the physical page behind `address`; nothing where the kernel does not tell it.
std::optional<std::uint64_t> physical_page(const std::string& process, std::uintptr_t address) {
  constexpr std::uint64_t number = (1ULL << 55) - 1;
  std::ifstream pagemap("/proc/" + process + "/pagemap", std::ios::binary);
  const auto page = static_cast<std::streamoff>(address / static_cast<unsigned>(::getpagesize()));
  std::uint64_t entry = 0;
  pagemap.seekg(page * static_cast<std::streamoff>(sizeof(entry)));
  if (!pagemap.read(reinterpret_cast<char*>(&entry), sizeof(entry)) || (entry & number) == 0)
    return std::nullopt;
  return entry & number;
}

}  // namespace

TEST_CASE_FIXTURE(LeaseFixture, "a 1 MiB input reaches the function on the same physical pages") {
  if (lane_under_test() != LaneKind::local) return;  // of what crosses a network it has copies
  constexpr std::size_t size = 1 << 20;
  const LeasedFunction where = load("reports_address");
  const std::string worker(load("reports_pid").invoke("").text());
  Buffer input = lease.buffer(size);
  const auto here = reinterpret_cast<std::uintptr_t>(input.bytes().data());
  std::ranges::fill(input.bytes(), std::byte{'x'});
  const std::string answer(where.invoke(std::move(input)).text());
  const std::uintptr_t there = std::stoull(answer);
  for (const std::size_t offset : {std::size_t{0}, size / 2, size - 1}) {
    CAPTURE(offset);
    const auto mine = file_byte("self", here + offset);
    const auto its = file_byte(worker, there + offset);
    REQUIRE(mine.has_value());
    REQUIRE(its.has_value());
    CHECK(mine->file == its->file);
    CHECK(mine->offset == its->offset);
    // The kernel says so itself, to those who may know.
    const auto my_page = physical_page("self", here + offset);
    const auto its_page = physical_page(worker, there + offset);
    CHECK(my_page.has_value() == its_page.has_value());
    if (my_page && its_page) CHECK(*my_page == *its_page);
  }
  // An input of the caller's own memory is copied into the lane, so it lies elsewhere.
  const std::vector<std::byte> own(size, std::byte{'x'});
  CHECK_FALSE(file_byte("self", reinterpret_cast<std::uintptr_t>(own.data())).has_value());
}

}  // namespace orchid::tests
