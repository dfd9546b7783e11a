// A digest, the number of the form, the texts that occur, each once, and then the plan: numbers
// take seven bits a byte, and texts and types are numbers of texts.
#include "flow/plan_bytes.h"

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protocol/digest.h"

namespace orchid::flow {
namespace {

/// Another one whenever a plan means something else, or is written in another way.
constexpr std::uint64_t form = 2;
constexpr std::size_t digest_bytes = std::string_view("sha256:").size() + 64;

// What is written of each structure, in order. The bindings name all members: who adds one is
// stopped here by the compiler.

template <typename T, typename U>
concept is_a = std::same_as<std::remove_const_t<T>, U>;

void visit(auto& archive, is_a<Source> auto& one) {
  auto& [kind, index] = one;
  archive.all(kind, index);
}
void visit(auto& archive, is_a<module::Field> auto& one) {
  auto& [type, offset] = one;
  archive.all(type, offset);
}
void visit(auto& archive, is_a<module::Structure> auto& one) {
  auto& [size, alignment, fields] = one;
  archive.all(size, alignment, fields);
}
void visit(auto& archive, is_a<module::Type> auto& one) {
  auto& [kind, has_structure, scalar, structure, is_step] = one;
  archive.all(kind, has_structure, scalar, structure, is_step);
}
void visit(auto& archive, is_a<PlannedCall> auto& one) {
  auto& [function, signature, ports, result] = one;
  archive.all(function, signature, ports, result);
}
void visit(auto& archive, is_a<PlannedPort> auto& one) {
  auto& [name, type, source] = one;
  archive.all(name, type, source);
}
void visit(auto& archive, is_a<RetryPolicy> auto& one) {
  auto& [attempts, back_off, outcomes] = one;
  archive.all(attempts, back_off, outcomes);
}
void visit(auto& archive, is_a<Constraints> auto& one) {
  auto& [kind, device, cluster] = one;
  archive.all(kind, device, cluster);
}
void visit(auto& archive, is_a<PlannedNode> auto& one) {
  auto& [name, kind, ports, main, partition, merge, if_false, until, variants, chooses_variant,
         in_runs, is_step, budget, steps, durable, keeps_value, pieces, gives, ends, fan, times,
         window, cores_of_call, deadline, retry, constraints, consumers, is_output] = one;
  archive.all(name, kind, ports, main, partition, merge, if_false, until, variants, chooses_variant,
              in_runs, is_step, budget, steps, durable, keeps_value, pieces, gives, ends, fan,
              times, window, cores_of_call, deadline, retry, constraints, consumers, is_output);
}
void visit(auto& archive, is_a<PlannedInput> auto& one) {
  auto& [name, type] = one;
  archive.all(name, type);
}
void visit(auto& archive, is_a<PlannedOutput> auto& one) {
  auto& [name, type, source] = one;
  archive.all(name, type, source);
}
void visit(auto& archive, is_a<PlannedOptimiser> auto& one) {
  auto& [name, options] = one;
  archive.all(name, options);
}
void visit(auto& archive, is_a<Plan> auto& one) {
  auto& [name, inputs, constants, nodes, outputs, exact, needs, optimisers, fingerprint] = one;
  archive.all(name, inputs, constants, nodes, outputs, exact, needs, optimisers, fingerprint);
}
void visit(auto& archive, is_a<StoredPlan> auto& one) {
  auto& [plan, inputs] = one;
  archive.all(plan, inputs);
}

class Writer {
 public:
  template <typename... T>
  void all(const T&... values) {
    (put(values), ...);
  }
  /// What was written, behind the texts in it.
  [[nodiscard]] std::string take() {
    std::string body = std::exchange(out_, {});
    put(form);
    put(std::uint64_t{texts_.size()});
    for (const std::string_view text : texts_) put_bytes(text);
    return out_ + body;
  }

 private:
  template <typename T>
  void put(const T& value) {
    if constexpr (std::is_enum_v<T> || std::integral<T>)
      put_number(static_cast<std::uint64_t>(value));
    else
      visit(*this, value);
  }
  template <typename Rep, typename Period>
  void put(const std::chrono::duration<Rep, Period>& value) {
    put_number(static_cast<std::uint64_t>(value.count()));
  }
  template <typename T>
  void put(const std::vector<T>& list) {
    put_number(list.size());
    for (const T& one : list) put(one);
  }
  void put(const std::map<std::string, std::string>& map) {
    put_number(map.size());
    for (const auto& [name, value] : map) all(name, value);
  }
  void put(const Value& value) {
    put_bytes({reinterpret_cast<const char*>(value->data()), value->size()});
  }
  void put(const std::string& text) {
    const auto [found, is_new] = numbers_.try_emplace(text, numbers_.size());
    if (is_new) texts_.emplace_back(found->first);
    put_number(found->second);
  }
  void put(const PortType& type) {
    std::string text = std::exchange(out_, {});
    all(type.is_bytes, type.type);
    text.swap(out_);
    put(text);
  }
  void put_bytes(std::string_view bytes) {
    put_number(bytes.size());
    out_ += bytes;
  }
  void put_number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) out_ += static_cast<char>(value | 0x80U);
    out_ += static_cast<char>(value);
  }

  std::string out_;
  std::unordered_map<std::string, std::uint64_t> numbers_;  // by text
  std::vector<std::string_view> texts_;                     // by number; of `numbers_`
};

/// What is missing reads as nothing.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  [[nodiscard]] bool is_whole() const { return !failed_ && rest_.empty(); }
  template <typename... T>
  void all(T&... values) {
    (get(values), ...);
  }
  [[nodiscard]] std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !rest_.empty() && shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    failed_ = true;
    return 0;
  }
  void read_texts() {
    texts_.resize(count());
    for (std::string& text : texts_) text = bytes();
    types_.resize(texts_.size());
  }

 private:
  template <typename T>
  void get(T& value) {
    if constexpr (std::is_enum_v<T> || std::integral<T>)
      value = static_cast<T>(number());
    else
      visit(*this, value);
  }
  template <typename Rep, typename Period>
  void get(std::chrono::duration<Rep, Period>& value) {
    value = std::chrono::duration<Rep, Period>(static_cast<Rep>(number()));
  }
  template <typename T>
  void get(std::vector<T>& list) {
    list.resize(count());
    for (T& one : list) get(one);
  }
  void get(std::map<std::string, std::string>& map) {
    for (std::size_t left = count(); left > 0; --left) {
      std::string name;
      std::string value;
      all(name, value);
      map.emplace(std::move(name), std::move(value));
    }
  }
  void get(Value& value) {
    const std::string_view content = bytes();
    const auto* begin = reinterpret_cast<const std::byte*>(content.data());
    value = std::make_shared<const Bytes>(begin, begin + content.size());
  }
  void get(std::string& text) {
    const std::uint64_t at = number();
    failed_ = failed_ || at >= texts_.size();
    if (!failed_) text = texts_[at];
  }
  void get(PortType& type) {
    const std::uint64_t at = number();
    failed_ = failed_ || at >= texts_.size();
    if (failed_) return;
    if (!types_[at]) {
      Reader inner(texts_[at]);
      PortType one;
      inner.all(one.is_bytes, one.type);
      failed_ = !inner.is_whole();
      types_[at] = std::move(one);
    }
    type = *types_[at];
  }
  /// Of parts that take a byte at least.
  [[nodiscard]] std::size_t count() {
    const std::uint64_t count = number();
    failed_ = failed_ || count > rest_.size();
    return failed_ ? 0 : count;
  }
  [[nodiscard]] std::string_view bytes() {
    const std::string_view found = rest_.substr(0, count());
    rest_.remove_prefix(found.size());
    return found;
  }

  std::string_view rest_;
  bool failed_ = false;
  std::vector<std::string> texts_;
  std::vector<std::optional<PortType>> types_;  // those that were read, by the number of their text
};

}  // namespace

std::vector<std::byte> to_bytes(const Plan& plan, const std::vector<Value>& inputs) {
  Writer writer;
  writer.all(plan, inputs);
  const std::string text = writer.take();
  const std::string digest = digest_of(std::as_bytes(std::span(text)));
  std::vector<std::byte> bytes(digest.size() + text.size());
  std::memcpy(bytes.data(), digest.data(), digest.size());
  std::memcpy(bytes.data() + digest.size(), text.data(), text.size());
  return bytes;
}

Result<StoredPlan> parse_plan_bytes(std::span<const std::byte> bytes) {
  const auto damaged = [] { return fail(ErrorCode::bad_request, "the plan is damaged"); };
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() < digest_bytes ||
      text.substr(0, digest_bytes) != digest_of(bytes.subspan(digest_bytes)))
    return damaged();
  Reader reader(text.substr(digest_bytes));
  if (reader.number() != form) return fail(ErrorCode::bad_request, "the plan has another form");
  reader.read_texts();
  StoredPlan stored;
  visit(reader, stored);
  if (!reader.is_whole()) return damaged();
  return stored;
}

}  // namespace orchid::flow
