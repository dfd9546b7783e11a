#include "data/data_mapping.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "foundation/huge_pages.h"

#include "orchid/error.h"
#include "orchid/mapped_data.h"

namespace orchid {
namespace sdk {
namespace {

/// Nothing is mapped for no bytes.
std::span<std::byte> map(std::size_t size, int protection, int flags, int file) {
  if (size == 0) return {};
  void* const address = ::mmap(nullptr, size, protection, flags, file, 0);
  if (address == MAP_FAILED)
    throw Error(
        {.kind = ErrorKind::system,
         .message = "mapping " + std::to_string(size) + " bytes of data: " + std::strerror(errno)});
  return {static_cast<std::byte*>(address), size};
}

}  // namespace

std::unique_ptr<DataMapping> DataMapping::of_room(const UniqueFd& file, std::size_t size) {
  const auto bytes = map(size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get());
  prefer_huge_pages(bytes.data(), bytes.size());
  return std::unique_ptr<DataMapping>(new DataMapping(bytes, {}, /*in_place=*/true));
}

std::unique_ptr<DataMapping> DataMapping::of_object(const UniqueFd& file, UniqueFd loan,
                                                    std::size_t size) {
  const auto bytes = map(size, PROT_READ, MAP_SHARED, file.get());
  return std::unique_ptr<DataMapping>(new DataMapping(bytes, std::move(loan), /*in_place=*/true));
}

std::unique_ptr<DataMapping> DataMapping::own(std::size_t size) {
  const auto bytes = map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  return std::unique_ptr<DataMapping>(new DataMapping(bytes, {}, /*in_place=*/false));
}

DataMapping::~DataMapping() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

void DataMapping::protect() {
  if (!bytes_.empty()) ::mprotect(bytes_.data(), bytes_.size(), PROT_READ);
}

}  // namespace sdk

MappedData::MappedData(std::unique_ptr<sdk::DataMapping> mapping) : mapping_(std::move(mapping)) {}
MappedData::MappedData(MappedData&&) noexcept = default;
MappedData& MappedData::operator=(MappedData&&) noexcept = default;
MappedData::~MappedData() = default;
std::span<const std::byte> MappedData::bytes() const { return mapping_->bytes(); }
const std::string& MappedData::label() const { return mapping_->label; }
bool MappedData::is_in_place() const { return mapping_->is_in_place(); }

}  // namespace orchid
