// slurm_inquiry.h: a question to Slurm that is asked beside everything else: by a process of its
// own, since Slurm's commands may take seconds.
#pragma once
#include <sys/types.h>

#include <string>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "site/slurm_job.h"

namespace orchid::site {

/// Owned by the service's thread, the process's only one. The process goes with this object.
class SlurmInquiry {
 public:
  /// Errors: `system`.
  [[nodiscard]] static Result<SlurmInquiry> start(const SlurmQuestion& question);
  SlurmInquiry(SlurmInquiry&& other) noexcept;
  SlurmInquiry& operator=(SlurmInquiry&&) = delete;
  ~SlurmInquiry();

  /// Readable when there is something to `read`.
  [[nodiscard]] int descriptor() const { return answer_.get(); }
  /// Takes what has come. True: that was all, and `answer` may be asked.
  [[nodiscard]] bool read();
  /// Errors: those of `ask_slurm`.
  [[nodiscard]] Result<JobOnNode> answer() const;

 private:
  SlurmInquiry(pid_t process, UniqueFd answer) : process_(process), answer_(std::move(answer)) {}
  pid_t process_ = 0;
  UniqueFd answer_;  // the end of a pipe
  std::string text_;
};

}  // namespace orchid::site
