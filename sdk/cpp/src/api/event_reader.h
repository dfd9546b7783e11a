// api/event_reader.h: server-sent events from the bytes of an answer (HTML Living Standard §9.2),
// as the gateway writes them: lines that end with \n.
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace orchid::sdk {

struct ServerEvent {
  std::string name;
  std::string data;
  std::string id;  // empty: none
};

/// Owned by one thread.
class EventReader {
 public:
  using Take = std::function<void(const ServerEvent&)>;
  explicit EventReader(Take take) : take_(std::move(take)) {}
  void add(std::span<const std::byte> bytes);

 private:
  void line(const std::string& text);
  Take take_;
  std::string rest_;  // of a line that is not whole yet
  ServerEvent event_;
};

}  // namespace orchid::sdk
