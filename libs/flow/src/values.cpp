#include "flow/values.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "foundation/huge_pages.h"
#include "module/typed_values.h"
#include "protocol/data_id.h"

namespace orchid::flow {
namespace {

using module::TypeKind;

constexpr std::size_t item_alignment = 8;
/// Room for what is only expected: the first one of many results may be the only large one.
constexpr std::uint64_t most_expected = std::uint64_t{64} << 20;

std::size_t padded(std::size_t size) {
  return (size + item_alignment - 1) / item_alignment * item_alignment;
}

void append(Bytes& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void append_count(Bytes& out, std::uint64_t count) {
  append(out, std::as_bytes(std::span(&count, 1)));
}

/// Spans and strings: a number of elements, and these.
bool is_counted(const PortType& type) {
  return !type.is_bytes && (type.type.kind == TypeKind::span || type.type.kind == TypeKind::string);
}

/// What is between fields may be anything, and there is a zero with a sign.
bool is_not_zero(module::Scalar scalar, std::span<const std::byte> bytes) {
  const auto as = [bytes]<typename Number>(Number number) {
    std::memcpy(&number, bytes.data(), sizeof number);
    return number != 0;
  };
  if (scalar == module::Scalar::f32) return as(float{});
  if (scalar == module::Scalar::f64) return as(double{});
  return std::ranges::any_of(bytes.first(module::size_of(scalar)),
                             [](std::byte byte) { return byte != std::byte{0}; });
}

module::Signature taking(const PortType& type) { return {.result = {}, .arguments = {type.type}}; }
module::Signature giving(const PortType& type) { return {.result = type.type, .arguments = {}}; }

}  // namespace

bool fits(const PortType& type, std::span<const std::byte> bytes) {
  if (type.is_bytes) return true;
  if (type.is_step()) {
    constexpr std::size_t head = module::step_head_bytes;
    return bytes.size() >= head && count_of(bytes) <= 1 &&
           fits(state_of(type), bytes.subspan(head));
  }
  if (type.is_nothing()) return bytes.empty();
  if (type.is_data()) return bytes.size() == sizeof(DataId);
  const std::size_t element = type.type.element_size();
  if (!is_counted(type)) return bytes.size() == padded(element);
  if (bytes.size() < sizeof(std::uint64_t)) return false;
  const std::size_t room = bytes.size() - sizeof(std::uint64_t);
  const std::uint64_t count = count_of(bytes);
  return count <= room / element && padded(count * element) == room;
}

std::uint64_t count_of(std::span<const std::byte> span) {
  std::uint64_t count = 0;
  std::memcpy(&count, span.data(), sizeof count);
  return count;
}

void append_element(const PortType& span, std::span<const std::byte> bytes, std::uint64_t index,
                    Bytes& out) {
  const std::size_t size = span.type.element_size();
  append(out, bytes.subspan(sizeof(std::uint64_t) + index * size, size));
  out.resize(out.size() + padded(size) - size);
}

void append_elements(const PortType& span, std::span<const std::byte> bytes, std::uint64_t begin,
                     std::uint64_t end, Bytes& out) {
  const std::size_t size = span.type.element_size();
  const std::size_t wanted = (end - begin) * size;
  append_count(out, end - begin);
  append(out, bytes.subspan(sizeof(std::uint64_t) + begin * size, wanted));
  out.resize(out.size() + padded(wanted) - wanted);
}

bool is_something(const PortType& type, std::span<const std::byte> bytes) {
  if (type.is_data()) return true;
  if (is_counted(type)) return count_of(bytes) != 0;
  if (type.is_bytes) return !bytes.empty();
  if (!type.type.has_structure) return is_not_zero(type.type.scalar, bytes);
  return std::ranges::any_of(type.type.structure.fields, [bytes](const module::Field& field) {
    return is_not_zero(field.type, bytes.subspan(field.offset));
  });
}

void Gathering::begin(const PortType& result) {
  if (!bytes_.empty() || result.is_bytes || result.is_nothing()) return;
  head_ = sizeof count_;
  bytes_.resize(head_);
}

void Gathering::append(std::span<const std::byte> bytes, std::uint64_t more) {
  const std::size_t size = bytes_.size() + bytes.size();
  if (size > bytes_.capacity())
    reserve_in_huge_pages(bytes_,
                          std::max(size + std::min<std::uint64_t>(more, most_expected), 2 * size));
  orchid::flow::append(bytes_, bytes);
}

void Gathering::add(const PortType& result, std::span<const std::byte> bytes, std::uint64_t more) {
  begin(result);
  if (is_counted(result)) {
    const std::uint64_t count = count_of(bytes);
    append(bytes.subspan(sizeof count, count * result.type.element_size()), more);
    count_ += count;
  } else if (result.is_element()) {
    append(bytes.first(result.type.element_size()), more);
    ++count_;
  } else {
    append(bytes, more);
  }
}

Bytes Gathering::take(const PortType& result) {
  begin(result);
  if (head_ != 0) {
    std::memcpy(bytes_.data(), &count_, sizeof count_);
    bytes_.resize(padded(bytes_.size()));
  }
  return std::exchange(*this, Gathering()).bytes_;
}

Gathering Gathering::of(const PortType& result, std::uint64_t count,
                        std::span<const std::byte> elements) {
  Gathering gathering;
  gathering.begin(result);
  gathering.append(elements, 0);
  gathering.count_ = count;
  return gathering;
}

StepResult step_result(Bytes bytes) {
  StepResult result{.done = count_of(bytes) == 1, .steps = steps_in(bytes), .state = {}};
  bytes.erase(bytes.begin(), bytes.begin() + module::step_head_bytes);
  result.state = std::move(bytes);
  return result;
}

std::uint64_t steps_in(std::span<const std::byte> bytes) {
  return bytes.size() < module::step_head_bytes ? 0
                                                : count_of(bytes.subspan(sizeof(std::uint64_t)));
}

void append_budget(std::chrono::nanoseconds time, std::uint64_t steps, Bytes& out) {
  append_count(out, static_cast<std::uint64_t>(time.count()));
  append_count(out, steps);
}

DataId data_of(std::span<const std::byte> bytes) {
  DataId data;
  std::ranges::copy(bytes, data.bytes.begin());
  return data;
}

Result<Bytes> value_of_data(std::string_view text) {
  const auto data = parse_data_id(text);
  if (!data)
    return fail(ErrorCode::bad_request,
                "'" + std::string(text) + "' is no id of a data object, such as d-0123…");
  return Bytes(data->bytes.begin(), data->bytes.end());
}

Result<Bytes> value_of_text(const PortType& type, std::string_view text) {
  if (type.is_data()) return value_of_data(text);
  if (!type.is_text()) return value_of_json(type, text);
  return Gathering::of(type, text.size(), std::as_bytes(std::span(text))).take(type);
}

Result<Bytes> value_of_json(const PortType& type, std::string_view json) {
  if (!type.is_bytes && !type.is_data())
    return module::encode_arguments(taking(type), "[" + std::string(json) + "]");
  const auto text = nlohmann::json::parse(json, nullptr, false);
  if (!text.is_string())
    return fail(ErrorCode::bad_request, type.is_data()
                                            ? "a data object is written as its id between quotes"
                                            : "bytes are written as a text between quotes");
  if (type.is_data()) return value_of_data(text.get_ref<const std::string&>());
  Bytes bytes;
  append(bytes, std::as_bytes(std::span(text.get_ref<const std::string&>())));
  return bytes;
}

Result<std::string> json_of_value(const PortType& type, std::span<const std::byte> bytes) {
  if (!type.is_bytes) return module::decode_result(giving(type), bytes);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace orchid::flow
