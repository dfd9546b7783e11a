// crew/kept_answers.h: children of a call that need not run again when the call begins again in
// another crew, since they have answered (decision 0051). Only those that the call itself has
// spawned: not their children.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "crew/spawn_book.h"
#include "transport/answer_shelf.h"

namespace orchid::executor {

/// The worker's thread. What members keep lies where their client finds it when they have ended,
/// and what the client has found lies where each member of the next crew finds it.
class KeptAnswers final : public AnswerKeeper {
 public:
  /// Both in memory that is mapped for as long as this lives.
  KeptAnswers(std::span<std::byte> to_client, std::span<const std::byte> from_client)
      : shelf_(to_client), from_client_(from_client) {}

  void keep(std::uint64_t request_id, std::uint64_t key,
            std::span<const std::byte> answer) override {
    (void)shelf_.put(request_id, key, answer, transport::AnswerShelf::WhenFull::forget_oldest);
  }
  /// Of a call that goes on as `rest`.
  [[nodiscard]] KeptChildren find(const Step& rest, std::span<const Step> children);

 private:
  void look();

  transport::AnswerShelf shelf_;
  std::span<const std::byte> from_client_;
  std::size_t looked_at_ = 0;  // so much of that
  /// By the number of the call, and the key.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::span<const std::byte>> found_;
};

}  // namespace orchid::executor
