#include "discovery.h"

#include <lz4.h>

#include <atomic>
#include <cstring>
#include <map>
#include <vector>

#include "base/bytes.h"
#include "base/mutex.h"
#include "engine.h"
#include "missing_tables.h"
#include "server/hooks.h"
#include "table_files.h"
#include "table_path.h"
#include "trace.h"
// clang-format off
#include <discover.h>  // after the server's other headers, which it needs
// clang-format on

namespace hailstone {

namespace {

constexpr std::string_view exchange_prefix = "#sql-exchange-";
/// A definition of 4,096 columns with long comments stays far below it.
constexpr uint64_t most_image_bytes = uint64_t{64} << 20;

std::string_view file_part(const std::string& name) {
  return std::string_view(name).substr(name.find('/') + 1);
}

/// As pack_image() wrote it: string version, varint size of the image, the image as an LZ4 block.
struct PackedImage {
  ByteView version;
  uint64_t size = 0;
  ByteView compressed;

  bool parse(ByteView bytes) {
    ByteReader reader(bytes);
    return reader.take_string(version) && reader.take_varint(size) && size > 0 && size <= most_image_bytes &&
           reader.take_bytes(reader.remaining(), compressed);
  }
};

}  // namespace

int unpack_image(const TableDefinition& definition, std::vector<char>& image) {
  PackedImage packed;
  if (!packed.parse(definition.application)) return HA_ERR_NO_SUCH_TABLE;
  image.resize(static_cast<size_t>(packed.size));
  const int unpacked =
      LZ4_decompress_safe(packed.compressed.data(), image.data(), static_cast<int>(packed.compressed.size()),
                          static_cast<int>(image.size()));
  if (unpacked >= 0 && static_cast<uint64_t>(unpacked) == packed.size) return 0;
  sql_print_error(
      "Hailstone: the stored definition of table '%s' cannot be unpacked; restore it from a backup",
      definition.name.c_str());
  return HA_ERR_CRASHED;
}

namespace {

int discover_table(handlerton*, THD* thd, TABLE_SHARE* share) {
  return run_traced(thd, {.function = "discover_table", .path = share->normalized_path.str}, [&]() -> int {
    const std::string name = table_name_of_path(share->normalized_path.str);
    const auto definition = database().definition(name);
    if (!definition) {
      warn_of_missing_table(thd, name);
      return HA_ERR_NO_SUCH_TABLE;
    }
    std::vector<char> image;
    if (const int error = unpack_image(*definition, image); error != 0) return error;
    my_errno = share->init_from_binary_frm_image(thd, false, reinterpret_cast<const uchar*>(image.data()),
                                                 image.size());
    return my_errno;
  });
}

int discover_table_names(const LEX_CSTRING* db, MY_DIR*, handlerton::discovered_list* result) {
  return run_traced(current_thd,
                    {.function = "discover_table_names", .argument = Argument::Text, .text = db->str},
                    [&]() -> int {
                      char folder[FN_REFLEN + 1];
                      tablename_to_filename(db->str, folder, sizeof folder);
                      const std::string prefix = std::string(folder) + "/";
                      for (const std::string& name : database().table_names(prefix)) {
                        if (is_partition_name(name)) continue;
                        if (result->add_file(name.c_str() + prefix.size())) return 1;
                      }
                      return 0;
                    });
}

int discover_table_existence(handlerton*, const char* db, const char* table) {
  return run_traced(current_thd,
                    {.function = "discover_table_existence",
                     .returns = Returns::Number,
                     .argument = Argument::Text,
                     .text = table},
                    [&]() -> int {
                      char path[FN_REFLEN + 1];
                      build_table_filename(path, sizeof path - 1, db, table, "", 0);
                      return database().has_table(table_name_of_path(path)) ? 1 : 0;
                    });
}

/// After a crash within ALTER TABLE in place: 0 when the engine has committed the new definition, so that the
/// server's recovery takes the new .frm file; else it keeps the old state.
int check_version(handlerton*, const char* path, const LEX_CUSTRING* version, ulonglong) {
  const auto definition = database().definition(table_name_of_path(path));
  PackedImage packed;
  // Without an image (a partitioned table) the file is all there is.
  if (!definition || !packed.parse(definition->application)) return 0;
  return packed.version == ByteView(reinterpret_cast<const char*>(version->str), version->length) ? 0 : 1;
}

std::string pack(ByteView image, const TABLE_SHARE& version_of) {
  std::string packed;
  const LEX_CUSTRING& version = version_of.tabledef_version;
  append_string(packed, ByteView(reinterpret_cast<const char*>(version.str), version.length));
  append_varint(packed, image.size());
  const size_t head = packed.size();
  packed.resize(head + static_cast<size_t>(LZ4_compressBound(static_cast<int>(image.size()))));
  const int size = LZ4_compress_default(image.data(), packed.data() + head, static_cast<int>(image.size()),
                                        static_cast<int>(packed.size() - head));
  packed.resize(head + static_cast<size_t>(size));
  return packed;
}

/// Images of tables whose partition is being exchanged, by name.
class ExchangedImages {
 public:
  void put(const std::string& name, std::string image) {
    const MutexLock guard(mutex_);
    images_[name] = std::move(image);
  }
  std::optional<std::string> take(const std::string& name) {
    const MutexLock guard(mutex_);
    const auto found = images_.find(name);
    if (found == images_.end()) return std::nullopt;
    std::optional<std::string> image(std::move(found->second));
    images_.erase(found);
    return image;
  }

 private:
  Mutex mutex_;
  std::map<std::string, std::string> images_ HAILSTONE_GUARDED_BY(mutex_);
};

/// When a table last lost a partition, by its name. Snapshots end with the server, so nothing of this is
/// stored.
class LostPartitions {
 public:
  void note(const std::string& table, Timestamp when, Timestamp horizon) {
    const MutexLock guard(mutex_);
    // No snapshot reads before the horizon.
    std::erase_if(tables_, [&](const auto& each) { return each.second <= horizon; });
    tables_[table] = when;
    any_.store(true, std::memory_order_release);
  }
  /// 0: not within the reach of any snapshot.
  Timestamp of(const std::string& table) const {
    if (!any_.load(std::memory_order_acquire)) return 0;
    const MutexLock guard(mutex_);
    const auto found = tables_.find(table);
    return found == tables_.end() ? 0 : found->second;
  }

 private:
  std::atomic<bool> any_{false};
  mutable Mutex mutex_;
  std::map<std::string, Timestamp> tables_ HAILSTONE_GUARDED_BY(mutex_);
};

LostPartitions& lost_partitions() {
  static LostPartitions lost;
  return lost;
}

/// Writes a file whole or not at all; the name it has meanwhile is one that the server removes with a
/// database.
bool write_file(const std::string& path, const std::vector<char>& content) {
  const std::string unfinished = path.substr(0, path.size() - std::strlen(reg_ext)) + ".BAK";
  const File file = my_create(unfinished.c_str(), 0, O_RDWR | O_TRUNC, MYF(MY_WME));
  if (file < 0) return false;
  bool written = my_write(file, reinterpret_cast<const uchar*>(content.data()), content.size(),
                          MYF(MY_WME | MY_NABP)) == 0;
  // As the server does with the files that it writes itself.
  if (written && opt_sync_frm) written = my_sync(file, MYF(MY_WME)) == 0;
  if (my_close(file, MYF(MY_WME)) != 0) written = false;
  if (written) written = my_rename(unfinished.c_str(), path.c_str(), MYF(MY_WME)) == 0;
  if (!written) my_delete(unfinished.c_str(), MYF(0));
  if (written && opt_sync_frm) written = my_sync_dir_by_file(path.c_str(), MYF(MY_WME)) == 0;
  return written;
}

ExchangedImages& exchanged_images() {
  static ExchangedImages images;
  return images;
}

}  // namespace

void set_discovery(handlerton* engine) {
  engine->discover_table = discover_table;
  set_hook<discover_table_names>(engine->discover_table_names);
  engine->discover_table_existence = discover_table_existence;
  engine->check_version = check_version;
  engine->discover_table_structure = define_as_exported;
}

std::string pack_image(const TABLE_SHARE& image_of, const TABLE_SHARE& version_of) {
  ByteView image;
  const uchar* from_file = nullptr;
  if (image_of.frm_image != nullptr && image_of.frm_image->str != nullptr) {
    image = {reinterpret_cast<const char*>(image_of.frm_image->str), image_of.frm_image->length};
  } else {
    // ALTER TABLE by copy writes a .frm file for the new table before the engine makes it.
    size_t size = 0;
    if (readfrm(image_of.normalized_path.str, &from_file, &size) != 0) return {};
    image = {reinterpret_cast<const char*>(from_file), size};
  }
  std::string packed = image.size() > most_image_bytes ? std::string() : pack(image, version_of);
  my_free(const_cast<uchar*>(from_file));
  return packed;
}

bool contradicts(const std::string& packed_image, const TABLE_SHARE& share) {
  PackedImage packed;
  if (!packed.parse(packed_image)) return false;
  const LEX_CUSTRING& version = share.tabledef_version;
  return packed.version != ByteView(reinterpret_cast<const char*>(version.str), version.length);
}

int ensure_definition_file(const char* table_path) {
  const std::string name = table_name_of_path(table_path);
  if (is_temporary_name(name) || is_partition_name(name)) return 0;
  const std::string path = std::string(table_path) + reg_ext;
  if (my_access(path.c_str(), F_OK) == 0) return 0;
  const auto definition = database().definition(name);
  if (!definition) return HA_ERR_NO_SUCH_TABLE;
  std::vector<char> image;
  if (const int error = unpack_image(*definition, image); error != 0) return error;
  return write_file(path, image) ? 0 : my_errno;
}

bool is_sequence(const TableDefinition& definition) {
  // As the server finds it out from a file.
  constexpr size_t sequence_byte = 39;
  constexpr unsigned sequence_bits = 0x30;
  std::vector<char> image;
  return unpack_image(definition, image) == 0 && image.size() > sequence_byte &&
         (static_cast<unsigned>(image[sequence_byte]) & sequence_bits) == unsigned{HA_CHOICE_YES} << 4;
}

std::string table_of_partition(const std::string& name) { return name.substr(0, name.find(partition_mark)); }

void note_partition_gone(const std::string& name) {
  const TransactionManager& transactions = database().transactions();
  lost_partitions().note(table_of_partition(name), transactions.last_committed(), transactions.horizon());
}

Status check_partition_snapshot(const std::string& name, Transaction& transaction) {
  if (!transaction.has_snapshot()) return {};
  const std::string table = table_of_partition(name);
  if (lost_partitions().of(table) <= transaction.snapshot().read) return {};
  return fail(ErrorCode::TableChanged,
              "table " + table +
                  " has lost a partition since the transaction took its snapshot; read it in a "
                  "new transaction");
}

bool is_partition_name(const std::string& name) { return name.find(partition_mark) != std::string::npos; }

void note_exchange(const std::string& from, const std::string& to) {
  if (is_partition_name(from) || !file_part(to).starts_with(exchange_prefix)) return;
  const auto definition = database().definition(from);
  if (definition && !definition->application.empty()) exchanged_images().put(from, definition->application);
}

std::optional<std::string> image_after_rename(const std::string& from, const std::string& to) {
  if (!is_partition_name(from) || is_partition_name(to)) return std::nullopt;
  return exchanged_images().take(to);
}

}  // namespace hailstone
