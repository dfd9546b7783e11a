// The rivals in active messages: handlers that forward, and a client that fetches each step.
#include <cstring>

#include "crew/chase_end.h"
#include "crew/ucx_party.h"

namespace orchid::bench {
namespace {

constexpr unsigned step_id = 1;    // to the member that has the entry
constexpr unsigned answer_id = 2;  // to process 0

class RawEnd final : public ChaseEnd {
 public:
  RawEnd(std::unique_ptr<UcxParty> party, const ChaseSetting& setting)
      : party_(std::move(party)),
        table_(setting.processes - 1, setting.order),
        self_(setting.self),
        fetches_(setting.way == ChaseWay::fetch) {
    party_->handle(step_id, on_step, this);
    party_->handle(answer_id, on_answer, this);
  }
  Result<void> wire(Board& board, const ChaseSetting& setting) {
    board.publish(setting.self, party_->address());
    return party_->wire(board, setting.self, setting.processes);
  }

  bool look() override { return party_->progress(); }
  void begin(const ChaseRequest& request) override {
    send(ChaseTable::owner(request.address), step_id, request);
  }
  bool prepare_to_sleep() override { return party_->arm(); }
  int wake_descriptor() const override { return party_->wake_descriptor(); }
  std::optional<std::string> failure() const override { return party_->failure(); }

 private:
  void send(unsigned peer, unsigned id, const ChaseRequest& request) {
    UcxParty::Slot* slot = party_->take_slot();
    std::memcpy(slot->bytes.data(), &request, sizeof(request));
    party_->send(peer, id, slot, sizeof(request));
  }
  static ucs_status_t on_step(void* self, const void*, std::size_t, void* data, std::size_t,
                              const ucp_am_recv_param_t*) {
    auto& end = *static_cast<RawEnd*>(self);
    ChaseRequest request;
    std::memcpy(&request, data, sizeof(request));
    unsigned owner = 0;
    do {
      request.address = end.table_.next(request.address);
      owner = ChaseTable::owner(request.address);
    } while (--request.left != 0 && !end.fetches_ && owner == end.self_);
    if (request.left == 0 || end.fetches_)
      end.send(0, answer_id, request);
    else
      end.send(owner, step_id, request);
    return UCS_OK;
  }
  static ucs_status_t on_answer(void* self, const void*, std::size_t, void* data, std::size_t,
                                const ucp_am_recv_param_t*) {
    auto& end = *static_cast<RawEnd*>(self);
    ChaseRequest request;
    std::memcpy(&request, data, sizeof(request));
    if (request.left == 0)
      end.answers_.push_back({request.number, request.address});
    else
      end.begin(request);
    return UCS_OK;
  }

  std::unique_ptr<UcxParty> party_;
  ChaseTable table_;
  unsigned self_;
  bool fetches_;
};

}  // namespace

Result<std::unique_ptr<ChaseEnd>> open_raw_end(const ChaseSetting& setting, Board& board) {
  auto party = UcxParty::open(
      {.transports = setting.transports, .devices = setting.devices, .wakes = setting.wakes});
  if (!party) return fail(std::move(party.error()));
  auto end = std::make_unique<RawEnd>(std::move(*party), setting);
  if (auto wired = end->wire(board, setting); !wired) return fail(std::move(wired.error()));
  return end;
}

}  // namespace orchid::bench
