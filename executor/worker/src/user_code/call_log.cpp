#include "user_code/call_log.h"

#include <stdio_ext.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <streambuf>

#include "protocol/limits.h"

namespace orchid::executor {
namespace {

class LogStreamBuffer final : public std::streambuf {
 public:
  explicit LogStreamBuffer(CallLog& log) : log_(log) {}

 protected:
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char byte = traits_type::to_char_type(c);
    log_.append({&byte, 1});
    return c;
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    log_.append({text, static_cast<std::size_t>(size)});
    return size;
  }

 private:
  CallLog& log_;
};

ssize_t write_to_log(void* log, const char* text, std::size_t size) {
  static_cast<CallLog*>(log)->append({text, size});
  return static_cast<ssize_t>(size);
}

/// What stdout and stderr are for as long as the process lives; null: not captured.
struct LogStreams {
  FILE* output = nullptr;
  FILE* errors = nullptr;
};
LogStreams& log_streams() {
  static LogStreams streams;
  return streams;
}

FILE* open_log_stream(CallLog& log) {
  FILE* stream = ::fopencookie(
      &log, "w", {.read = nullptr, .write = write_to_log, .seek = nullptr, .close = nullptr});
  if (stream != nullptr) ::setvbuf(stream, nullptr, _IONBF, 0);
  return stream;
}

}  // namespace

void CallLog::append(std::string_view text) {
  if (text.empty()) return;
  const std::uint64_t at = head_.length.fetch_add(text.size(), std::memory_order_acq_rel);
  if (at == 0) head_.request_id.store(request_id_, std::memory_order_release);
  const std::uint64_t limit = limits::log_size.value;
  if (at >= limit) return;  // cut; the length goes on counting
  std::memcpy(text_ + at, text.data(), std::min<std::uint64_t>(text.size(), limit - at));
}

std::string_view CallLog::text() const {
  return {text_, std::min<std::uint64_t>(head_.length.load(std::memory_order_acquire),
                                         limits::log_size.value)};
}

std::uint64_t CallLog::dropped() const {
  const std::uint64_t length = head_.length.load(std::memory_order_acquire);
  return length > limits::log_size.value ? length - limits::log_size.value : 0;
}

void CallLog::clear() {
  head_.request_id.store(0, std::memory_order_relaxed);
  head_.length.store(0, std::memory_order_release);
}

void CallLog::capture_standard_streams() {
  // Both live until the process ends; the C library and iostreams keep pointers to them.
  if (FILE* stream = open_log_stream(*this); stream != nullptr)
    stdout = log_streams().output = stream;
  if (FILE* stream = open_log_stream(*this); stream != nullptr)
    stderr = log_streams().errors = stream;
  auto* buffer = new LogStreamBuffer(*this);
  std::cout.rdbuf(buffer);
  std::cerr.rdbuf(buffer);
  std::clog.rdbuf(buffer);
}

bool CallLog::is_log_stream(const FILE* stream) {
  return stream != nullptr && (stream == log_streams().output || stream == log_streams().errors);
}

void CallLog::flush_standard_streams() {
  // A function may have put others in their place, and closed them.
  if (log_streams().output != nullptr) stdout = log_streams().output;
  if (log_streams().errors != nullptr) stderr = log_streams().errors;
  if (::__fpending(stdout) != 0) std::fflush(stdout);
  if (::__fpending(stderr) != 0) std::fflush(stderr);
}

}  // namespace orchid::executor
