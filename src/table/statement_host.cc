#include "table/statement_host.h"

#include "base/processor_turns.h"
#include "table/helpers.h"
#include "transaction/transaction.h"

namespace hailstone {

namespace {

std::unexpected<Error> interrupted() { return fail(ErrorCode::Interrupted, "the query was interrupted"); }

}  // namespace

bool StatementHost::is_interrupted() const {
  const bool is = transaction_.interrupted();
  if (is) seen_.store(true, std::memory_order_relaxed);
  return is;
}

Status StatementHost::check_interruption() const {
  ProcessorTurns::check();
  answer_helpers();
  return is_interrupted() ? Status(interrupted()) : Status();
}

Status StatementHost::check_interruption_seen() const {
  ProcessorTurns::check();
  return seen_.load(std::memory_order_relaxed) ? Status(interrupted()) : Status();
}

void StatementHost::run_with_helpers(unsigned threads, const std::function<void(unsigned part)>& work) const {
  hailstone::run_with_helpers(host_, threads, work, [this] { static_cast<void>(is_interrupted()); });
}

}  // namespace hailstone
