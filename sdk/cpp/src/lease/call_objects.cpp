#include "lease/call_objects.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lease/lease_access.h"
#include "protocol/limits.h"

namespace orchid {
namespace sdk {

bool CallObjects::has(const DataId& id) const { return std::ranges::find(ids, id) != ids.end(); }

std::string CallObjects::label_of(const DataId& id) const {
  const auto found = std::ranges::find(ids, id);
  if (found == ids.end()) return {};
  return objects[static_cast<std::size_t>(found - ids.begin())]->label;
}

std::string CallObjects::labels() const {
  std::string text;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (i > 0) text += i + 1 == objects.size() ? " and " : ", ";
    text.append("'").append(objects[i]->label).append("'");
  }
  return text;
}

namespace {

std::vector<std::string> hosts_with_most(
    const std::vector<std::shared_ptr<const LeasedObject>>& objects) {
  std::map<std::string, std::uint64_t> shares;
  std::uint64_t most = 0;
  for (const auto& object : objects)
    for (const std::string& host : object->hosts) {
      std::uint64_t& share = shares[host];
      share += 1 + object->size;  // one without bytes is at home somewhere, too
      most = std::max(most, share);
    }
  std::vector<std::string> hosts;
  for (const auto& [host, share] : shares)
    if (share == most) hosts.push_back(host);
  return hosts;
}

bool are_of(const CallObjects& objects, const std::vector<LeasedData>& data) {
  return std::ranges::equal(objects.objects, data, {}, {}, &LeaseAccess::object_of);
}

}  // namespace

std::shared_ptr<const CallObjects> make_objects(const std::vector<LeasedData>& data) {
  // A program gives the same objects to many calls, and to make this takes half as long as a call.
  thread_local std::shared_ptr<const CallObjects> last;
  if (last != nullptr && are_of(*last, data)) return last;
  if (data.size() > limits::data_per_call)
    throw Error({.kind = ErrorKind::bad_request,
                 .message = "the call is given " + std::to_string(data.size()) +
                            " data objects; the limit is " +
                            std::to_string(limits::data_per_call)});
  auto all = std::make_shared<CallObjects>();
  for (const LeasedData& one : data) {
    const auto& object = LeaseAccess::object_of(one);
    all->ids.push_back(object->id);
    all->objects.push_back(object);
  }
  all->nearest = hosts_with_most(all->objects);
  last = std::move(all);
  return last;
}

void check_data_count(std::size_t given, std::size_t taken, const std::string& function) {
  if (given == taken) return;
  throw Error({.kind = ErrorKind::bad_request,
               .message = "the function takes " + std::to_string(taken) +
                          " data object(s), and the call is given " + std::to_string(given),
               .hint = "name them in the call's options, in the order of its arguments",
               .function = function});
}

}  // namespace sdk

const std::string& LeasedData::id() const { return object_->text; }
const std::string& LeasedData::label() const { return object_->label; }
std::uint64_t LeasedData::size() const { return object_->size; }

LeasedData Lease::data(std::string_view reference) {
  const DataInfo info = core_->source().describe_data(std::string(reference));
  const auto id = parse_data_id(info.id);
  if (!id || info.state == "lost")
    throw Error({.kind = id ? ErrorKind::data_lost : ErrorKind::internal,
                 .message = id ? "no copy of '" + info.label() + "' is left"
                               : "the gateway names data '" + info.id + "'"});
  return sdk::LeaseAccess::data(std::make_shared<const sdk::LeasedObject>(sdk::LeasedObject{
      .id = *id, .text = info.id, .label = info.label(), .size = info.size, .hosts = info.hosts}));
}

}  // namespace orchid
