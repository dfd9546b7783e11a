#include "data_mappings.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "mapping_list.h"
#include "process_state.h"

namespace orchid::executor {
namespace {

const DataId first_data = make_data_id();
const DataId second_data = make_data_id();

/// A sealed file as the agent makes it.
UniqueFd data_file_of(std::size_t bytes) {
  const std::vector<std::byte> content(bytes, std::byte{7});
  return make_sealed_memory("orchid-data", content).value();
}

/// A worker's view on itself, with two objects of some pages each.
struct MappingProcess {
  UniqueFd mappings{::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
  DataMappings data;
  ProcessState state{{.mappings = mappings.get(), .data = &data}};
  MappingProcess() {
    state.remember();
    REQUIRE(data.map(first_data, data_file_of(16'384).get(), 16'384).has_value());
    REQUIRE(data.map(second_data, data_file_of(5000).get(), 5000).has_value());
  }
  [[nodiscard]] void* at(const DataId& id, std::size_t offset = 0) const {
    return const_cast<std::byte*>(data.find(id)->bytes().data()) + offset;
  }
};

constexpr const char* changed_mapping = "the function changed how data that it was given is mapped";

TEST_CASE("data is mapped with its bytes, until it is unmapped") {
  DataMappings data;
  CHECK(data.empty());
  REQUIRE(data.map(first_data, data_file_of(5000).get(), 5000).has_value());
  REQUIRE(data.map(second_data, data_file_of(0).get(), 0).has_value());
  REQUIRE(data.find(first_data) != nullptr);
  CHECK(data.find(first_data)->bytes().size() == 5000);
  CHECK(data.find(first_data)->bytes()[4999] == std::byte{7});
  REQUIRE(data.find(second_data) != nullptr);
  CHECK(data.find(second_data)->bytes().empty());
  CHECK(data.ranges().size() == 1);
  data.unmap(first_data);
  CHECK(data.find(first_data) == nullptr);
  data.unmap(first_data);
}

TEST_CASE("a file that is not sealed, or has another size, is not mapped") {
  DataMappings data;
  const UniqueFd open_file(::memfd_create("orchid-data", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(open_file.get(), 4096) == 0);
  CHECK_FALSE(data.map(first_data, open_file.get(), 4096).has_value());
  CHECK_FALSE(data.map(first_data, data_file_of(4096).get(), 4095).has_value());
  CHECK_FALSE(data.map(first_data, data_file_of(4096).get(), 4097).has_value());
  CHECK(data.empty());
}

TEST_CASE("data that is mapped as it was given is no change, nor is advice about it") {
  MappingProcess process;
  CHECK(process.state.find_changes().empty());
  REQUIRE(::madvise(process.at(first_data, 4096), 4096, MADV_RANDOM) == 0);  // splits the mapping
  CHECK(process.state.find_changes().empty());
  process.data.unmap(first_data);
  CHECK(process.state.find_changes().empty());
}

TEST_CASE("data that was unmapped, in whole or in part, is found") {
  MappingProcess process;
  SUBCASE("all of it") { ::munmap(process.at(first_data), 16'384); }
  SUBCASE("its first_data page") { ::munmap(process.at(first_data), 4096); }
  SUBCASE("its last page") { ::munmap(process.at(second_data, 4096), 4096); }
  SUBCASE("one between") { ::munmap(process.at(first_data, 8192), 4096); }
  CHECK(process.state.find_changes() == changed_mapping);
}

TEST_CASE("data that something else lies over, or that can be written to, is found") {
  MappingProcess process;
  SUBCASE("memory of its own") {
    REQUIRE(::mmap(process.at(first_data, 4096), 4096, PROT_READ,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
  }
  SUBCASE("another part of the same file") {
    REQUIRE(::mremap(process.at(first_data, 8192), 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED,
                     process.at(first_data)) != MAP_FAILED);
  }
  SUBCASE("the same part of another object's file") {
    const UniqueFd other = data_file_of(16'384);
    REQUIRE(::mmap(process.at(first_data), 16'384, PROT_READ, MAP_PRIVATE | MAP_FIXED, other.get(),
                   0) != MAP_FAILED);
  }
  SUBCASE("a right to write") {
    REQUIRE(::mprotect(process.at(second_data), 4096, PROT_READ | PROT_WRITE) == 0);
  }
  SUBCASE("no right to read") {
    REQUIRE(::mprotect(process.at(second_data), 4096, PROT_NONE) == 0);
  }
  CHECK(process.state.find_changes() == changed_mapping);
}

TEST_CASE("a second mapping of data, which would be there after it, is found") {
  MappingProcess process;
  void* more = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, data_file_of(4096).get(), 0);
  REQUIRE(more != MAP_FAILED);
  CHECK(process.state.find_changes() == changed_mapping);
  process.data.unmap(first_data);
  process.data.unmap(second_data);
  CHECK(process.state.find_changes() == changed_mapping);
  ::munmap(more, 4096);
  CHECK(process.state.find_changes().empty());
}

TEST_CASE("a line of /proc/self/maps is taken apart") {
  const MappingLine line = parse_mapping(
      "7f0000001000-7f0000005000 r--p 00002000 00:01 12345                      "
      "/memfd:orchid-data (deleted)");
  CHECK(line.start == 0x7f0000001000);
  CHECK(line.end == 0x7f0000005000);
  CHECK(line.protection == "r--p");
  CHECK(line.offset == 0x2000);
  CHECK(line.inode == 12345);
  CHECK(line.file == "/memfd:orchid-data (deleted)");
  const MappingLine nameless = parse_mapping("1000-2000 rw-p 00000000 00:00 0 ");
  CHECK(nameless.end == 0x2000);
  CHECK(nameless.inode == 0);
  CHECK(nameless.file.empty());
  for (const char* none :
       {"", "x", "1000", "1000-", "1000-2000", "1000-2000 r--p", "-2000 r--p 0 "})
    CHECK(parse_mapping(none).end == 0);
}

}  // namespace
}  // namespace orchid::executor
