#include "api/hailstone/arrow_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/hailstone/query_columns.h"
#include "query/pipeline.h"

namespace hailstone::capi {

namespace {

/// The type of hailstone.h that has all values of an Arrow type; nothing: there is none.
std::optional<hs_type> type_of(const ArrowSchema& schema) {
  const ArrowSchema& values = schema.dictionary != nullptr ? *schema.dictionary : schema;
  const std::string_view format = values.format == nullptr ? "" : values.format;
  static constexpr std::array<std::pair<std::string_view, hs_type>, 19> types{{{"c", HS_INT8},
                                                                               {"s", HS_INT16},
                                                                               {"i", HS_INT32},
                                                                               {"l", HS_INT64},
                                                                               {"C", HS_UINT8},
                                                                               {"S", HS_UINT16},
                                                                               {"I", HS_UINT32},
                                                                               {"L", HS_UINT64},
                                                                               {"f", HS_FLOAT},
                                                                               {"g", HS_DOUBLE},
                                                                               {"u", HS_STRING},
                                                                               {"U", HS_STRING},
                                                                               {"vu", HS_STRING},
                                                                               {"z", HS_BYTES},
                                                                               {"Z", HS_BYTES},
                                                                               {"vz", HS_BYTES},
                                                                               {"b", HS_BOOL},
                                                                               {"tdD", HS_DATE},
                                                                               {"tdm", HS_DATE}}};
  const auto known = std::ranges::find(types, format, &std::pair<std::string_view, hs_type>::first);
  if (known != types.end()) return known->second;
  if (format.starts_with("w:")) return HS_BYTES;
  if (format.starts_with("ts") && format.size() >= 4) return format.size() == 4 ? HS_DATETIME : HS_TIMESTAMP;
  return std::nullopt;
}

}  // namespace

Returned<std::shared_ptr<GivenStream>> GivenStream::take(ArrowArrayStream* stream, std::string name) {
  if (stream == nullptr || stream->release == nullptr)
    return refuse(HS_INVALID, "the Arrow stream is NULL or was released");
  std::shared_ptr<GivenStream> given(new GivenStream(std::move(name)));
  given->of_stream_.structure = *stream;
  stream->release = nullptr;
  HAILSTONE_TRY(given->look_at_schema());
  return given;
}

Outcome GivenStream::look_at_schema() {
  ArrowArrayStream& stream = of_stream_.structure;
  ArrowSchema& schema = of_schema_.structure;
  if (const int error = stream.get_schema(&stream, &schema); error != 0)
    return refuse(HS_INVALID, fmt::format("the Arrow stream '{}' {}", name_, stream_failure(stream, error)));
  const bool is_struct = schema.format != nullptr && std::string_view(schema.format) == "+s" &&
                         (schema.n_children == 0 || schema.children != nullptr);
  if (!is_struct || schema.n_children < 1)
    return refuse(HS_INVALID, fmt::format("the Arrow stream '{}' has no record batches with columns", name_));
  for (int64_t i = 0; i < schema.n_children; ++i) {
    const ArrowSchema* const child = schema.children[i];
    if (child == nullptr || child->release == nullptr)
      return refuse(HS_INVALID, fmt::format("column {} of the Arrow stream '{}' has no schema", i, name_));
    const std::string name = child->name == nullptr ? "" : child->name;
    const auto type = type_of(*child);
    if (!type)
      return refuse(
          HS_UNSUPPORTED,
          fmt::format("column '{}' of the Arrow stream '{}' is of format '{}', which queries do not "
                      "read: cast it to another type",
                      name, name_, child->format == nullptr ? "" : child->format));
    HAILSTONE_ASSIGN(ColumnShape shape, shape_of_type(name, *type));
    columns_.push_back(std::move(shape));
  }
  return {};
}

/// Array after array.
class GivenStream::Reading final : public Source {
 public:
  Reading(GivenStream& stream, const QueryHost& host)
      : stream_(stream), host_(host), vectors_(stream.columns_.size()) {
    for (const ColumnVector& vector : vectors_) places_.push_back(&vector);
  }
  ~Reading() override { let_go(); }

  Result<const RowBatch*> next() override {
    while (array_.release == nullptr || next_ == array_.length) {
      HAILSTONE_TRY(host_.check_interruption());
      HAILSTONE_ASSIGN(const bool found, next_array());
      if (!found) return nullptr;
    }
    const auto rows = static_cast<uint32_t>(std::min<int64_t>(array_.length - next_, batch_rows));
    for (size_t i = 0; i < vectors_.size(); ++i) HAILSTONE_TRY(read(i, rows));
    next_ += rows;
    batch_ = {.rows = rows, .columns = places_, .order = batch_.order + 1};
    return &batch_;
  }

 private:
  void let_go() {
    columns_.clear();
    if (array_.release != nullptr) array_.release(&array_);
    array_ = {};
  }
  std::unexpected<Error> wrong(std::string_view why) const {
    return fail(ErrorCode::InvalidArgument, fmt::format("the Arrow stream '{}': {}", stream_.name_, why));
  }

  Result<bool> next_array() {
    let_go();
    next_ = 0;
    ArrowArrayStream& stream = stream_.of_stream_.structure;
    if (const int error = stream.get_next(&stream, &array_); error != 0) {
      array_ = {};
      return wrong("it " + stream_failure(stream, error));
    }
    if (array_.release == nullptr) return false;
    auto columns = open_columns(stream_.columns_, stream_.of_schema_.structure, array_);
    if (!columns) return wrong(columns.error().message);
    columns_ = *std::move(columns);
    return true;
  }

  Status read(size_t number, uint32_t rows) {
    ColumnVector& to = vectors_[number];
    const bool is_integer = stream_.columns_[number].integer;
    to.any_nulls = false;
    to.nulls.assign(rows, 0);
    if (is_integer) {
      to.integers.resize(rows);
    } else {
      to.bytes.resize(rows);
    }
    for (uint32_t i = 0; i < rows; ++i) {
      const Returned<Value> value = columns_[number]->value(array_.offset + next_ + i);
      if (!value) return wrong(value.error().message);
      if (value->null) {
        to.nulls[i] = 1;
        to.any_nulls = true;
      }
      if (is_integer) {
        to.integers[i] = value->null ? 0 : value->integer;
      } else {
        to.bytes[i] = value->null ? ByteView() : value->bytes;
      }
    }
    return {};
  }

  GivenStream& stream_;
  const QueryHost& host_;
  ArrowArray array_{};  // released: there is none
  std::vector<std::unique_ptr<ArrowColumn>> columns_;
  int64_t next_ = 0;  // row of the array
  std::vector<ColumnVector> vectors_;
  std::vector<const ColumnVector*> places_;
  RowBatch batch_;
};

class GivenStream::Rows final : public RowBatches {
 public:
  Rows(std::shared_ptr<GivenStream> stream, const QueryHost& host)
      : stream_(std::move(stream)), host_(host) {}

  size_t width() const override { return stream_->columns_.size(); }
  Result<ScanColumn> column(size_t position) const override {
    return stored_column(stream_->columns_[position]);
  }
  Status open(Pipeline& to) override {
    if (std::exchange(stream_->is_read_, true)) {
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("the Arrow stream '{}' has been read by another query", stream_->name_));
    }
    to.set_source(std::make_unique<Reading>(*stream_, host_));
    return {};
  }
  uint64_t rows_read() const override { return 0; }
  const QueryHost& host() const override { return host_; }

 private:
  const std::shared_ptr<GivenStream> stream_;
  const QueryHost& host_;
};

Result<std::unique_ptr<RowBatches>> GivenStream::rows(const std::shared_ptr<GivenStream>& stream,
                                                      const QueryHost& host) {
  return std::make_unique<Rows>(stream, host);
}

}  // namespace hailstone::capi
