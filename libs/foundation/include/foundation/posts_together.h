// foundation/posts_together.h: what one thread hands to others while it does several things in a
// row arrives there at once, and wakes them once.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "foundation/task.h"

namespace orchid {

/// While one lives, its thread's tasks for posters that `together` made are kept; then they are
/// handed over, in their order, as one task for each poster. An inner one leaves that to the outer.
class PostsTogether {
 public:
  PostsTogether() : outer_(std::exchange(current(), this)) {
    if (outer_ != nullptr) current() = outer_;
  }
  ~PostsTogether() {
    if (outer_ != nullptr) return;
    while (!kept_.empty()) hand_over();
    current() = nullptr;
  }
  PostsTogether(const PostsTogether&) = delete;
  PostsTogether& operator=(const PostsTogether&) = delete;

  /// What was kept so far; who sleeps or waits does so first.
  void hand_over() {
    if (outer_ != nullptr) return outer_->hand_over();
    for (Kept& kept : std::exchange(kept_, {})) hand_over(std::move(kept));
  }

  /// `poster` outlives what it is given. Tasks that arrived together are run so.
  [[nodiscard]] static Poster together(Poster poster) {
    auto shared = std::make_shared<const Poster>(std::move(poster));
    return [shared = std::move(shared)](Task task) {
      if (current() == nullptr) return (*shared)(std::move(task));
      current()->keep(shared, std::move(task));
    };
  }

 private:
  struct Kept {
    std::shared_ptr<const Poster> poster;
    std::vector<Task> tasks;
  };
  static PostsTogether*& current() {
    static thread_local PostsTogether* here = nullptr;
    return here;
  }
  void keep(const std::shared_ptr<const Poster>& poster, Task task) {
    for (Kept& kept : kept_)
      if (kept.poster == poster) return kept.tasks.push_back(std::move(task));
    kept_.push_back({.poster = poster, .tasks = {}});
    kept_.back().tasks.push_back(std::move(task));
  }
  static void hand_over(Kept kept) {
    if (kept.tasks.size() == 1) return (*kept.poster)(std::move(kept.tasks.front()));
    (*kept.poster)([tasks = std::move(kept.tasks)]() mutable {
      const PostsTogether posts;
      for (Task& task : tasks) task();
    });
  }

  PostsTogether* outer_;
  std::vector<Kept> kept_;
};

}  // namespace orchid
