#include "module/ptx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "foundation/files.h"
#include "foundation/numbers.h"
#include "protocol/limits.h"

namespace orchid::module {
namespace {

constexpr std::string_view kernel_prefix = "orchid_kernel_";
constexpr std::string_view layout_prefix = "orchid_kernel_layout_";

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '%' || c == '.';
}

/// Words (directives such as ".entry" with their dot, names, numbers) and single other characters,
/// without blanks, comments and quoted texts.
class PtxWords {
 public:
  explicit PtxWords(std::string_view text) : rest_(text) {}

  /// Empty: the text is over.
  std::string_view next() {
    skip();
    if (rest_.empty()) return {};
    std::size_t length = 1;
    if (is_word_character(rest_[0]))
      while (length < rest_.size() && is_word_character(rest_[length])) ++length;
    const std::string_view word = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return word;
  }

 private:
  void skip() {
    while (!rest_.empty()) {
      if (rest_.starts_with("//")) {
        skip_behind("\n");
      } else if (rest_.starts_with("/*")) {
        rest_.remove_prefix(2);
        skip_behind("*/");
      } else if (rest_[0] == '"') {
        rest_.remove_prefix(1);
        skip_behind("\"");
      } else if (std::string_view(" \t\r\n").contains(rest_[0])) {
        rest_.remove_prefix(1);
      } else {
        return;
      }
    }
  }
  void skip_behind(std::string_view end) {
    const std::size_t found = rest_.find(end);
    rest_.remove_prefix(found == std::string_view::npos ? rest_.size() : found + end.size());
  }

  std::string_view rest_;
};

/// Of a basic type such as ".u64"; 0: it is none.
std::uint32_t bytes_of_type(std::string_view type) {
  if (type.size() < 3 || type[0] != '.' || !std::string_view("bfsu").contains(type[1])) return 0;
  const auto bits = parse_number<std::uint32_t>(type.substr(2));
  return bits && *bits >= 8 && *bits <= 128 && *bits % 8 == 0 ? *bits / 8 : 0;
}

struct Variable {
  std::string_view name;
  std::uint32_t element = 0;  // bytes; 0: it has no type that is known
  std::uint32_t alignment = 0;
  std::uint64_t size = 0;
  bool is_array = false;
};

class PtxReader {
 public:
  explicit PtxReader(std::string_view text) : words_(text) {}

  PtxText read() {
    for (std::string_view word = words_.next(); !word.empty(); word = words_.next()) {
      if (word == ".version") {
        result_.version = words_.next();
      } else if (word == ".target") {
        result_.target = words_.next();
      } else if (word == ".entry") {
        read_entry();
      } else if (bytes_of_type(word) != 0) {
        last_type_ = word;
      } else if (word.starts_with(layout_prefix)) {
        read_layout(std::string(word.substr(layout_prefix.size())));
      }
    }
    for (Kernel& kernel : result_.kernels) apply_layout(kernel);
    std::ranges::sort(result_.kernels, {}, &Kernel::name);
    if (std::ranges::adjacent_find(result_.kernels, {}, &Kernel::name) != result_.kernels.end())
      result_.problems.emplace_back("a kernel is there twice");
    if (result_.kernels.size() > limits::kernels_per_module)
      result_.problems.push_back(
          fmt::format("there are more than {} kernels", limits::kernels_per_module));
    return std::move(result_);
  }

 private:
  void read_entry() {
    const std::string_view name = words_.next();
    const std::vector<Variable> parameters = read_parameters();
    if (!name.starts_with(kernel_prefix)) return;  // it cannot be launched by an entry
    Kernel kernel{.name = std::string(name.substr(kernel_prefix.size())), .on_cores = false};
    const auto is_number = [](const Variable& parameter) {
      return parameter.size == 8 && !parameter.is_array;
    };
    if (parameters.size() != 3 || parameters[0].size == 0 || !is_number(parameters[1]) ||
        !is_number(parameters[2])) {
      result_.problems.push_back(fmt::format(
          "kernel '{}' must be extern \"C\" __global__ void {}(Args args, uint64_t begin, uint64_t "
          "end)",
          kernel.name, name));
      return;
    }
    kernel.args_size = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(parameters[0].size, std::uint32_t{1} << 31));
    kernel.args_alignment = parameters[0].alignment;
    if (result_.kernels.size() > limits::kernels_per_module) return;  // more than may be
    result_.kernels.push_back(std::move(kernel));
  }

  /// From '(' to ')', if there are any. No more than are looked at are kept.
  std::vector<Variable> read_parameters() {
    std::vector<Variable> parameters;
    if (words_.next() != "(") return parameters;
    constexpr std::size_t most = 4;
    Variable one;
    for (std::string_view word = words_.next(); !word.empty(); word = words_.next()) {
      if (word == "," || word == ")") {
        if (!one.name.empty() && parameters.size() < most) parameters.push_back(one);
        one = {};
        if (word == ")") break;
      } else if (word == ".align" && one.element == 0) {  // behind the type: of what it points to
        one.alignment = parse_number<std::uint32_t>(words_.next()).value_or(0);
      } else if (const std::uint32_t bytes = bytes_of_type(word); bytes != 0) {
        one.element = bytes;
        one.size = bytes;
        if (one.alignment == 0) one.alignment = bytes;
      } else if (word == "[") {
        one.is_array = true;
        one.size =
            std::uint64_t{one.element} * parse_number<std::uint32_t>(words_.next()).value_or(0);
      } else if (word[0] != '.' && word != "]") {
        one.name = word;
      }
    }
    return parameters;
  }

  /// NAME[16] = {24, 0, 0, 0, 8}: zeros at the end are left out.
  void read_layout(std::string name) {
    const std::uint32_t element = bytes_of_type(last_type_);
    if (words_.next() != "[" || element == 0 || element > 4) return;
    std::array<std::uint32_t, 4> layout{};
    std::size_t at = 0;
    std::string_view word = words_.next();
    while (!word.empty() && word != "{" && word != ";") word = words_.next();
    while (!word.empty() && word != "}" && word != ";") {
      word = words_.next();
      const auto number = parse_number<std::uint32_t>(word);
      if (!number || at >= sizeof layout) continue;
      layout.at(at / 4) |= *number << (at % 4 * 8);
      at += element;
    }
    if (at > 0) layouts_.insert_or_assign(std::move(name), layout);
  }

  void apply_layout(Kernel& kernel) {
    const auto found = layouts_.find(kernel.name);
    if (found == layouts_.end()) return;
    const auto& [size, alignment, group_size, local_bytes] = found->second;
    if (size != kernel.args_size || alignment != kernel.args_alignment)
      result_.problems.push_back(
          fmt::format("kernel '{}': its layout says {} bytes of arguments aligned to {}, its "
                      "function takes {} aligned to {}",
                      kernel.name, size, alignment, kernel.args_size, kernel.args_alignment));
    kernel.group_size = group_size;
    kernel.local_bytes = local_bytes;
  }

  PtxWords words_;
  std::string_view last_type_;
  std::map<std::string, std::array<std::uint32_t, 4>> layouts_;
  PtxText result_;
};

}  // namespace

Result<void> check_ptx(std::span<const std::byte> bytes) {
  const auto refuse = [](std::string what) {
    return fail(ErrorCode::module_rejected, std::move(what));
  };
  if (bytes.size() > longest_ptx.value)
    return refuse(fmt::format("its PTX has {}; at most {} are read: split the .cu file",
                              to_string(ByteCount{bytes.size()}), to_string(longest_ptx)));
  const std::string_view text = as_text(bytes);
  const auto control = std::ranges::find_if(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < ' ' && c != '\t' && c != '\r' && c != '\n') || byte == 0x7f;
  });
  if (control != text.end())
    return refuse(fmt::format("its PTX is not text: byte {} is {:#04x}; build it with nvcc --ptx",
                              control - text.begin(), static_cast<unsigned char>(*control)));
  PtxWords words(text);
  if (words.next() != ".version")
    return refuse("its PTX does not begin with .version; build it with nvcc --ptx");
  return {};
}

Result<PtxText> read_ptx(std::span<const std::byte> bytes) {
  if (auto checked = check_ptx(bytes); !checked) return fail(std::move(checked.error()));
  return PtxReader(as_text(bytes)).read();
}

}  // namespace orchid::module
