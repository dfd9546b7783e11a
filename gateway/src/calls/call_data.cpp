#include "calls/call_data.h"

namespace orchid::gateway {

std::string to_string(const std::shared_ptr<const CallData>& data) {
  std::string text;
  if (data == nullptr) return text;
  for (const DataId& id : data->ids) text += (text.empty() ? "" : ",") + to_string(id);
  return text;
}

}  // namespace orchid::gateway
