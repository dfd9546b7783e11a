// data/data_mapping.h: memory that the bytes of a data object lie in.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "foundation/unique_fd.h"

namespace orchid::sdk {

/// Owns it. Throws `orchid::Error` (`system`) where there is no room for it.
class DataMapping {
 public:
  /// Of a room, to be written to.
  [[nodiscard]] static std::unique_ptr<DataMapping> of_room(const UniqueFd& file, std::size_t size);
  /// Of an object, to be read. `loan`: closed when it is mapped no more.
  [[nodiscard]] static std::unique_ptr<DataMapping> of_object(const UniqueFd& file, UniqueFd loan,
                                                              std::size_t size);
  /// Of this program's own, zero, to be written to.
  [[nodiscard]] static std::unique_ptr<DataMapping> own(std::size_t size);
  DataMapping(const DataMapping&) = delete;
  DataMapping& operator=(const DataMapping&) = delete;
  ~DataMapping();

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  [[nodiscard]] bool is_in_place() const { return in_place_; }
  /// Nothing writes to it from now on.
  void protect();

  std::string label;  // of the object

 private:
  DataMapping(std::span<std::byte> bytes, UniqueFd loan, bool in_place)
      : loan_(std::move(loan)), bytes_(bytes), in_place_(in_place) {}
  UniqueFd loan_;
  std::span<std::byte> bytes_;
  bool in_place_;
};

}  // namespace orchid::sdk
