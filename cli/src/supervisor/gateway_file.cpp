#include "supervisor/gateway_file.h"

#include <nlohmann/json.hpp>
#include <system_error>

#include "foundation/files.h"

namespace orchid::cli {
namespace {

using nlohmann::json;

std::filesystem::path file_in(const std::filesystem::path& runtime) {
  return runtime / "gateway.json";
}

}  // namespace

Result<void> write_gateway_file(const std::filesystem::path& runtime, const GatewayFile& file) {
  const json document = {{"addresses", file.addresses},   {"socket", file.socket},
                         {"token_file", file.token_file}, {"state", file.state},
                         {"version", file.version},       {"pid", file.pid}};
  const std::string text = document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  return write_file_atomically(file_in(runtime), as_bytes(text));
}

Result<GatewayFile> read_gateway_file(const std::filesystem::path& runtime) {
  const auto content = read_file(file_in(runtime), 64_KiB);
  if (!content) return fail(content.error());
  const json document = json::parse(as_text(*content), nullptr, /*allow_exceptions=*/false);
  try {
    return GatewayFile{.addresses = document.at("addresses").get<std::vector<std::string>>(),
                       .socket = document.value("socket", ""),
                       .token_file = document.value("token_file", ""),
                       .state = document.value("state", ""),
                       .version = document.value("version", ""),
                       .pid = document.value("pid", 0)};
  } catch (const json::exception&) {
    return fail(ErrorCode::bad_configuration,
                file_in(runtime).string() + " is damaged; remove it and start 'orchid up' again");
  }
}

Result<GatewayFile> find_gateway_file(const std::vector<std::filesystem::path>& places) {
  std::string looked;
  for (const auto& place : places) {
    auto file = read_gateway_file(place);
    if (file || file.error().code != ErrorCode::not_found) return file;
    looked += (looked.empty() ? "" : " and ") + file_in(place).string();
  }
  return fail(ErrorCode::not_found,
              "no running Orchid found (looked for " + looked + "); start one with 'orchid up'");
}

void remove_gateway_file(const std::filesystem::path& runtime) {
  std::error_code ignored;  // gone already is as good
  std::filesystem::remove(file_in(runtime), ignored);
}

}  // namespace orchid::cli
