#include "placement/shape_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "foundation/amounts.h"
#include "foundation/numbers.h"

namespace orchid::placement {
namespace {

constexpr std::string_view shape_examples =
    "write for example '4 cores', '1 gpu', '1 gpu a100' or '4 cores, 2 GiB'";

std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// What is before the first `separator`, without the blanks around it; `rest` loses both. Nothing:
/// there is no more.
std::optional<std::string_view> take_before(std::optional<std::string_view>& rest, char separator) {
  if (!rest) return std::nullopt;
  const std::size_t end = rest->find(separator);
  const std::string_view part = without_blanks(rest->substr(0, end));
  if (end == std::string_view::npos)
    rest.reset();
  else
    rest->remove_prefix(end + 1);
  return part;
}

bool is_word(std::string_view text, std::string_view word) {
  return std::ranges::equal(text, word, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

std::unexpected<Failure> refuse(std::string_view part, std::string_view why) {
  return fail(ErrorCode::bad_request, fmt::format("'{}' {}", part.substr(0, 60), why));
}

bool is_model(std::string_view text) {
  return text.size() <= longest_gpu_model && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  std::string_view("._-:+/").contains(c);
         });
}

struct Parts {
  bool cores = false;
  bool gpus = false;
  bool memory = false;
};

Result<void> read_memory(std::string_view part, WorkerShape& shape, Parts& seen) {
  std::string_view size = part;
  if (const std::size_t blank = part.rfind(' ');
      blank != std::string_view::npos && is_word(part.substr(blank + 1), "memory"))
    size = without_blanks(part.substr(0, blank));
  const auto memory = parse_byte_count(size, {.least = {}, .most = most_memory_of_worker});
  if (!memory || parse_number<std::uint64_t>(size))  // a number without a unit may be of anything
    return refuse(part, fmt::format("is no part of what a worker has: {}", shape_examples));
  if (memory->value == 0) return refuse(part, "is no memory: leave it out for what the site gives");
  if (std::exchange(seen.memory, true)) return refuse(part, "is a second size: write one");
  shape.memory = *memory;
  return {};
}

Result<void> read_gpus(std::string_view part, std::uint64_t number, std::string_view model,
                       WorkerShape& shape, Parts& seen) {
  if (std::exchange(seen.gpus, true))
    return refuse(part, "is a second number of GPUs: write one, of one model");
  if (number == 0 || number > most_gpus_of_worker)
    return refuse(part, fmt::format("is not from 1 to {} GPUs: leave them out for a worker "
                                    "without",
                                    most_gpus_of_worker));
  if (!is_model(model))
    return refuse(part, "names no model: one word of letters, digits and ._-:+/ is one");
  shape.gpus = static_cast<std::uint32_t>(number);
  shape.gpu_model = model;
  return {};
}

Result<void> read_part(std::string_view part, WorkerShape& shape, Parts& seen) {
  std::string_view rest = part;
  const auto number = take_number<std::uint64_t>(rest);
  rest = without_blanks(rest);
  const std::size_t blank = rest.find(' ');
  const std::string_view word = rest.substr(0, blank);
  const std::string_view more =
      blank == std::string_view::npos ? "" : without_blanks(rest.substr(blank));
  if (number && (is_word(word, "gpu") || is_word(word, "gpus")))
    return read_gpus(part, *number, more, shape, seen);
  if (!number || !(is_word(word, "core") || is_word(word, "cores")))
    return read_memory(part, shape, seen);
  if (!more.empty())
    return refuse(part, fmt::format("says more than a number of cores: write '{} cores'", *number));
  if (std::exchange(seen.cores, true))
    return refuse(part, "is a second number of cores: write one");
  if (*number == 0 || *number > most_cores_of_worker)
    return refuse(part, fmt::format("is not from 1 to {} cores", most_cores_of_worker));
  shape.cores = static_cast<std::uint32_t>(*number);
  return {};
}

/// The largest unit in which it is a whole number.
std::string exact_text(ByteCount size) {
  for (const auto& [shift, unit] :
       {std::pair(30U, "GiB"), std::pair(20U, "MiB"), std::pair(10U, "KiB")})
    if (size.value % (std::uint64_t{1} << shift) == 0)
      return fmt::format("{} {}", size.value >> shift, unit);
  return fmt::format("{} B", size.value);
}

}  // namespace

Result<std::vector<WorkerShape>> parse_shapes(std::string_view text) {
  std::vector<WorkerShape> shapes;
  std::optional<std::string_view> rest = text;
  while (const auto shape_text = take_before(rest, '|')) {
    if (shape_text->empty())
      return fail(ErrorCode::bad_request,
                  fmt::format("an alternative is empty: {}, with '|' between alternatives",
                              shape_examples));
    if (shapes.size() == most_alternatives)
      return fail(ErrorCode::bad_request, fmt::format("there are more than {} alternatives: keep "
                                                      "the best of them",
                                                      most_alternatives));
    WorkerShape shape;
    Parts seen;
    std::optional<std::string_view> parts = shape_text;
    while (const auto part = take_before(parts, ','))
      if (auto read = read_part(*part, shape, seen); !read) return fail(std::move(read.error()));
    if (std::ranges::find(shapes, shape) != shapes.end())
      return refuse(*shape_text, "is there twice: write each alternative once");
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

std::string to_string(const WorkerShape& shape) {
  std::string text = fmt::format("{} core{}", shape.cores, shape.cores == 1 ? "" : "s");
  if (shape.gpus > 0)
    text += fmt::format(", {} GPU{}{}{}", shape.gpus, shape.gpus == 1 ? "" : "s",
                        shape.gpu_model.empty() ? "" : " ", shape.gpu_model);
  if (shape.memory.value > 0) text += ", " + exact_text(shape.memory);
  return text;
}

std::string to_string(const std::vector<WorkerShape>& shapes) {
  std::string text;
  for (const WorkerShape& shape : shapes) text += (text.empty() ? "" : " | ") + to_string(shape);
  return text;
}

}  // namespace orchid::placement
