#include "flow_run/quick_calls.h"

#include <chrono>
#include <cstddef>
#include <utility>

#include "api/discovery.h"
#include "api/documents.h"
#include "api/invocation_request.h"
#include "api/session.h"
#include "http/request_loop.h"

namespace orchid::flow {
namespace {

/// As the request says.
constexpr std::chrono::milliseconds longest_wait{1'000};
constexpr std::size_t least_bytes_in_a_ms = 10'000;  // of an input on its way

constexpr int ok = 200;
constexpr int created = 201;  // a data object

}  // namespace

QuickCalls::QuickCalls(const ClientOptions& options)
    : loop_(std::make_unique<sdk::RequestLoop>(
          sdk::find_gateway(options, sdk::real_surroundings()))) {}

QuickCalls::~QuickCalls() = default;

void QuickCalls::start(const std::string& function, std::vector<std::byte> input,
                       const InvokeOptions& options, Ended ended) {
  const auto began = std::chrono::steady_clock::now();
  sdk::HttpRequest request = sdk::invocation_request(function, {}, options);
  request.headers.emplace_back("Prefer: wait=1");
  // However long the call may take: a gateway that hangs keeps no place.
  request.timeout = longest_wait + sdk::Session::answer_grace +
                    std::chrono::milliseconds(input.size() / least_bytes_in_a_ms);
  loop_->start(std::move(request), std::move(input),
               [ended = std::move(ended), began](std::optional<sdk::HttpResponse> response) {
                 if (!response || (response->status != ok && response->status != created))
                   return ended(std::nullopt);
                 const sdk::ExchangeTimes seen = response->times;
                 std::string id(response->header("orchid-invocation"));
                 Reply reply = sdk::make_reply(std::move(*response), std::move(id));
                 reply.timing = sdk::whole_timing(reply.timing, seen,
                                                  std::chrono::steady_clock::now() - began);
                 ended(std::move(reply));
               });
}

}  // namespace orchid::flow
