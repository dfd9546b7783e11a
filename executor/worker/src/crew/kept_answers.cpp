#include "crew/kept_answers.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

namespace orchid::executor {
namespace {

/// Of words; no secret depends on it: whoever makes two inputs of one key fools only himself.
class Key {
 public:
  void add(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x9e3779b97f4a7c15U;
    value_ ^= value_ >> 32U;
  }
  void add(std::span<const std::byte> bytes) {
    add(bytes.size());
    while (!bytes.empty()) {
      std::uint64_t word = 0;
      const std::size_t size = std::min(bytes.size(), sizeof(word));
      std::memcpy(&word, bytes.data(), size);
      add(word);
      bytes = bytes.subspan(size);
    }
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0x6f72636869640051U;
};

/// Hops are fewer with each step of a call, so they say which of its steps has spawned it.
std::uint64_t key_of(const Step& rest, std::uint64_t number, const Step& child) {
  Key key;
  key.add(crew::hops_of(rest.header));
  key.add(number);
  key.add(crew::module_key_of(child.header));
  key.add(child.header.entry);
  key.add(child.input.bytes());
  return key.value();
}

}  // namespace

/// The client adds to it when it sends a call again, which is seldom.
void KeptAnswers::look() {
  const std::size_t filled = transport::AnswerShelf::filled(from_client_);
  if (looked_at_ == filled) return;
  looked_at_ = filled;
  transport::AnswerShelf::read(
      from_client_, [&](std::uint64_t call, std::uint64_t key, std::span<const std::byte> answer) {
        found_[{call, key}] = answer;
      });
}

KeptChildren KeptAnswers::find(const Step& rest, std::span<const Step> children) {
  KeptChildren kept;
  // What is never begun again needs nothing of that.
  if (children.empty() || crew::is_once(rest.header)) return kept;
  look();
  for (std::size_t i = 0; i < children.size(); ++i)
    kept.keys.push_back(key_of(rest, i, children[i]));
  if (found_.empty()) return kept;
  kept.answers.resize(children.size());
  for (std::size_t i = 0; i < children.size(); ++i) {
    const auto found = found_.find({rest.header.request_id, kept.keys[i]});
    if (found == found_.end()) continue;
    AlignedBytes answer;
    if (answer.assign(found->second)) kept.answers[i] = std::move(answer);
  }
  return kept;
}

}  // namespace orchid::executor
