#include "transport/ucx_lane.h"

namespace orchid::transport {

Result<ConnectionKey> parse_connection_key(std::string_view digits) {
  ConnectionKey key{};
  bool good = digits.size() == 2 * key.size();
  for (std::size_t i = 0; good && i < digits.size(); ++i) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(digits[i]);
    good = digit != std::string_view::npos;
    key[i / 2] = static_cast<std::byte>((static_cast<std::size_t>(key[i / 2]) << 4) | digit);
  }
  if (!good) return fail(ErrorCode::bad_request, "a lane's key has 32 hexadecimal digits");
  return key;
}

bool same_key(const ConnectionKey& a, const ConnectionKey& b) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= std::to_integer<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace orchid::transport
