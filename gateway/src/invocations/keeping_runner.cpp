#include "invocations/keeping_runner.h"

#include <vector>

#include "foundation/files.h"

namespace orchid::gateway {
namespace {

CallResult kept(CallResult result, const KeptOutput& output) {
  result.kept_as = output.id + " " + output.label;
  const auto document = as_bytes(output.document);
  result.output = Payload::of({document.begin(), document.end()});
  return result;
}

/// It is not run again for that.
CallResult not_kept(CallResult result, const Failure& why) {
  result.outcome = Outcome::no_capacity;
  result.refused = why.code;
  result.message = "the call has succeeded, but its output could not be kept: " + why.message;
  return result;
}

}  // namespace

void KeepingRunner::start(Call call, CallDone done) {
  if (call.output_data.empty()) return runner().start(std::move(call), std::move(done));
  auto ended = [this, tenant = call.tenant, name = call.output_data,
                done = std::move(done)](CallResult result) {
    if (result.outcome != Outcome::ok) return done(std::move(result));
    OutputToKeep output{.tenant = tenant, .name = name, .bytes = std::exchange(result.output, {})};
    keep_(std::move(output), [result = std::move(result), done](const Result<KeptOutput>& made) {
      done(made ? kept(result, *made) : not_kept(result, made.error()));
    });
  };
  runner().start(std::move(call), std::move(ended));
}

}  // namespace orchid::gateway
