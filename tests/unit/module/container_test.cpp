#include "module/container.h"

#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/files.h"

using namespace orchid;
using namespace orchid::module;

namespace {

using Bytes = std::vector<std::byte>;

Bytes read_data(const std::string& name) {
  auto bytes = read_file(std::filesystem::path(TEST_DATA) / name, 1_MiB);
  REQUIRE(bytes.has_value());
  return *bytes;
}

/// A copy whose last byte lies right before a page that cannot be read: reading past the end ends
/// the test at once.
class GuardedCopy {
 public:
  explicit GuardedCopy(std::size_t capacity) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    readable_ = (capacity + page - 1) / page * page;
    base_ = static_cast<std::byte*>(::mmap(nullptr, readable_ + page, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(base_ != MAP_FAILED);
    REQUIRE(::mprotect(base_ + readable_, page, PROT_NONE) == 0);
  }
  GuardedCopy(const GuardedCopy&) = delete;
  GuardedCopy& operator=(const GuardedCopy&) = delete;
  ~GuardedCopy() { ::munmap(base_, readable_); }
  std::span<const std::byte> hold(std::span<const std::byte> bytes) {
    std::byte* start = base_ + readable_ - bytes.size();
    std::memcpy(start, bytes.data(), bytes.size());
    return {start, bytes.size()};
  }

 private:
  std::byte* base_ = nullptr;
  std::size_t readable_ = 0;
};

unsigned sum_of(std::span<const std::byte> bytes) {
  unsigned sum = 0;
  for (const std::byte b : bytes) sum += std::to_integer<unsigned>(b);
  return sum;
}

/// Reads everything that a reading hands out; each view must lie inside.
void touch_images(const Container& container, std::span<const std::byte> whole) {
  for (const Image& image : container.images) {
    CHECK(image.bytes.data() >= whole.data());
    CHECK(image.bytes.data() + image.bytes.size() <= whole.data() + whole.size());
    static_cast<void>(sum_of(image.bytes));
  }
}

std::string failure_of(std::span<const std::byte> bytes) {
  const auto read = read_container(bytes);
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error().code == ErrorCode::module_rejected);
  return read.error().message;
}

}  // namespace

TEST_CASE("plain bitcode is one image of unstated target") {
  const Bytes bitcode = read_data("x86_64.bc");
  const auto read = read_container(bitcode);
  REQUIRE(read.has_value());
  CHECK(read->plain);
  REQUIRE(read->images.size() == 1);
  CHECK(read->images[0].kind == ImageKind::bitcode);
  CHECK(read->images[0].triple.empty());
  CHECK(read->images[0].bytes.size() == bitcode.size());
}

TEST_CASE("what is written is read back") {
  const Bytes first = read_data("x86_64.bc");
  const Bytes second = {std::byte{1}, std::byte{2}, std::byte{3}};
  const auto ptx = std::as_bytes(std::span(std::string_view(".version 7.0")));
  const std::vector<Image> images{
      {.triple = "x86_64-linux-gnu", .arch = "x86-64", .kind = ImageKind::bitcode, .bytes = first},
      {.triple = "nvptx64-nvidia-cuda",
       .arch = "sm_90",
       .kind = ImageKind::object,
       .bytes = second},
      {.triple = "nvptx64-nvidia-cuda", .arch = "sm_75", .kind = ImageKind::ptx, .bytes = ptx}};
  const auto written = write_container(images);
  REQUIRE(written.has_value());
  const auto read = read_container(*written);
  REQUIRE(read.has_value());
  CHECK_FALSE(read->plain);
  REQUIRE(read->images.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(read->images[i].triple == images[i].triple);
    CHECK(read->images[i].arch == images[i].arch);
    CHECK(read->images[i].kind == images[i].kind);
    CHECK(std::ranges::equal(read->images[i].bytes, images[i].bytes));
  }
}

TEST_CASE("a container of LLVM's packager is read") {
  const Bytes packed = read_data("packed.orc");
  const auto read = read_container(packed);
  REQUIRE_MESSAGE(read.has_value(), read.error().message);
  REQUIRE(read->images.size() == 2);
  CHECK(read->images[0].triple == "x86_64-linux-gnu");
  CHECK(read->images[0].arch == "x86-64");
  CHECK(read->images[0].kind == ImageKind::bitcode);
  CHECK(std::ranges::equal(read->images[0].bytes, read_data("x86_64.bc")));
  CHECK(read->images[1].triple == "aarch64-linux-gnu");
  CHECK(std::ranges::equal(read->images[1].bytes, read_data("aarch64.bc")));
}

TEST_CASE("LLVM's packager extracts images from a container of ours") {
  const Bytes x86 = read_data("x86_64.bc");
  const Bytes arm = read_data("aarch64.bc");
  const auto written = write_container(std::vector<Image>{
      {.triple = "x86_64-linux-gnu", .arch = "x86-64", .kind = ImageKind::bitcode, .bytes = x86},
      {.triple = "aarch64-linux-gnu",
       .arch = "generic",
       .kind = ImageKind::bitcode,
       .bytes = arm}});
  REQUIRE(written.has_value());
  std::string directory = std::filesystem::temp_directory_path() / "orchid-container-XXXXXX";
  REQUIRE(::mkdtemp(directory.data()) != nullptr);
  REQUIRE(write_file_atomically(directory + "/ours.orc", *written).has_value());
  const std::string command = std::string(OFFLOAD_PACKAGER) + " " + directory +
                              "/ours.orc --image=file=" + directory +
                              "/out.bc,triple=aarch64-linux-gnu,arch=generic";
  CHECK(::system(command.c_str()) == 0);
  const auto extracted = read_file(directory + "/out.bc", 1_MiB);
  CHECK((extracted.has_value() && *extracted == arm));
  std::filesystem::remove_all(directory);
}

TEST_CASE("bitcode in Darwin's wrapper is unwrapped") {
  const Bytes bitcode = read_data("x86_64.bc");
  Bytes wrapped(20 + bitcode.size());
  const std::uint32_t head[5] = {0x0b17c0de, 0, 20, static_cast<std::uint32_t>(bitcode.size()), 7};
  std::memcpy(wrapped.data(), head, sizeof head);
  std::ranges::copy(bitcode, wrapped.begin() + 20);
  const auto read = read_container(wrapped);
  REQUIRE(read.has_value());
  CHECK(std::ranges::equal(read->images[0].bytes, bitcode));
  wrapped.resize(wrapped.size() - 1);
  CHECK(failure_of(wrapped).starts_with("truncated at byte"));
}

TEST_CASE("the message says what is wrong") {
  CHECK(failure_of({}) == "the module is empty");
  CHECK(failure_of(as_bytes("BC")).starts_with("truncated at byte 2"));
  CHECK(failure_of(as_bytes("hello world")).find("it starts with the bytes 68 65 6c 6c") !=
        std::string::npos);
  CHECK(failure_of(as_bytes("\x7f"
                            "ELF and more"))
            .find("machine code (ELF)") != std::string::npos);
  CHECK(failure_of(as_bytes("!<arch>\n")).find("static library") != std::string::npos);
  CHECK(failure_of(as_bytes("; ModuleID = 'x'\n")).find("llvm-as-19") != std::string::npos);

  const Bytes bitcode = read_data("x86_64.bc");
  const std::string cut = failure_of(std::span(bitcode).first(bitcode.size() - 200));
  CHECK(cut.find("truncated at byte " + std::to_string(bitcode.size() - 200)) != std::string::npos);

  Bytes packed = read_data("packed.orc");
  const std::string half = failure_of(std::span(packed).first(packed.size() - 8));
  CHECK(half.find("truncated at byte " + std::to_string(packed.size() - 8)) != std::string::npos);
  packed[4] = std::byte{9};
  CHECK(failure_of(packed).find("container version 9; this Orchid reads version 1") !=
        std::string::npos);
  packed[4] = std::byte{1};
  packed[32 + 24 + 5] = std::byte{0x7f};  // the image's offset
  CHECK(failure_of(packed).find(
            "image 1 of the container is damaged: its content lies outside of it") !=
        std::string::npos);
}

TEST_CASE("no truncation is read past its end, and no cut through a block passes for whole") {
  for (const char* name : {"x86_64.bc", "packed.orc"}) {
    const Bytes whole = read_data(name);
    GuardedCopy copy(whole.size());
    std::size_t passed = 0;
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const auto bytes = copy.hold(std::span(whole).first(length));
      const auto read = read_container(bytes);
      // A container cut exactly between two images is a container of one image.
      if (read) CHECK(read->images.size() == 1);
      // The walk sees a cut through a block; one between two blocks is the parser's to see.
      passed += read.has_value() ? 1 : 0;
      if (read) touch_images(*read, bytes);
    }
    CHECK(passed < 32);
  }
}

TEST_CASE("no mutant is read past its end") {
  for (const char* name : {"x86_64.bc", "packed.orc"}) {
    const Bytes whole = read_data(name);
    GuardedCopy copy(whole.size());
    std::mt19937_64 random(20240607);
    for (int round = 0; round < 3000; ++round) {
      Bytes mutant = whole;
      const auto changes = 1 + random() % 4;
      for (std::uint64_t i = 0; i < changes; ++i) {
        // Half of the changes hit the first head and tables, where they do the most harm.
        const std::size_t range =
            random() % 2 == 0 ? std::min<std::size_t>(mutant.size(), 160) : mutant.size();
        const std::size_t at = random() % range;
        constexpr std::uint8_t nasty[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
        mutant[at] = std::byte(random() % 2 == 0 ? nasty[random() % 5] : random() % 256);
      }
      mutant.resize(random() % 8 == 0 ? random() % mutant.size() : mutant.size());
      const auto bytes = copy.hold(mutant);
      const auto read = read_container(bytes);
      if (read)
        touch_images(*read, bytes);
      else
        CHECK_FALSE(read.error().message.empty());
    }
  }
}

TEST_CASE("an image needs bytes and a target to be written") {
  const Bytes some{std::byte{1}};
  CHECK_FALSE(write_container({}).has_value());
  CHECK_FALSE(
      write_container(std::vector<Image>{{.triple = "x86_64-linux-gnu", .bytes = {}}}).has_value());
  CHECK_FALSE(write_container(std::vector<Image>{{.triple = "", .bytes = some}}).has_value());
}

TEST_CASE("architectures have one name each") {
  CHECK(architecture_of("x86_64-pc-linux-gnu") == "x86_64");
  CHECK(architecture_of("amd64-unknown-freebsd") == "x86_64");
  CHECK(architecture_of("arm64-apple-macosx") == "aarch64");
  CHECK(architecture_of("aarch64-linux-gnu") == "aarch64");
  CHECK(architecture_of("nvptx64-nvidia-cuda") == "nvptx64");
}
