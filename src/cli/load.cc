#include "cli/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "cli/commands.h"
#include "cli/new_database.h"
#include "cli/owned_table.h"
#include "cli/progress.h"
#include "text/plain_input.h"
#include "text/type_guess.h"
#include "text/value_text.h"

namespace hailstone {
namespace {

constexpr uint64_t rows_between_updates = 1024;

/// JSON may have the number that a time is stored as.
bool is_number_of_time(hs_type type) {
  return type == HS_DATE || type == HS_TIMESTAMP || type == HS_DATETIME;
}

struct LoadCloser {
  void operator()(hs_load* load) const { hs_load_close(load); }
};
struct SchemaCloser {
  void operator()(hs_schema* schema) const { hs_schema_free(schema); }
};

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The rows of all files, one after another; the first ones of the first file can be looked at before.
class Rows {
 public:
  Rows(const LoadOptions& options, int interrupt_descriptor)
      : options_(options), interrupt_descriptor_(interrupt_descriptor) {}

  Status open_next() {
    HAILSTONE_ASSIGN(const TextOptions text, text_options(options_.files[file_]));
    format_ = text.format;
    HAILSTONE_ASSIGN(reader_, open_rows(options_.files[file_], text, names_, interrupt_descriptor_));
    ++file_;
    if (const auto found = reader_->delimiter(); found && *found != text.delimiter) {
      fmt::print(
          stderr,
          "hailstone load: {}: fields are taken to be separated by '{}', as in the header; --delimiter says "
          "otherwise\n",
          printable(reader_->input().name()), *found == '\t' ? std::string("\\t") : std::string(1, *found));
    }
    return {};
  }
  /// Names end at a NUL in the library.
  Status check_names() const {
    for (const std::string& name : names()) {
      if (name.size() > longest_name) {
        return wrong_file(
            fmt::format("the name '{}' is longer than {} bytes", beginning(name), longest_name));
      }
      if (name.find('\0') == std::string::npos) continue;
      return wrong_file(
          fmt::format("the name '{}' holds a NUL, which no name of a column can", beginning(name)));
    }
    return {};
  }
  /// Of the columns of files without a header.
  void set_names(std::vector<std::string> names) { names_ = std::move(names); }

  /// Reads up to `count` rows of the first file, which next() gives later.
  Status look_ahead(uint64_t count) {
    while (kept_.size() < count) {
      HAILSTONE_ASSIGN(const bool found, reader_->next());
      if (!found) return {};
      Kept kept;
      kept.line = reader_->line();
      for (const Field& field : reader_->fields()) {
        kept.kinds.push_back(field.kind);
        kept.texts.emplace_back(field.text);
      }
      kept_.push_back(std::move(kept));
    }
    return {};
  }
  template <typename Visit>
  void visit_kept(const Visit& visit) {
    for (const Kept& kept : kept_) {
      kept.fill(fields_);
      visit(std::span<const Field>(fields_));
    }
  }

  Result<bool> next() {
    if (!kept_.empty()) {
      if (current_) kept_.pop_front();
      current_ = !kept_.empty();
      if (current_) {
        kept_.front().fill(fields_);
        line_ = kept_.front().line;
        return true;
      }
    }
    for (;;) {
      HAILSTONE_ASSIGN(const bool found, reader_->next());
      if (found) {
        fields_.assign(reader_->fields().begin(), reader_->fields().end());
        line_ = reader_->line();
        return true;
      }
      if (file_ == options_.files.size()) return false;
      bytes_before_ += reader_->bytes_read();
      HAILSTONE_TRY(open_next());
    }
  }

  std::span<const Field> fields() const { return fields_; }
  const std::vector<std::string>& names() const { return reader_->names(); }
  size_t file_number() const { return file_; }
  TextFormat format() const { return format_; }
  uint64_t bytes_read() const { return bytes_before_ + reader_->bytes_read(); }
  /// Bytes of all files; 0 when one of them is a pipe, or compressed.
  Result<uint64_t> bytes_in_all() const {
    uint64_t all = 0;
    for (const std::string& path : options_.files) {
      if (path == "-") return 0;
      HAILSTONE_ASSIGN(const auto file, open_plain_input(path, -1));
      if (!file->size()) return 0;
      all += *file->size();
    }
    return all;
  }
  std::unexpected<Error> wrong(std::string_view what) const { return reader_->wrong(line_, what); }
  std::unexpected<Error> wrong_file(std::string_view what) const {
    return fail(ErrorCode::InvalidArgument, fmt::format("{}: {}", reader_->input().name(), what));
  }

 private:
  struct Kept {
    uint64_t line = 0;
    std::vector<Field::Kind> kinds;
    std::vector<std::string> texts;
    void fill(std::vector<Field>& to) const {
      to.clear();
      for (size_t i = 0; i < texts.size(); ++i) to.push_back({kinds[i], texts[i]});
    }
  };

  Result<TextOptions> text_options(const std::string& path) const {
    TextOptions text = options_.text;
    const auto format = options_.format.empty() ? format_of_path(path) : format_of_name(options_.format);
    if (!format) {
      return fail(
          ErrorCode::InvalidArgument,
          is_columnar_path(path)
              ? fmt::format("{0}: the Python package loads such files: python3 -m hailstone load {1} {2} {0}",
                            path, options_.database.directory, options_.table)
              : fmt::format("{}: the name does not tell the file's format; give --format csv, tsv or jsonl",
                            path));
    }
    text.format = *format;
    return text;
  }

  const LoadOptions& options_;
  const int interrupt_descriptor_;
  std::vector<std::string> names_;
  size_t file_ = 0;  // the next one to be opened
  TextFormat format_ = TextFormat::Csv;
  std::unique_ptr<TextRows> reader_;
  std::deque<Kept> kept_;
  bool current_ = false;  // the first of kept_ has been given out
  std::vector<Field> fields_;
  uint64_t line_ = 0;
  uint64_t bytes_before_ = 0;
};

struct TargetColumn {
  std::string name;
  hs_type type = HS_STRING;
  std::string scratch;  // bytes of its value in the row under way
};

class Loader {
 public:
  explicit Loader(const LoadOptions& options)
      : options_(options), rows_(options, session_.interrupt_descriptor()) {}

  Status run() {
    HAILSTONE_TRY(check_options());
    rows_.set_names(options_.columns);
    if (options_.create) {
      // So that a file that is no good makes no database.
      HAILSTONE_TRY(rows_.open_next());
      HAILSTONE_TRY(rows_.look_ahead(std::max<uint64_t>(1, options_.sample_rows)));
    }
    const NewDatabase made(options_.database.directory);
    const Status status = work();
    if (status || !options_.create || committed_) return status;
    // Closed, as the directory may have to go.
    load_.reset();
    table_.reset();
    static_cast<void>(session_.close());
    return std::unexpected(made.remove_if_empty(status.error()));
  }

 private:
  Status work() {
    HAILSTONE_TRY(session_.open(options_.database, options_.create));
    HAILSTONE_TRY(session_.begin());
    HAILSTONE_TRY(open_table());
    if (!options_.create) {
      if (options_.columns.empty()) rows_.set_names(column_names());
      HAILSTONE_TRY(rows_.open_next());
    }
    const auto loaded = load();
    load_.reset();
    table_.reset();
    if (loaded) HAILSTONE_TRY(session_.commit());
    committed_ = loaded.has_value();
    const Status closed = session_.close();
    if (!loaded) return std::unexpected(loaded.error());
    HAILSTONE_TRY(closed);
    fmt::print("{} loaded into {}{}\n", counted(*loaded, "row"), made_ ? "the new table " : "",
               printable(options_.table));
    return {};
  }

  Status check_options() {
    for (const std::string& entry : options_.types) {
      const size_t equals = entry.rfind('=');
      const auto type =
          equals == std::string::npos ? std::nullopt : parse_type(std::string_view(entry).substr(equals + 1));
      if (!type) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("--types '{}' is not NAME=TYPE with one of the types {}, string(N), bytes(N)",
                                entry, type_names()));
      }
      types_[entry.substr(0, equals)] = *type;
    }
    const bool for_new = !options_.types.empty() || !options_.key.empty() || !options_.row_wise.empty();
    if (for_new && !options_.create) {
      return fail(ErrorCode::InvalidArgument,
                  "--types, --key and --row-wise are for tables made by --create");
    }
    if (options_.create && !options_.text.has_header && options_.columns.empty()) {
      return fail(ErrorCode::InvalidArgument,
                  "a new table's columns need names: give --columns with --no-header and --create");
    }
    return {};
  }

  Status open_table() {
    hs_transaction* const transaction = session_.transaction();
    hs_table* table = nullptr;
    Status opened = checked(hs_table_open(transaction, options_.table.c_str(), &table), transaction);
    if (!opened && opened.error().code() == ErrorCode::NotFound) {
      if (!options_.create) {
        return fail(ErrorCode::NotFound,
                    fmt::format("{}; --create makes it from the file", opened.error().message()));
      }
      opened = make_table(table);
      made_ = true;
    } else if (opened && (!types_.empty() || !options_.key.empty() || !options_.row_wise.empty())) {
      hs_table_close(table);
      return fail(ErrorCode::AlreadyExists,
                  fmt::format("table '{}' is there already, so --types, --key and --row-wise do not apply",
                              options_.table));
    }
    HAILSTONE_TRY(opened);
    table_.reset(table);
    for (size_t i = 0; i < hs_table_columns(table); ++i) {
      const char* name = nullptr;
      TargetColumn column;
      hs_table_column(table, i, &name, &column.type, nullptr);
      column.name = name;
      columns_.push_back(std::move(column));
    }
    return {};
  }

  /// The names that the fields of the file have in the table; "-" for those that are not loaded.
  Result<std::vector<std::string>> field_names() const {
    const auto& names = rows_.names();
    const auto& wanted = options_.columns;
    if (wanted.empty()) return names;
    if (reads_json()) {
      std::vector<std::string> result = names;
      for (std::string& name : result) {
        if (std::ranges::find(wanted, name) == wanted.end()) name = "-";
      }
      return result;
    }
    if (wanted.size() == names.size()) return wanted;
    return rows_.wrong_file(
        fmt::format("--columns has {} names for {} columns of the file", wanted.size(), names.size()));
  }

  /// The file that is open.
  bool reads_json() const { return rows_.format() == TextFormat::JsonLines; }

  std::vector<std::string> column_names() const {
    std::vector<std::string> names;
    names.reserve(columns_.size());
    for (const TargetColumn& column : columns_) names.push_back(column.name);
    return names;
  }

  Status make_table(hs_table*& table) {
    HAILSTONE_TRY(rows_.check_names());
    std::map<std::string, TypeGuess> guesses;
    std::vector<std::string> names;
    HAILSTONE_ASSIGN(auto all, field_names());
    for (const std::string& name : all) {
      if (name != "-") names.push_back(name);
    }
    if (names.empty()) {
      return rows_.wrong_file(
          "a new table needs columns, and the file has no row that names one; is it the right file?");
    }
    rows_.visit_kept([&](std::span<const Field> fields) {
      for (size_t i = 0; i < fields.size(); ++i) guesses[all[i]].add(fields[i]);
    });
    for (const auto& [name, type] : types_) {
      if (std::ranges::find(names, name) == names.end()) {
        return rows_.wrong_file(
            fmt::format("--types names a column '{}', which the file does not have", name));
      }
    }
    for (const std::string& name : options_.row_wise) {
      if (std::ranges::find(names, name) == names.end()) {
        return rows_.wrong_file(
            fmt::format("--row-wise names a column '{}', which the file does not have", name));
      }
    }
    hs_schema* made = nullptr;
    HAILSTONE_TRY(checked(hs_schema_new(&made), nullptr));
    const std::unique_ptr<hs_schema, SchemaCloser> schema(made);
    for (const std::string& name : names) {
      const auto given = types_.find(name);
      const ColumnType type =
          given != types_.end() ? given->second : ColumnType{.type = guesses[name].type(), .max_bytes = 0};
      if (given == types_.end()) guessed_.insert(name);
      const bool row_wise = std::ranges::find(options_.row_wise, name) != options_.row_wise.end();
      HAILSTONE_TRY(checked(
          hs_schema_column(made, name.c_str(), type.type, type.max_bytes, row_wise ? HS_ROW_WISE : 0), made));
    }
    if (!options_.key.empty()) {
      std::vector<const char*> key;
      key.reserve(options_.key.size());
      for (const std::string& name : options_.key) key.push_back(name.c_str());
      HAILSTONE_TRY(checked(hs_schema_primary_key(made, key.data(), key.size()), made));
    }
    hs_transaction* const transaction = session_.transaction();
    return checked(hs_table_create(transaction, options_.table.c_str(), made, &table), transaction);
  }

  /// Which column of the table each field goes to; nothing for those that are not loaded.
  Status map_fields() {
    HAILSTONE_TRY(rows_.check_names());
    HAILSTONE_ASSIGN(const auto names, field_names());
    mapped_file_ = rows_.file_number();
    places_.clear();
    std::set<size_t> taken;
    for (const std::string& name : names) {
      const auto found = std::ranges::find(columns_, name, &TargetColumn::name);
      if (found != columns_.end()) {
        const auto place = static_cast<size_t>(found - columns_.begin());
        if (!taken.insert(place).second) {
          return rows_.wrong_file(fmt::format("two columns of the file would go to column '{}'", name));
        }
        places_.emplace_back(place);
      } else if (name == "-") {
        places_.emplace_back();
      } else {
        return rows_.wrong_file(
            fmt::format("table '{}' has no column '{}', only {}; --columns names the columns that the file's "
                        "are to go to, - for none",
                        options_.table, name, joined(column_names())));
      }
    }
    return {};
  }

  Result<uint64_t> load() {
    hs_load* begun = nullptr;
    hs_transaction* const transaction = session_.transaction();
    HAILSTONE_TRY(checked(hs_load_begin(transaction, table_.get(), &begun), transaction));
    load_.reset(begun);
    HAILSTONE_ASSIGN(const uint64_t all, rows_.bytes_in_all());
    Progress progress("loading", all);
    std::vector<hs_value> values(columns_.size());
    uint64_t count = 0;
    for (;;) {
      HAILSTONE_ASSIGN(const bool found, rows_.next());
      if (!found) break;
      if (rows_.file_number() != mapped_file_ || places_.size() < rows_.fields().size())
        HAILSTONE_TRY(map_fields());
      std::ranges::fill(values, hs_null());
      const auto fields = rows_.fields();
      for (size_t i = 0; i < fields.size(); ++i) {
        if (!places_[i]) continue;
        HAILSTONE_ASSIGN(values[*places_[i]], value_of(columns_[*places_[i]], fields[i]));
      }
      const Status taken = checked(hs_load_row(begun, values.data(), values.size()), begun);
      if (!taken) {
        const ErrorCode code = taken.error().code();
        const bool of_this_row = code == ErrorCode::InvalidArgument || code == ErrorCode::RowTooLarge;
        return of_this_row ? rows_.wrong(taken.error().message()) : std::unexpected(taken.error());
      }
      if (++count % rows_between_updates == 0)
        progress.update(rows_.bytes_read(), fmt::format("{} rows", count));
    }
    progress.update(all, fmt::format("{} rows, checking keys", count));
    HAILSTONE_TRY(checked(hs_load_finish(begun), begun));
    return count;
  }

  Result<hs_value> value_of(TargetColumn& column, const Field& field) const {
    if (field.kind == Field::Kind::Null) return hs_null();
    std::string_view text = field.text;
    const bool whole = (column.type >= HS_INT8 && column.type <= HS_UINT64);
    if (field.kind == Field::Kind::Bool && whole) text = text == "true" ? "1" : "0";
    auto value = parse_value(column.type, text, column.scratch);
    if (!value && field.kind == Field::Kind::Number && is_number_of_time(column.type)) {
      if (const auto number = parse_int(text)) value = hs_int(*number);
    }
    if (value) return *value;
    if (column.type == HS_STRING) {
      return rows_.wrong(fmt::format(
          "column '{}': the text is not UTF-8; convert the file, or let the column be of type bytes",
          column.name));
    }
    const std::string guess =
        guessed_.contains(column.name)
            ? fmt::format(" (which was guessed from the first rows; --types {}=TYPE says it)", column.name)
            : "";
    return rows_.wrong(fmt::format("column '{}': '{}' is not of the type {}{}", column.name, beginning(text),
                                   type_name(column.type), guess));
  }

  const LoadOptions& options_;
  Session session_;
  Rows rows_;
  std::map<std::string, ColumnType> types_;
  std::set<std::string> guessed_;  // columns whose type was
  bool made_ = false;              // the table
  bool committed_ = false;
  OwnedTable table_;
  std::unique_ptr<hs_load, LoadCloser> load_;
  std::vector<TargetColumn> columns_;
  std::vector<std::optional<size_t>> places_;
  size_t mapped_file_ = 0;  // the number of the file that places_ is for
};

}  // namespace

void add_load_command(Arguments& root, Ending& ending) {
  Arguments command =
      root.add_subcommand("load", "load rows of CSV, TSV or JSON lines into a table: all or none");
  const auto options = std::make_shared<LoadOptions>();
  const auto header = std::make_shared<bool>(false);
  const auto null_text = std::make_shared<std::string>();
  const auto delimiter = std::make_shared<std::string>(",");
  add_database_arguments(command, options->database);
  command.add("TABLE", options->table, "the table, as group/table").required();
  command.add("FILE", options->files, "files; - is the standard input").required();
  command.add("--format", options->format, "csv, tsv or jsonl; default: as the file's name ends")
      .one_of({"csv", "tsv", "jsonl"});
  command.add_flag("--no-header", *header,
                   "CSV, TSV: the first line is a row; default: it names the columns of the table");
  command
      .add("--columns", options->columns,
           "columns that the file's go to, in order, - for none; with jsonl: the keys to load; "
           "default: by the header or keys, or with --no-header those of the table in order")
      .comma_list();
  command
      .add("--delimiter", *delimiter,
           "CSV: the character between fields; default: that of , ; | and tab which the header has, else ,")
      .check(check_delimiter);
  command.add("--null", *null_text,
              "CSV, TSV: fields without quotes that stand for NULL; default: empty ones in CSV, \\N in TSV");
  command.add_flag("--create", options->create,
                   "make the table (and the database) if it is not there, with columns as in the file");
  command
      .add("--types", options->types,
           "NAME=TYPE,…: types of columns, for --create; others are guessed. Types: " + type_names() +
               ", string(N), bytes(N) with at most N bytes")
      .comma_list();
  command.add("--key", options->key, "columns of the primary key, for --create; default: none").comma_list();
  command
      .add("--row-wise", options->row_wise,
           "columns to be stored together as rows, for --create; default: none")
      .comma_list();
  command.add("--sample", options->sample_rows, "rows that types are guessed from")
      .show_default()
      .not_negative();
  command.run([command, options, header, null_text, delimiter, &ending] {
    options->text.has_header = !*header;
    options->text.delimiter = delimiter_of(*delimiter);
    options->text.finds_delimiter = !command.given("--delimiter");
    if (command.given("--null")) options->text.null_text = *null_text;
    ending.exit_code = finished("load", Loader(*options).run());
  });
}

}  // namespace hailstone
