#include "module/container.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "bitcode_blocks.h"
#include "byte_reader.h"
#include "foundation/files.h"
#include "module/ptx.h"
#include "protocol/limits.h"

namespace orchid::module {
namespace {

// OffloadBinary, version 1 (llvm/Object/OffloadBinary.h). Head: magic, u32 version, u64 size, u64
// entry offset, u64 entry size. Entry: u16 image kind, u16 offload kind, u32 flags, u64 string
// table offset, u64 strings, u64 image offset, u64 image size. String: u64 key offset, u64 value
// offset. All offsets count from this image's head.
constexpr std::uint32_t offload_magic = 0xad10ff10;
constexpr std::uint32_t offload_version = 1;
constexpr std::uint64_t head_size = 32;
constexpr std::uint64_t entry_size = 40;
constexpr std::uint64_t string_size = 16;
constexpr std::uint64_t alignment = 8;
constexpr std::uint16_t kind_object = 1;
constexpr std::uint16_t kind_bitcode = 2;
constexpr std::uint16_t kind_ptx = 5;

std::unexpected<Failure> reject_container(std::string message) {
  return fail(ErrorCode::module_rejected, std::move(message));
}

std::unexpected<Failure> damaged(std::size_t image, std::string_view what) {
  return reject_container(
      fmt::format("image {} of the container is damaged: {}; build the module again", image, what));
}

Result<std::string> read_string(std::span<const std::byte> bytes, std::uint64_t offset,
                                std::size_t image) {
  if (offset >= bytes.size()) return damaged(image, "a string lies outside of it");
  const std::string_view rest = as_text(bytes.subspan(offset));
  const std::size_t end = rest.find('\0');
  if (end == std::string_view::npos) return damaged(image, "a string has no end");
  return std::string(rest.substr(0, end));
}

Result<void> read_strings(std::span<const std::byte> bytes, std::uint64_t offset,
                          std::uint64_t count, std::size_t number, Image& image) {
  constexpr std::uint64_t sane_count = 1024;  // writers know about five keys
  if (count > sane_count || !slice(bytes, offset, count * string_size))
    return damaged(number, "its string table lies outside of it");
  for (std::uint64_t i = 0; i < count; ++i) {
    auto key = read_string(bytes, *load<std::uint64_t>(bytes, offset + i * string_size), number);
    if (!key) return fail(std::move(key.error()));
    auto value =
        read_string(bytes, *load<std::uint64_t>(bytes, offset + i * string_size + 8), number);
    if (!value) return fail(std::move(value.error()));
    if (*key == "triple")
      image.triple = std::move(*value);
    else if (*key == "arch")
      image.arch = std::move(*value);
  }
  return {};
}

/// `bytes` starts at the image's head and ends with its stated size.
Result<Image> read_image(std::span<const std::byte> bytes, std::size_t number) {
  const auto entry_offset = *load<std::uint64_t>(bytes, 16);
  const auto stated_entry_size = *load<std::uint64_t>(bytes, 24);
  const auto entry = slice(bytes, entry_offset, entry_size);
  if (!entry || stated_entry_size < entry_size)
    return damaged(number, "its entry lies outside of it");
  Image image;
  if (auto read = read_strings(bytes, *load<std::uint64_t>(*entry, 8),
                               *load<std::uint64_t>(*entry, 16), number, image);
      !read)
    return fail(std::move(read.error()));
  const auto content =
      slice(bytes, *load<std::uint64_t>(*entry, 24), *load<std::uint64_t>(*entry, 32));
  if (!content) return damaged(number, "its content lies outside of it");
  if (content->empty()) return damaged(number, "it is empty");
  if (image.triple.empty()) return damaged(number, "it names no target triple");
  image.bytes = *content;
  const auto stated_kind = *load<std::uint16_t>(*entry, 0);
  if (has_bitcode_magic(
          *content)) {  // also under another stated kind: clang -flto names bitcode *.o
    image.kind = ImageKind::bitcode;
  } else if (has_bitcode_wrapper_magic(*content)) {
    auto inner = unwrap_bitcode(*content);
    if (!inner) return fail(std::move(inner.error()));
    image.bytes = *inner;
  } else if (stated_kind == kind_bitcode) {
    return damaged(number, "its content is not bitcode");
  } else {
    image.kind = stated_kind == kind_ptx ? ImageKind::ptx : ImageKind::object;
  }
  if (image.kind == ImageKind::bitcode) {
    if (auto checked = check_bitcode_blocks(image.bytes); !checked)
      return fail(std::move(checked.error())
                      .while_doing(fmt::format("image {} ({})", number, image.triple)));
  }
  if (image.kind == ImageKind::ptx) {
    if (auto checked = check_ptx(image.bytes); !checked)
      return fail(std::move(checked.error())
                      .while_doing(fmt::format("image {} ({})", number, image.triple)));
  }
  return image;
}

Result<Container> read_offload_images(std::span<const std::byte> bytes) {
  Container container;
  std::uint64_t at = 0;
  while (at < bytes.size()) {
    const auto rest = bytes.subspan(at);
    const std::size_t number = container.images.size() + 1;
    if (std::ranges::all_of(rest, [](std::byte b) { return b == std::byte{0}; })) break;  // padding
    if (const auto magic = load<std::uint32_t>(rest, 0); magic && *magic != offload_magic)
      return reject_container(fmt::format(
          "the container is damaged at byte {}: no image starts there; build the module again",
          at));
    const auto version = load<std::uint32_t>(rest, 4);
    const auto size = load<std::uint64_t>(rest, 8);
    if (!version || !size || rest.size() < head_size)
      return reject_container(fmt::format(
          "truncated at byte {}: the head of image {} is not whole; upload the whole file",
          bytes.size(), number));
    if (*version != offload_version)
      return reject_container(
          fmt::format("image {} has container version {}; this Orchid reads version {}", number,
                      *version, offload_version));
    if (*size > rest.size())
      return reject_container(
          fmt::format("truncated at byte {}: image {} starts at byte {} and has {} bytes; upload "
                      "the whole file",
                      bytes.size(), number, at, *size));
    if (*size < head_size + entry_size || *size % alignment != 0)
      return damaged(number, "its size is wrong");
    if (number > limits::images_per_module)
      return reject_container(
          fmt::format("the module has more than {} images", limits::images_per_module));
    auto image = read_image(rest.first(*size), number);
    if (!image) return fail(std::move(image.error()));
    container.images.push_back(std::move(*image));
    at += *size;
  }
  return container;
}

std::unexpected<Failure> not_a_module(std::span<const std::byte> bytes) {
  const std::string_view text = as_text(bytes);
  std::string what = "not LLVM bitcode and not a container of images: ";
  if (text.starts_with("\x7f"
                       "ELF")) {
    what +=
        "this is compiled machine code (ELF); build with `orchid build`, or with clang-19 -O2 -c "
        "-emit-llvm";
  } else if (text.starts_with("!<arch>")) {
    what += "this is a static library; link its members with llvm-link-19 first";
  } else if (text.starts_with("; ModuleID") || text.starts_with("source_filename") ||
             text.starts_with("target ")) {
    what += "this is LLVM IR as text; convert it with llvm-as-19";
  } else if (text.starts_with(std::string_view("\0asm", 4))) {
    what += "this is WebAssembly; build with `orchid build`";
  } else {
    what += "it starts with the bytes";
    for (const std::byte b : bytes.first(std::min<std::size_t>(bytes.size(), 4)))
      what += fmt::format(" {:02x}", std::to_integer<unsigned>(b));
    what += "; build one with `orchid build`";
  }
  return reject_container(std::move(what));
}

template <typename T>
void append(std::vector<std::byte>& out, T value) {
  const auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

constexpr std::uint64_t align(std::uint64_t n) {
  return (n + alignment - 1) / alignment * alignment;
}

std::uint16_t number_of(ImageKind kind) {
  switch (kind) {
    case ImageKind::bitcode:
      return kind_bitcode;
    case ImageKind::ptx:
      return kind_ptx;
    case ImageKind::object:
      return kind_object;
  }
  return kind_object;
}

void append_image(std::vector<std::byte>& out, const Image& image) {
  // The string table starts with an empty string, as LLVM's does.
  std::string strings(1, '\0');
  std::vector<std::uint64_t> offsets;
  const std::array<std::string_view, 4> texts{"triple", image.triple, "arch", image.arch};
  for (const std::string_view text : texts) {
    offsets.push_back(strings.size());
    strings.append(text).push_back('\0');
  }
  const std::uint64_t table = head_size + entry_size;
  const std::uint64_t text_start = table + offsets.size() / 2 * string_size;
  const std::uint64_t content = align(text_start + strings.size());
  const std::uint64_t size = align(content + image.bytes.size());
  const std::size_t start = out.size();

  append(out, offload_magic);
  append(out, offload_version);
  append(out, size);
  append(out, head_size);
  append(out, entry_size);
  append(out, number_of(image.kind));
  append(out, std::uint16_t{0});  // no offloading model
  append(out, std::uint32_t{0});
  append(out, table);
  append(out, std::uint64_t{offsets.size() / 2});
  append(out, content);
  append(out, std::uint64_t{image.bytes.size()});
  for (const std::uint64_t offset : offsets) append(out, text_start + offset);
  const auto text_bytes = as_bytes(strings);
  out.insert(out.end(), text_bytes.begin(), text_bytes.end());
  out.resize(start + content);
  out.insert(out.end(), image.bytes.begin(), image.bytes.end());
  out.resize(start + size);
}

}  // namespace

std::string_view to_string(ImageKind kind) {
  switch (kind) {
    case ImageKind::bitcode:
      return "bitcode";
    case ImageKind::ptx:
      return "ptx";
    case ImageKind::object:
      return "object";
  }
  return "object";
}

Result<Container> read_container(std::span<const std::byte> bytes) {
  if (bytes.empty()) return reject_container("the module is empty");
  if (bytes.size() < 4)
    return reject_container(fmt::format(
        "truncated at byte {}: too short for a module; upload the whole file", bytes.size()));
  if (load<std::uint32_t>(bytes, 0) == offload_magic) return read_offload_images(bytes);
  std::span<const std::byte> bitcode = bytes;
  if (has_bitcode_wrapper_magic(bytes)) {
    auto inner = unwrap_bitcode(bytes);
    if (!inner) return fail(std::move(inner.error()));
    bitcode = *inner;
  } else if (!has_bitcode_magic(bytes)) {
    return not_a_module(bytes);
  }
  if (auto checked = check_bitcode_blocks(bitcode); !checked)
    return fail(std::move(checked.error()));
  Container container{.plain = true, .images = {}};
  container.images.push_back(
      {.triple = "", .arch = "", .kind = ImageKind::bitcode, .bytes = bitcode});
  return container;
}

Result<std::vector<std::byte>> write_container(std::span<const Image> images) {
  if (images.empty()) return fail(ErrorCode::bad_request, "a module needs at least one image");
  std::vector<std::byte> out;
  for (const Image& image : images) {
    if (image.bytes.empty())
      return fail(ErrorCode::bad_request, "an image for '" + image.triple + "' is empty");
    if (image.triple.empty())
      return fail(ErrorCode::bad_request, "an image names no target triple");
    append_image(out, image);
  }
  return out;
}

std::string architecture_of(std::string_view triple) {
  const std::string_view first = triple.substr(0, triple.find('-'));
  if (first == "amd64" || first == "x86-64") return "x86_64";
  if (first == "arm64") return "aarch64";
  return std::string(first);
}

}  // namespace orchid::module
