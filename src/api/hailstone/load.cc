// Bulk loads of rows and of Arrow arrays.
#include <fmt/format.h>

#include "api/hailstone/arrow_import.h"
#include "api/hailstone/values.h"
#include "table/bulk_load.h"

using namespace hailstone;
using namespace hailstone::capi;

namespace hailstone::capi {

namespace {

struct GuardedLoad : Guarded {
  GuardedLoad(std::shared_ptr<Table> table, Transaction& transaction) : load(std::move(table), transaction) {}
  BulkLoad load;
};

struct LoadHandle : OfTransaction {
  using Public = hs_load;
  static constexpr HandleKind its_kind = HandleKind::Load;
  LoadHandle(std::shared_ptr<SharedTransaction> loader, std::shared_ptr<const TableShape> loaded)
      : OfTransaction(its_kind, std::move(loader), std::move(loaded)),
        guarded(std::make_unique<GuardedLoad>(shape->table, *shared->transaction)) {}
  ~LoadHandle() override { shared->calls.discard(std::move(guarded)); }
  BulkLoad& load() const { return guarded->load; }
  std::unique_ptr<GuardedLoad> guarded;  // null once it has ended, or failed
  std::vector<Value> values;             // scratch space
  bool busy = false;                     // in a call, which reads a stream of the application
};

/// Runs a part of the load; when it fails, the load is over, and what was appended is discarded.
template <typename Work>
int load_step(hs_load* given_load, Work&& work) noexcept {
  const Call<LoadHandle> load(given_load);
  if (!load) return HS_INVALID;
  return run_statement(*load, *load->shared, [&]() -> Outcome {
    if (load->busy) return refuse(HS_INVALID, "the load is in the midst of a call");
    if (load->guarded == nullptr) return refuse(HS_INVALID, "the load has been finished or has failed");
    load->busy = true;
    const auto is_over = [&](bool failed) {
      load->busy = false;
      if (failed) load->guarded.reset();
    };
    try {
      Outcome outcome = std::forward<Work>(work)(*load);
      is_over(!outcome);
      return outcome;
    } catch (const std::bad_alloc&) {
      is_over(true);
      throw;
    }
  });
}

Outcome stream_failed(ArrowArrayStream& stream, int number) {
  return refuse(HS_INVALID, "the Arrow stream " + stream_failure(stream, number));
}

Outcome load_arrow(LoadHandle& load, const ArrowSchema* schema, const ArrowArray* array) {
  return read_arrow(
      *load.shape, schema, array,
      [&](std::span<const Value> values) -> Outcome {
        const Status appended = load.load().append(values);
        if (appended) [[likely]]
          return {};
        HAILSTONE_TRY(check_lengths(*load.shape, values));
        return std::unexpected(Failure(appended.error()));
      },
      [&]() -> Outcome {
        if (load.shared->takes_statements()) return {};
        return load.shared->refuse_statement();
      });
}

Outcome load_stream(LoadHandle& load, ArrowArrayStream& stream) {
  Released<ArrowSchema> schema;
  if (const int error = stream.get_schema(&stream, &schema.structure); error != 0) {
    return stream_failed(stream, error);
  }
  for (;;) {
    Released<ArrowArray> array;
    if (const int error = stream.get_next(&stream, &array.structure); error != 0) {
      return stream_failed(stream, error);
    }
    if (array.structure.release == nullptr) return {};
    HAILSTONE_TRY(load_arrow(load, &schema.structure, &array.structure));
  }
}

}  // namespace

}  // namespace hailstone::capi

int hs_load_begin(hs_transaction* given_transaction, hs_table* given_table, hs_load** load) {
  if (load == nullptr) {
    return misuse<TransactionHandle>(given_transaction, "the place for the load's handle is NULL");
  }
  *load = nullptr;
  const Call<TransactionHandle> transaction(given_transaction);
  const Pin<TableHandle> table(given_table);
  if (!fit(transaction, table)) return misfit(transaction);
  SharedTransaction& shared = *transaction->shared;
  return run_statement(*transaction, shared, [&]() -> Outcome {
    HAILSTONE_TRY(shared.check_table(*table->shape->table, true));
    return give_out(std::make_unique<LoadHandle>(transaction->shared, table->shape), load);
  });
}

int hs_load_row(hs_load* given_load, const hs_value* values, size_t value_count) {
  return load_step(given_load, [&](LoadHandle& load) -> Outcome {
    HAILSTONE_TRY(to_engine(*load.shape, values, value_count, load.values));
    HAILSTONE_TRY(load.load().append(load.values));
    return {};
  });
}

int hs_load_arrow(hs_load* given_load, const ArrowSchema* schema, const ArrowArray* array) {
  return load_step(given_load, [&](LoadHandle& load) { return load_arrow(load, schema, array); });
}

int hs_load_stream(hs_load* given_load, ArrowArrayStream* stream) {
  if (stream == nullptr || stream->release == nullptr) {
    return load_step(given_load, [](LoadHandle&) {
      return Outcome(refuse(HS_INVALID, "the Arrow stream is NULL or was released"));
    });
  }
  Released<ArrowArrayStream> owned{*stream};
  stream->release = nullptr;
  return load_step(given_load, [&](LoadHandle& load) { return load_stream(load, owned.structure); });
}

int hs_load_finish(hs_load* given_load) {
  return load_step(given_load, [&](LoadHandle& load) -> Outcome {
    Duplicate duplicate;
    const Status finished = load.load().finish(duplicate);
    const auto& indexes = load.shape->table->layout()->definition().indexes;
    if (!finished && finished.error().code() == ErrorCode::DuplicateKey && duplicate.index < indexes.size()) {
      const std::string key = key_text(*load.shape, duplicate.index, duplicate.row);
      return refuse(HS_DUPLICATE_KEY,
                    fmt::format("table '{}': {} key {} of index '{}'; nothing was loaded", load.shape->name(),
                                duplicate.clustered_key.empty() ? "two rows of the load have"
                                                                : "there is a row already with",
                                key, indexes[duplicate.index].name));
    }
    HAILSTONE_TRY(finished);
    load.guarded.reset();
    return {};
  });
}

void hs_load_close(hs_load* given_load) { close_handle<LoadHandle>(given_load); }
