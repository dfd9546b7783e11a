// flow/values.h: the values that go along edges: one item in the bytes in which functions take and
// give it (docs/PROTOCOL.md §7), so that a result is an argument as it is.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flow/port_type.h"
#include "foundation/result.h"
#include "protocol/data_id.h"

namespace orchid::flow {

using Bytes = std::vector<std::byte>;
/// Shared by the ends of all edges that it goes along; nobody changes it.
using Value = std::shared_ptr<const Bytes>;

/// Whether `bytes` are one value of the type.
[[nodiscard]] bool fits(const PortType& type, std::span<const std::byte> bytes);

/// How many elements a span has. `bytes` fit the type, here and below.
[[nodiscard]] std::uint64_t count_of(std::span<const std::byte> span);
/// Adds the element to `out`, as an item of its own.
void append_element(const PortType& span, std::span<const std::byte> bytes, std::uint64_t index,
                    Bytes& out);
/// Adds a span of the elements from `begin` to `end` to `out`.
void append_elements(const PortType& span, std::span<const std::byte> bytes, std::uint64_t begin,
                     std::uint64_t end, Bytes& out);

/// What a step function has given.
struct StepResult {
  bool done = false;
  std::uint64_t steps = 0;
  Bytes state;
};
[[nodiscard]] StepResult step_result(Bytes bytes);
/// Its steps alone, without a look at the state. 0: these are no such bytes.
[[nodiscard]] std::uint64_t steps_in(std::span<const std::byte> bytes);
/// The first argument of a step function: how much the next batch may do.
void append_budget(std::chrono::nanoseconds time, std::uint64_t steps, Bytes& out);

/// Which object a value of a data type is.
[[nodiscard]] DataId data_of(std::span<const std::byte> bytes);

/// Not 0, false or empty; any data object.
[[nodiscard]] bool is_something(const PortType& type, std::span<const std::byte> bytes);

/// Joins results, in the order in which they are added, to one value of the type
/// `gathered(result)`. A value; its state is plain.
class Gathering {
 public:
  /// About `more` bytes may follow: room for them is made once, and not again and again.
  void add(const PortType& result, std::span<const std::byte> bytes, std::uint64_t more = 0);
  /// The whole. It is empty afterwards.
  [[nodiscard]] Bytes take(const PortType& result);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// Of elements, with nothing between them.
  [[nodiscard]] std::span<const std::byte> elements() const {
    return std::span(bytes_).subspan(head_);
  }
  [[nodiscard]] static Gathering of(const PortType& result, std::uint64_t count,
                                    std::span<const std::byte> elements);

 private:
  void begin(const PortType& result);
  void append(std::span<const std::byte> bytes, std::uint64_t more);

  std::uint64_t count_ = 0;  // of elements
  std::size_t head_ = 0;     // room for the count, where the whole begins with one
  Bytes bytes_;
};

/// A text that people wrote: JSON, or for strings, bytes and ids of data objects the text itself.
/// Errors: `bad_request`.
[[nodiscard]] Result<Bytes> value_of_text(const PortType& type, std::string_view text);

/// Between values and JSON, as `orchid invoke --args` takes it; bytes are a text. Errors:
/// `bad_request`.
[[nodiscard]] Result<Bytes> value_of_json(const PortType& type, std::string_view json);
[[nodiscard]] Result<std::string> json_of_value(const PortType& type,
                                                std::span<const std::byte> bytes);

}  // namespace orchid::flow
