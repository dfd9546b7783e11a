// The gateway's process for the bytes of far data: when nobody wants it any more.
#include "data/far_end.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "foundation/pipe.h"
#include "scratch_folder.h"

namespace orchid::gateway {
namespace {

/// Also those that have ended, and that nobody has reaped.
bool has_children() {
  siginfo_t ended{};
  return ::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

TEST_CASE("a process that nobody wants any more is killed, and reaped when it has ended") {
  const tests::Scratch folder;
  const auto program = folder / "never-ends";
  std::ofstream(program) << "#!/bin/sh\nexec sleep 3600\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  boost::asio::io_context io;
  auto pipe = make_pipe();
  REQUIRE(pipe.has_value());
  auto end = far_ends(io, program)(CopyPush{}, pipe->writer,
                                   {.met = [] {}, .ended = [](const auto& /*why*/) {}});
  REQUIRE(end.has_value());
  REQUIRE(has_children());
  end->reset();
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (has_children() && std::chrono::steady_clock::now() < give_up)
    io.run_one_for(std::chrono::milliseconds(100));
  CHECK_FALSE(has_children());
}

}  // namespace orchid::gateway
