#include "lone_gateway.h"

#include <nlohmann/json.hpp>

#include "foundation/files.h"
#include "foundation/units.h"
#include "start_up.h"

namespace orchid::bench {
namespace {

std::string text_of(const std::filesystem::path& path) {
  const auto content = read_file(path, 1_MiB);
  return content ? std::string(as_text(*content)) : std::string();
}

}  // namespace

Result<LoneGateway> LoneGateway::start(const std::filesystem::path& directory,
                                       const std::string& listen) {
  const auto state = directory / "gateway";
  const auto ready = directory / "ready";
  auto program = ChildProcess::start(
      {.command = {"sh", "-c",
                   std::string("exec ") + PROGRAMS + "/orchid-gateway --state " + state.string() +
                       " --compiler " + PROGRAMS + "/orchid-compiler --listen " + listen +
                       " --ready-fd 5 5> " + ready.string()},
       .output_file = directory / "gateway.log"});
  if (!program) return fail(std::move(program.error()));
  LoneGateway gateway(std::move(*program));
  auto up = wait_until("the gateway takes requests",
                       [&] { return text_of(ready).find('\n') != std::string::npos; });
  if (!up) return fail(std::move(up.error()));
  gateway.url_ = nlohmann::json::parse(text_of(ready)).at("urls").at(0).get<std::string>();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(state)) {
    if (entry.path().filename() == "token") gateway.token_file_ = entry.path();
    if (entry.is_socket()) gateway.socket_ = entry.path();
  }
  gateway.token_ = text_of(gateway.token_file_);
  gateway.token_.erase(gateway.token_.find_last_not_of("\r\n") + 1);
  return gateway;
}

}  // namespace orchid::bench
