#include "foundation/log.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "foundation/unique_fd.h"

namespace orchid {
namespace {

/// What an event with that text looks like in the log, without its time.
std::string logged(const std::string& text) {
  const UniqueFd file(::memfd_create("log", MFD_CLOEXEC));
  const UniqueFd before(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  REQUIRE((file && before && ::dup2(file.get(), STDERR_FILENO) >= 0));
  log::warn("event=test reason=\"{}\"", text);
  REQUIRE(::dup2(before.get(), STDERR_FILENO) >= 0);
  std::string line(4096, '\0');
  line.resize(static_cast<std::size_t>(::pread(file.get(), line.data(), line.size(), 0)));
  const auto start = line.find("event=");
  REQUIRE(start != std::string::npos);
  return line.substr(start);
}

}  // namespace

TEST_CASE("an event is one line, and changes no terminal, whatever it quotes") {
  CHECK(logged("plain, Straße, 日本") == "event=test reason=\"plain, Straße, 日本\"\n");
  CHECK(logged("\x1b[31mred") == "event=test reason=\"\\x1b[31mred\"\n");
  CHECK(logged("one\nevent=forged") == "event=test reason=\"one\\x0aevent=forged\"\n");
  CHECK(logged("\xc2\x9b"
               "31m") == "event=test reason=\"\\u{9b}31m\"\n");
  CHECK(logged("\xe2\x80\xae"
               "back") == "event=test reason=\"\\u{202e}back\"\n");
  CHECK(logged(std::string("a\0b\x7f", 4)) == "event=test reason=\"a\\x00b\\x7f\"\n");
  CHECK(logged("cut \xe2\x80") == "event=test reason=\"cut \\xe2\\x80\"\n");
}

}  // namespace orchid
