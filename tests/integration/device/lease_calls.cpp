// lease_calls GPUS: takes a lease of one worker with so many GPUs, says "ready" or why not, and
// then calls for each line "DEADLINE_MS FUNCTION INPUT" of its input; prints "ok OUTPUT", or the
// kind of the error and its message. The gateway is that of the environment.
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

#include "orchid/client.h"
#include "orchid/lease.h"

namespace {

std::string line_of(const orchid::Error& error) {
  std::string line = std::string(to_string(error.kind())) + ' ' + error.message();
  std::ranges::replace(line, '\n', ' ');
  return line;
}

void call(orchid::Lease& lease, const std::string& line) {
  std::istringstream words(line);
  long deadline_ms = 0;
  std::string function;
  std::string input;
  words >> deadline_ms >> function;
  std::getline(words >> std::ws, input);
  try {
    const auto reply = lease.function(function).invoke(
        input, {.deadline = std::chrono::milliseconds(deadline_ms)});
    std::cout << "ok " << reply.text() << std::endl;
  } catch (const orchid::Error& error) {
    std::cout << line_of(error) << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return 64;
  try {
    orchid::Client client;
    const auto gpus = static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
    orchid::Lease lease = client.lease({.alternatives = {{.cores = 1, .gpus = gpus}}});
    std::cout << "ready" << std::endl;
    for (std::string line; std::getline(std::cin, line);) call(lease, line);
    return 0;
  } catch (const orchid::Error& error) {
    std::cout << line_of(error) << std::endl;
    return 1;
  }
}
