// unit/cli/run_orchid.h: the command line of `orchid`, run in this process.
#pragma once
#include <sstream>
#include <string>
#include <vector>

#include "commands/command_line.h"
#include "fake_gateway.h"

namespace orchid::cli {

struct Ran {
  int status = -1;
  std::string out;
  std::string err;
};

inline Ran orchid(const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream err;
  Shell shell(out, err);
  const int status = static_cast<int>(run_command_line(words, shell));
  return {status, out.str(), err.str()};
}

/// The same, asking `gateway`.
inline Ran orchid(const tests::FakeGateway& gateway, std::vector<std::string> words) {
  words.insert(words.end(), {"--gateway", gateway.address()});
  return orchid(words);
}

}  // namespace orchid::cli
