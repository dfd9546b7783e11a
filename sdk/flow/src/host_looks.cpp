#include "flow_run/host_looks.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <string>
#include <utility>

#include "flow_run/flow_tuning.h"

namespace orchid::flow {

std::vector<HostSituation> look_at_hosts(Client& client) {
  try {
    return host_situations(client.get("/v1/hosts"));
  } catch (const std::exception&) {  // the flow's calls tell what is wrong
    return {};
  }
}

std::vector<ObjectSituation> look_at_objects(Client& client, const std::vector<DataId>& objects) {
  std::vector<ObjectSituation> found;
  for (const DataId& id : objects) try {
      DataInfo info = client.describe_data(to_string(id));
      std::vector<std::string> hosts = std::move(info.hosts);
      for (std::string& host : info.arriving_at)
        if (std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(std::move(host));
      found.push_back({.id = id, .bytes = info.size, .hosts = std::move(hosts)});
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::not_found) found.push_back({.id = id});
    } catch (const std::exception&) {  // it is looked at another time
    }
  return found;
}

void HostLooks::ask() {
  if (!thread_.idle()) return;
  thread_.run([this] {
    auto hosts = look_at_hosts(client_);
    if (hosts.empty()) return;
    const std::lock_guard lock(mutex_);
    found_ = std::move(hosts);
  });
}

std::optional<std::vector<HostSituation>> HostLooks::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(found_, std::nullopt);
}

void HostLooks::ask_of(std::vector<DataId> objects) {
  {
    const std::lock_guard lock(mutex_);
    asks_of_objects_ = true;
  }
  thread_.run([this, objects = std::move(objects)] {
    auto found = look_at_objects(client_, objects);
    const std::lock_guard lock(mutex_);
    std::ranges::move(found, std::back_inserter(objects_));
    asks_of_objects_ = false;
  });
}

bool HostLooks::is_asked_of_objects() {
  const std::lock_guard lock(mutex_);
  return asks_of_objects_;
}

std::vector<ObjectSituation> HostLooks::take_objects() {
  const std::lock_guard lock(mutex_);
  return std::exchange(objects_, {});
}

}  // namespace orchid::flow
