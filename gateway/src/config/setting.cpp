#include "setting.h"

#include <algorithm>
#include <map>

namespace orchid::gateway {

using std::chrono::milliseconds;

std::unexpected<Failure> wrong(const std::string& value, const std::string& expected) {
  return fail(ErrorCode::bad_configuration, "'" + value + "' is not " + expected);
}
std::unexpected<Failure> wrong(Failure read) {
  return fail(ErrorCode::bad_configuration, std::move(read.message));
}

Apply duration(milliseconds& field, milliseconds most) {
  return [&field, most](const std::string& value) -> Result<void> {
    auto parsed = parse_duration(value, {milliseconds(10), most});
    if (!parsed) return wrong(std::move(parsed.error()));
    field = std::chrono::ceil<milliseconds>(*parsed);
    return {};
  };
}

Apply size(ByteCount& field, ByteCount least) {
  return [&field, least](const std::string& value) -> Result<void> {
    auto parsed = parse_byte_count(value, {least, 1024_GiB});
    if (!parsed) return wrong(std::move(parsed.error()));
    field = *parsed;
    return {};
  };
}

Apply size(std::optional<ByteCount>& field) {
  return [&field](const std::string& value) -> Result<void> {
    ByteCount read;
    auto applied = size(read, 0_B)(value);
    if (applied) field = read;
    return applied;
  };
}

Apply text(std::string& field) {
  return [&field](const std::string& value) -> Result<void> {
    field = value;
    return {};
  };
}

Apply truth(bool& field) {
  return [&field](const std::string& value) -> Result<void> {
    if (value != "true" && value != "false") return wrong(value, "true or false");
    field = value == "true";
    return {};
  };
}

Apply path(std::filesystem::path& field) {
  return [&field](const std::string& value) -> Result<void> {
    if (value.empty()) return wrong(value, "a path");
    field = std::filesystem::absolute(value);
    return {};
  };
}

Apply list(std::vector<std::string>& field) {
  return [&field](const std::string& value) -> Result<void> {
    field.clear();
    std::size_t begin = 0;
    while (begin < value.size()) {
      const std::size_t end = std::min(value.find(',', begin), value.size());
      if (end > begin) field.push_back(value.substr(begin, end - begin));
      begin = end + 1;
    }
    return {};
  };
}

Apply log_level(LogLevel& field) {
  return [&field](const std::string& value) -> Result<void> {
    const std::map<std::string, LogLevel> names{{"debug", LogLevel::debug},
                                                {"info", LogLevel::info},
                                                {"warn", LogLevel::warn},
                                                {"error", LogLevel::error}};
    const auto found = names.find(value);
    if (found == names.end()) return wrong(value, "debug, info, warn or error");
    field = found->second;
    return {};
  };
}

Apply socket_users(SocketUsers& field) {
  return [&field](const std::string& value) -> Result<void> {
    if (value != "owner" && value != "everybody") return wrong(value, "owner or everybody");
    field = value == "owner" ? SocketUsers::owner : SocketUsers::everybody;
    return {};
  };
}

}  // namespace orchid::gateway
