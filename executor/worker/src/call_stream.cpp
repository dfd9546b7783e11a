#include "call_stream.h"

#include "last_words.h"
#include "orchid/function.h"

namespace orchid::executor {

CallStream::Next CallStream::exchange(orchid_call& call, std::span<const std::byte>& input) {
  if (stopped_ || orchid_should_stop(&call) != 0) {
    stopped_ = true;
    return Next::stop;
  }
  if (input_ended_ && !end_told_) {
    end_told_ = true;
    return Next::end;
  }
  send_chunk(call);
  const transport::LaneRequest entry = take_entry();
  const auto kind = static_cast<RequestKind>(entry.header.kind);
  if (kind == RequestKind::call)
    end_worker(page_, LastWords::failed, "the client began a call within a stream");
  if (kind == RequestKind::stop || orchid_should_stop(&call) != 0) {
    stopped_ = true;
    return Next::stop;
  }
  if (input_ended_) {
    if (!entry.input.empty())
      end_worker(page_, LastWords::failed, "the client sent input after the end of its stream");
    return Next::end;
  }
  input_ended_ = (entry.header.flags & flag_last) != 0;
  if (input_ended_ && entry.input.empty()) {
    end_told_ = true;
    return Next::end;
  }
  input = entry.input;
  return Next::chunk;
}

void CallStream::send_chunk(orchid_call& call) {
  if (auto sent = call.lane.answer({.kind = ResponseKind::chunk}); !sent)
    end_worker(page_, LastWords::failed, sent.error().message);
  call.output_size = 0;
}

transport::LaneRequest CallStream::take_entry() {
  const auto come = [&] { return wait_.lane.ready(); };
  while (true) {
    auto entry = wait_.lane.receive();
    if (!entry) end_worker(page_, LastWords::failed, entry.error().message);
    if (*entry) return **entry;
    // What the agent wants waits until the call is over, unless it wants that to end: then it
    // kills.
    if (!wait_.spin(come)) wait_.sleep(0, come);
  }
}

}  // namespace orchid::executor
