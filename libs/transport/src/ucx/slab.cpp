#include "ucx/slab.h"

#include <sys/mman.h>

#include <utility>

namespace orchid::transport {

Result<Slab> Slab::map(std::size_t size) {
  // Shared with nobody; but a private mapping would count against a worker's RLIMIT_DATA as a
  // whole.
  void* base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return fail_errno("mmap a lane");
  return Slab({static_cast<std::byte*>(base), size});
}

Slab::Slab(Slab&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

Slab& Slab::operator=(Slab&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

Slab::~Slab() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

void Slab::trim() const {
  constexpr std::size_t kept = 1 << 20;
  if (bytes_.size() > kept) ::madvise(bytes_.data() + kept, bytes_.size() - kept, MADV_DONTNEED);
}

}  // namespace orchid::transport
