#include "discovery.h"

#include <lz4.h>

#include <map>
#include <mutex>
#include <vector>

#include "base/bytes.h"
#include "engine.h"
#include "trace.h"
// clang-format off
#include <discover.h>  // after the server's other headers, which it needs
// clang-format on

namespace hailstone {

namespace {

constexpr std::string_view partition_mark = "#P#";
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

std::string name_of_table(const char* db, const char* table) {
  char path[FN_REFLEN + 1];
  build_table_filename(path, sizeof path - 1, db, table, "", 0);
  return table_name_of_path(path);
}

int discover_table(handlerton*, THD* thd, TABLE_SHARE* share) {
  return run_traced(thd, {.function = "discover_table", .path = share->normalized_path.str}, [&]() -> int {
    const auto definition = database().definition(table_name_of_path(share->normalized_path.str));
    PackedImage packed;
    if (!definition || !packed.parse(definition->application)) return HA_ERR_NO_SUCH_TABLE;
    std::vector<char> image(static_cast<size_t>(packed.size));
    const int unpacked =
        LZ4_decompress_safe(packed.compressed.data(), image.data(),
                            static_cast<int>(packed.compressed.size()), static_cast<int>(image.size()));
    if (unpacked < 0 || static_cast<uint64_t>(unpacked) != packed.size) {
      sql_print_error(
          "Hailstone: the stored definition of table '%s' cannot be unpacked; restore it from a backup",
          definition->name.c_str());
      return HA_ERR_CRASHED;
    }
    my_errno = share->init_from_binary_frm_image(thd, false, reinterpret_cast<const uchar*>(image.data()),
                                                 image.size());
    return my_errno;
  });
}

int discover_table_names(handlerton*, LEX_CSTRING* db, MY_DIR*, handlerton::discovered_list* result) {
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
                    [&]() -> int { return database().has_table(name_of_table(db, table)) ? 1 : 0; });
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
    const std::lock_guard guard(mutex_);
    images_[name] = std::move(image);
  }
  std::optional<std::string> take(const std::string& name) {
    const std::lock_guard guard(mutex_);
    const auto found = images_.find(name);
    if (found == images_.end()) return std::nullopt;
    std::optional<std::string> image(std::move(found->second));
    images_.erase(found);
    return image;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> images_;  // protected by the mutex
};

ExchangedImages& exchanged_images() {
  static ExchangedImages images;
  return images;
}

}  // namespace

void set_discovery(handlerton* engine) {
  engine->discover_table = discover_table;
  engine->discover_table_names = discover_table_names;
  engine->discover_table_existence = discover_table_existence;
  engine->check_version = check_version;
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
