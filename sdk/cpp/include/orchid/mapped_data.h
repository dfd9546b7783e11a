// orchid/mapped_data.h: the bytes of a data object in the memory of this program.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace orchid {

namespace sdk {
class DataMapping;
}
class Client;

/// Nothing can change them, and they stay for as long as this lives, also when the object is
/// deleted or its executor ends. Move-only; any thread may read.
class MappedData {
 public:
  MappedData(MappedData&&) noexcept;
  MappedData& operator=(MappedData&&) noexcept;
  ~MappedData();
  /// Aligned to a page. To write to them ends the program.
  [[nodiscard]] std::span<const std::byte> bytes() const;
  /// As elements of T, a trivially copyable type. What is left at the end is left out.
  template <typename T>
  [[nodiscard]] std::span<const T> as() const {
    const auto all = bytes();
    return {reinterpret_cast<const T*>(all.data()), all.size() / sizeof(T)};
  }
  /// "climate@3", or the id of one without a name.
  [[nodiscard]] const std::string& label() const;
  /// True: these are the pages of the executor's memory, and nothing was copied. False: they were
  /// fetched.
  [[nodiscard]] bool is_in_place() const;

 private:
  friend class Client;
  explicit MappedData(std::unique_ptr<sdk::DataMapping> mapping);
  std::unique_ptr<sdk::DataMapping> mapping_;
};

}  // namespace orchid
