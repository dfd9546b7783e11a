#include "processes/run_to_end.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "foundation/files.h"
#include "foundation/pipe.h"
#include "processes/child_process.h"

namespace orchid::processes {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// A file with the input, at its beginning: nobody has to write while the program reads.
Result<UniqueFd> input_file(const std::string& input) {
  UniqueFd file(::memfd_create("orchid-input", MFD_CLOEXEC));
  if (!file) return fail_errno("memfd_create");
  for (std::size_t written = 0; written < input.size();) {
    const ssize_t count = ::write(file.get(), input.data() + written, input.size() - written);
    if (count <= 0) return fail_errno("writing a program's input");
    written += static_cast<std::size_t>(count);
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return fail_errno("lseek");
  return file;
}

/// One of its outputs.
struct Stream {
  UniqueFd from;   // our end of a pipe, if it is kept
  UniqueFd there;  // what the program gets, if it is not ours
  std::string text;
  ByteCount most;
};

Result<Stream> open_stream(Output output, ByteCount most) {
  Stream stream{.from = {}, .there = {}, .text = {}, .most = most};
  if (output == Output::dropped) {
    stream.there.reset(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (!stream.there) return fail_errno("opening /dev/null");
  }
  if (output == Output::kept) {
    auto pipe = make_pipe();
    if (!pipe) return fail(std::move(pipe.error()));
    ::fcntl(pipe->reader.get(), F_SETFL, O_NONBLOCK);
    stream.from = std::move(pipe->reader);
    stream.there = std::move(pipe->writer);
  }
  return stream;
}

/// Takes what has come. False: it is more than is kept.
bool take(Stream& stream) {
  std::array<char, 64UL << 10> part{};
  while (stream.from) {
    const ssize_t got = ::read(stream.from.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) {
      stream.from.reset();
      return true;
    }
    stream.text.append(part.data(), static_cast<std::size_t>(got));
    if (stream.text.size() > stream.most.value) return false;
  }
  return true;
}

/// Until the child has ended, or its time is over. Errors: `too_large`.
Result<void> exchange(const ChildProcess& child, std::array<Stream, 2>& streams,
                      steady_clock::time_point give_up) {
  bool ended = false;
  while (!ended) {
    const auto left = std::chrono::ceil<milliseconds>(give_up - steady_clock::now()).count();
    if (left <= 0) return {};
    std::array<pollfd, 3> wait{{{.fd = streams[0].from.get(), .events = POLLIN, .revents = 0},
                                {.fd = streams[1].from.get(), .events = POLLIN, .revents = 0},
                                {.fd = child.descriptor(), .events = POLLIN, .revents = 0}}};
    if (::poll(wait.data(), wait.size(), static_cast<int>(std::min<long>(left, 60'000))) < 0)
      continue;
    // What it has written is in the pipes by then.
    ended = wait[2].revents != 0;
    for (Stream& stream : streams)
      if (!take(stream)) return fail(ErrorCode::too_large, "it printed too much");
  }
  return {};
}

}  // namespace

Result<RunResult> run_to_end(ProgramStart program, const RunOptions& options) {
  const auto give_up = steady_clock::now() + options.longest;
  UniqueFd input;
  if (!options.input.empty()) {
    auto file = input_file(options.input);
    if (!file) return fail(std::move(file.error()));
    input = std::move(*file);
    program.descriptors.push_back({.from = input.get(), .as = STDIN_FILENO});
  }
  std::array<Stream, 2> streams;
  for (const auto& [index, output, most] : {std::tuple(0, options.output, options.most_output),
                                            std::tuple(1, options.errors, options.most_errors)}) {
    auto stream = open_stream(output, most);
    if (!stream) return fail(std::move(stream.error()));
    streams.at(index) = std::move(*stream);
    if (streams.at(index).there)
      program.descriptors.push_back(
          {.from = streams.at(index).there.get(), .as = STDOUT_FILENO + index});
  }
  auto child = ChildProcess::start(program);
  if (!child) return fail(std::move(child.error()));
  for (Stream& stream : streams) stream.there.reset();
  if (auto exchanged = exchange(*child, streams, give_up); !exchanged)
    return fail(std::move(exchanged.error()).while_doing(program.program.string()));
  return RunResult{.end = child->reap(),
                   .output = std::move(streams[0].text),
                   .errors = std::move(streams[1].text)};
}

}  // namespace orchid::processes
