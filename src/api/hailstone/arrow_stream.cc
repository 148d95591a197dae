#include "api/hailstone/arrow_stream.h"

#include <cerrno>

namespace hailstone::capi {

namespace {

struct StreamHandle : OfTransaction {
  using Public = void;
  static constexpr HandleKind its_kind = HandleKind::Stream;
  StreamHandle(const std::shared_ptr<SharedTransaction>& transaction,
               const std::shared_ptr<const TableShape>& of_table, std::unique_ptr<StreamedRows> streamed)
      : OfTransaction(its_kind, transaction, of_table), rows(std::move(streamed)) {}
  ~StreamHandle() override { shared->calls.discard(std::move(rows)); }
  std::unique_ptr<StreamedRows> rows;
};

/// The interface wants numbers of errno.
int error_number(int status) {
  switch (status) {
    case HS_OK:
      return 0;
    case HS_NO_MEMORY:
      return ENOMEM;
    case HS_INTERRUPTED:
      return ECANCELED;
    case HS_CORRUPT:
    case HS_IO:
      return EIO;
    default:
      return EINVAL;
  }
}

int stream_schema(ArrowArrayStream* of, ArrowSchema* out) {
  const Call<StreamHandle> stream(of->private_data);
  if (!stream) return EINVAL;
  return error_number(run(*stream, [&]() -> Outcome {
    export_schema(stream->rows->columns(), out);
    return {};
  }));
}

int stream_next(ArrowArrayStream* of, ArrowArray* out) {
  *out = {};
  const Call<StreamHandle> stream(of->private_data);
  if (!stream) return EINVAL;
  return error_number(run_statement(*stream, *stream->shared, [&] { return stream->rows->next(out); }));
}

const char* stream_error(ArrowArrayStream* of) {
  const Pin<StreamHandle> stream(of->private_data);
  if (!stream) return "the database or the transaction of this stream is closed";
  thread_local std::string shown;
  return stream->message(shown);
}

void release_stream(ArrowArrayStream* of) {
  retire(bits_of(of->private_data));
  of->release = nullptr;
}

}  // namespace

Outcome StreamedRows::next(ArrowArray* out) {
  for (;;) {
    if (!batch_ || taken_ == batch_->rows) {
      if (!ended_) {
        HAILSTONE_ASSIGN(batch_, read());
      }
      ended_ = !batch_;
      taken_ = 0;
      if (ended_) break;
    }
    HAILSTONE_ASSIGN(const uint32_t took, builder_.append(batch_->rows, batch_->columns, taken_));
    if (took == 0) break;
    taken_ += took;
  }
  // Released, as it is zeroed: the end.
  if (builder_.rows() > 0) builder_.finish(out);
  return {};
}

Outcome open_stream(const std::shared_ptr<SharedTransaction>& transaction,
                    const std::shared_ptr<const TableShape>& shape, std::unique_ptr<StreamedRows> rows,
                    ArrowArrayStream* stream) {
  void* handle;
  HAILSTONE_TRY(give_out(std::make_unique<StreamHandle>(transaction, shape, std::move(rows)), &handle));
  *stream = {.get_schema = stream_schema,
             .get_next = stream_next,
             .get_last_error = stream_error,
             .release = release_stream,
             .private_data = handle};
  return {};
}

}  // namespace hailstone::capi
