#include "tenants/peer_identity.h"

#include <pwd.h>

#include <array>
#include <unordered_map>

#include "foundation/numbers.h"

namespace orchid::gateway {

std::string user_name(uid_t uid) {
  std::array<char, 4096> space{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, space.data(), space.size(), &found) == 0 && found != nullptr)
    return found->pw_name;
  return "uid " + std::to_string(uid);
}

Result<Tenant> find_user(const std::string& name) {
  if (const auto uid = parse_number<uid_t>(name)) return Tenant{*uid, user_name(*uid)};
  std::array<char, 16'384> space{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwnam_r(name.c_str(), &entry, space.data(), space.size(), &found) == 0 &&
      found != nullptr)
    return Tenant{found->pw_uid, found->pw_name};
  return fail(ErrorCode::not_found, "there is no user '" + name + "'");
}

const std::string& known_user_name(uid_t uid) {
  constexpr std::size_t most = 4096;
  thread_local std::unordered_map<uid_t, std::string> names;
  if (const auto found = names.find(uid); found != names.end()) return found->second;
  if (names.size() >= most) names.clear();
  return names.emplace(uid, user_name(uid)).first->second;
}

}  // namespace orchid::gateway
