// SPDX-License-Identifier: GPL-3.0-or-later
/// In the place of parquet_missing.cpp where Apache Arrow was found.

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/input_file.h"
#include "engine/base/utf8.h"
#include "engine/data/record_formats.h"

namespace athanor {

namespace {

/// Rows that are in memory at a time, besides what Arrow itself keeps of a row group.
constexpr std::int64_t kBatch_rows = 256;

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
  throw Error(ErrorKind::damaged,
              file + " is not a usable Parquet file. Copy or download it again.", what);
}

/// The value of a row; null for types that JSON has nothing for.
Json value_of(const arrow::Array& column, std::int64_t row);

template <class Array>
Json text_of(const arrow::Array& column, std::int64_t row) {
  return std::string(static_cast<const Array&>(column).GetView(row));
}

template <class List>
Json list_of(const arrow::Array& column, std::int64_t row) {
  const auto& list = static_cast<const List&>(column);
  Json values = Json::array();
  for (std::int64_t at = list.value_offset(row); at < list.value_offset(row + 1); ++at)
    values.push_back(value_of(*list.values(), at));
  return values;
}

Json record_of(const arrow::Array& column, std::int64_t row) {
  const auto& record = static_cast<const arrow::StructArray&>(column);
  Json fields = Json::object();
  for (int field = 0; field < record.num_fields(); ++field)
    fields[record.struct_type()->field(field)->name()] = value_of(*record.field(field), row);
  return fields;
}

Json value_of(const arrow::Array& column, std::int64_t row) {
  if (column.IsNull(row)) return nullptr;
  switch (column.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return text_of<arrow::BinaryArray>(column, row);
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return text_of<arrow::LargeBinaryArray>(column, row);
    case arrow::Type::BOOL:
      return static_cast<const arrow::BooleanArray&>(column).Value(row);
    case arrow::Type::INT8:
      return static_cast<const arrow::Int8Array&>(column).Value(row);
    case arrow::Type::INT16:
      return static_cast<const arrow::Int16Array&>(column).Value(row);
    case arrow::Type::INT32:
      return static_cast<const arrow::Int32Array&>(column).Value(row);
    case arrow::Type::INT64:
      return static_cast<const arrow::Int64Array&>(column).Value(row);
    case arrow::Type::UINT8:
      return static_cast<const arrow::UInt8Array&>(column).Value(row);
    case arrow::Type::UINT16:
      return static_cast<const arrow::UInt16Array&>(column).Value(row);
    case arrow::Type::UINT32:
      return static_cast<const arrow::UInt32Array&>(column).Value(row);
    case arrow::Type::UINT64:
      return static_cast<const arrow::UInt64Array&>(column).Value(row);
    case arrow::Type::FLOAT:
      return static_cast<const arrow::FloatArray&>(column).Value(row);
    case arrow::Type::DOUBLE:
      return static_cast<const arrow::DoubleArray&>(column).Value(row);
    case arrow::Type::LIST:
      return list_of<arrow::ListArray>(column, row);
    case arrow::Type::LARGE_LIST:
      return list_of<arrow::LargeListArray>(column, row);
    case arrow::Type::STRUCT:
      return record_of(column, row);
    default:
      return nullptr;
  }
}

/// Replaces what is not UTF-8 in all texts of a value, unless it is to be kept; returns how many
/// bytes that were.
std::int64_t mend(Json& value, bool keep) {
  std::int64_t invalid = 0;
  if (value.is_structured()) {
    for (Json& each : value)
      invalid += mend(each, keep);
  } else if (value.is_string() && !is_utf8(value.get_ref<const std::string&>())) {
    const std::string text = std::move(value.get_ref<std::string&>());
    std::string mended;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t valid = utf8_prefix_bytes(std::string_view(text).substr(at));
      mended.append(text, at, valid);
      at += valid;
      if (at == text.size()) break;
      mended += keep ? text.substr(at, 1) : "\xEF\xBF\xBD";
      ++at;
      ++invalid;
    }
    value = std::move(mended);
  }
  return invalid;
}

class ParquetReader : public RecordReader {
 public:
  ParquetReader(const SourceFile& file, ReadingLog& log)
      : path_(file.path.string()), disk_bytes_(file.disk_bytes), log_(log) {
    // Says itself what cannot be opened, and why.
    static_cast<void>(InputFile(file.path));
    try {
      open();
    } catch (const parquet::ParquetException& error) {
      refuse(path_, error.what());
    }
  }

  bool next(Record& record) override {
    while (!batch_ || row_ == batch_->num_rows()) {
      log_.throw_if_cancelled();
      row_ = 0;
      check(batches_->ReadNext(&batch_));
      if (!batch_) return false;
    }
    record.fields = Json::object();
    for (int column = 0; column < batch_->num_columns(); ++column)
      record.fields[batch_->column_name(column)] = value_of(*batch_->column(column), row_);
    record.file = path_;
    record.line = ++rows_given_;
    log_.add_invalid_bytes(path_, record.line,
                           mend(record.fields, log_.options().invalid_utf8 == InvalidUtf8::keep));
    ++row_;
    return true;
  }

  std::int64_t disk_bytes() const override {
    const std::int64_t rows =
        std::max<std::int64_t>(1, reader_->parquet_reader()->metadata()->num_rows());
    return static_cast<std::int64_t>(static_cast<double>(disk_bytes_) *
                                     static_cast<double>(rows_given_) / static_cast<double>(rows));
  }

 private:
  void check(const arrow::Status& status) const {
    if (!status.ok()) refuse(path_, status.ToString());
  }

  template <class Value>
  Value checked(arrow::Result<Value> result) const {
    check(result.status());
    return std::move(result).ValueUnsafe();
  }

  void open() {
    parquet::ReaderProperties properties;
    properties.enable_buffered_stream();
    parquet::ArrowReaderProperties arrow_properties(/*use_threads=*/false);
    arrow_properties.set_batch_size(kBatch_rows);
    arrow_properties.set_pre_buffer(false);
    parquet::arrow::FileReaderBuilder builder;
    check(builder.Open(checked(arrow::io::ReadableFile::Open(path_)), properties));
    check(builder.properties(arrow_properties)->Build(&reader_));
    open_batches(*reader_);
  }

  /// Arrow has returned the reader since 20, and filled it in before.
  template <class Reader>
  void open_batches(Reader& reader) {
    if constexpr (requires { reader.GetRecordBatchReader(); }) {
      batches_ = checked(reader.GetRecordBatchReader());
    } else {
      check(reader.GetRecordBatchReader(&batches_));
    }
  }

  std::string path_;
  std::int64_t disk_bytes_;
  ReadingLog& log_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::unique_ptr<arrow::RecordBatchReader> batches_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  std::int64_t row_ = 0;  ///< of the batch
  std::int64_t rows_given_ = 0;
};

}  // namespace

std::unique_ptr<RecordReader> open_parquet(const SourceFile& file, ReadingLog& log) {
  return std::make_unique<ParquetReader>(file, log);
}

}  // namespace athanor
