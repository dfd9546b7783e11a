#include "clusters/source_conversation.h"

#include <utility>

#include "foundation/log.h"

namespace orchid::gateway {

Result<SourceConversation::Heard> SourceConversation::line(std::string_view text,
                                                           MonotonicTime now) {
  auto message = parse_source_message(text);
  if (!message) return fail(std::move(message.error()));
  state_.heard = now;
  if (const auto* error = std::get_if<SourceError>(&*message))
    return fail(error->code, error->message);
  if (const auto* hello = std::get_if<SourceHello>(&*message)) return greeted(*hello);
  if (!greeted_) return fail(ErrorCode::bad_request, "a source's first line must be a hello");
  if (auto* update = std::get_if<SourceUpdate>(&*message)) return updated(std::move(*update), now);
  state_.report = std::get<SourceReport>(std::move(*message));
  state_.trouble = state_.report.message;
  return Heard{};
}

Result<SourceConversation::Heard> SourceConversation::greeted(const SourceHello& hello) {
  if (greeted_) return fail(ErrorCode::bad_request, "a source says hello once");
  if (hello.oldest_protocol > source_protocol_version ||
      hello.newest_protocol < source_protocol_version)
    return fail(ErrorCode::unsupported,
                "it does not speak version " + std::to_string(source_protocol_version) +
                    " of the sources' protocol; install it from the same release as the gateway");
  greeted_ = true;
  state_.hello = hello;
  return Heard{.answer = SourceStart{}};
}

SourceConversation::Heard SourceConversation::updated(SourceUpdate update, MonotonicTime now) {
  SourceInventory& inventory = has_replaced_ ? state_.inventory : first_;
  const auto complete = inventory.apply(std::move(update));
  if (!complete) {
    log::warn("event=source_misunderstood source={} reason=\"{}\"", state_.source,
              complete.error().message);
    return {.answer = SourceResync{}};
  }
  if (!*complete) return {};
  if (!std::exchange(has_replaced_, true)) state_.inventory = std::move(first_);
  state_.told = now;
  return {.inventory_changed = true};
}

}  // namespace orchid::gateway
