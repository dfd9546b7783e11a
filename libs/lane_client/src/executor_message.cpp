#include "lane_client/executor_message.h"

#include <type_traits>
#include <utility>

namespace orchid::lane_client {

Result<ExecutorMessage> parse_executor_message(std::string_view text) {
  auto message = parse_lane_message(text);
  if (!message) return fail(std::move(message.error()));
  return std::visit(
      []<typename Message>(Message& said) -> Result<ExecutorMessage> {
        if constexpr (std::is_constructible_v<ExecutorMessage, Message>)
          return ExecutorMessage(std::move(said));
        else
          return fail(ErrorCode::bad_request, "the executor sent a message that only clients send");
      },
      *message);
}

}  // namespace orchid::lane_client
