#include "data/data_documents.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>

#include "http/json_text.h"
#include "http/timestamp.h"

namespace orchid::gateway {
namespace {

using Json = nlohmann::ordered_json;

std::string wall_time(MonotonicTime time, const DataMoment& moment) {
  return format_time(
      moment.unix_millis +
      std::chrono::duration_cast<std::chrono::milliseconds>(time - moment.now).count());
}

Json describe(const DataObject& object, const DataMoment& moment) {
  std::set<std::string> hosts;
  for (const DataHolder& holder : object.holders) hosts.insert(holder.host);
  Json json{
      {"id", to_string(object.id)},
      {"name", object.name.empty() ? Json() : Json(object.name)},
      {"version", object.name.empty() ? Json() : Json(object.version)},
      {"bytes", object.bytes.value},
      {"state", to_string(object.state)},
      {"created", wall_time(object.created, moment)},
      {"expires",
       object.expires == MonotonicTime::max() ? Json() : Json(wall_time(object.expires, moment))},
      {"hosts", hosts}};
  if (object.state == DataState::lost) {
    json["last_host"] = object.last_host;
    json["why_lost"] = object.why_lost;
  }
  return json;
}

}  // namespace

std::string data_json(const DataObject& object, const DataMoment& moment) {
  return json_text(describe(object, moment));
}

std::string data_list_json(std::span<const DataObject> objects, const DataMoment& moment) {
  Json list = Json::array();
  for (const DataObject& object : objects) list.push_back(describe(object, moment));
  return json_text({{"data", std::move(list)}});
}

}  // namespace orchid::gateway
