#include "lane_client/opened_data.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <utility>
#include <variant>

namespace orchid::lane_client {
namespace {

bool is_data(const UniqueFd& file, ByteCount bytes, DataAccess access) {
  const int wanted = F_SEAL_SHRINK | F_SEAL_GROW | (access == DataAccess::read ? F_SEAL_WRITE : 0);
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  struct stat status{};
  return seals >= 0 && (seals & wanted) == wanted && ::fstat(file.get(), &status) == 0 &&
         static_cast<std::uint64_t>(status.st_size) == bytes.value;
}

}  // namespace

Result<UniqueFd> take_opened_data(Packet answer, const LaneOpenData& request) {
  auto message = parse_lane_message(answer.text);
  if (!message) return fail(std::move(message.error()));
  if (auto* refused = std::get_if<LaneRefused>(&*message))
    return fail(refused->code, std::move(refused->message));
  const auto* data = std::get_if<LaneData>(&*message);
  if (data == nullptr || data->data != request.data || answer.descriptors.size() != 1 ||
      !is_data(answer.descriptors.front(), data->bytes, request.access))
    return fail(ErrorCode::bad_request, "the executor answered something else than data");
  return std::move(answer.descriptors.front());
}

}  // namespace orchid::lane_client
