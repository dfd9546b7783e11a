#include "worker_door.h"

#include "foundation/numbers.h"
#include "protocol/crew.h"
#include "protocol/digest.h"
#include "protocol/lease_id.h"
#include "protocol/names.h"

namespace orchid::executor {
namespace {

bool may_be_module(std::string_view name) {
  if (is_digest(name) || crew::is_name_of_key(name)) return true;
  const auto function = parse_function_reference(name);
  return function && function->entry.empty();
}

/// Null: there may be something of that name.
const char* fault_of_name(const ServiceRequest& request) {
  if (request.ask == ServiceAsk::open_memory)
    return parse_lease_id(request.name)
               ? nullptr
               : "leased memory is opened by the id of its lease, such as 'l-3-17'";
  if (request.ask == ServiceAsk::create_module || request.ask == ServiceAsk::make_module ||
      request.ask == ServiceAsk::share_module)
    return request.name.empty() || is_digest(request.name)
               ? nullptr
               : "a module is named by its digest: sha256: and 64 hexadecimal digits";
  if (request.ask == ServiceAsk::fetch_module)
    return may_be_module(request.name)
               ? nullptr
               : "a module is named by its digest (sha256: and 64 hexadecimal digits), or as the "
                 "deployed function that has it";
  if (request.name.empty() || is_data_name(request.name)) return nullptr;
  return "no data has such a name: it is a letter, then letters, digits, '-' and '_', at most 64 "
         "in all, and perhaps @VERSION";
}

}  // namespace

bool is_data_name(std::string_view name) {
  const std::size_t at = name.find('@');
  if (at != std::string_view::npos && !parse_number<std::uint64_t>(name.substr(at + 1)))
    return false;
  return check_function_name(name.substr(0, at)).has_value();
}

WorkerDoor::Verdict WorkerDoor::take(std::string_view packet) {
  auto request = parse_service_request(packet);
  if (!request) return Nonsense{};
  if (request->sequence == last_) {
    if (!may_repeat_) return Nonsense{};
    return Nothing{};
  }
  // The first one may have been answered by the depot before, and be a repetition that it did not
  // read.
  const bool was_answered = may_repeat_ && taken_ == 1;
  if (waits_for_ != 0 && !was_answered) return Nonsense{};
  last_ = request->sequence;
  ++taken_;
  if (const char* const fault = fault_of_name(*request); fault != nullptr)
    return Refused{{.verdict = ServiceVerdict::refused,
                    .sequence = request->sequence,
                    .code = ErrorCode::bad_request,
                    .message = fault}};
  waits_for_ = request->sequence;
  return Passes{std::move(*request)};
}

bool WorkerDoor::answered(std::uint32_t sequence) {
  if (sequence == 0 || sequence != waits_for_) return false;
  waits_for_ = 0;
  return true;
}

}  // namespace orchid::executor
