// SPDX-License-Identifier: Apache-2.0
#include "core/interop/records/records_export.h"

#include <algorithm>
#include <cmath>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/interop/records/parquet.h"
#include "core/interop/records/records_steps.h"
#include "core/interop/records/wandb.h"

namespace plimsoll {

namespace {

constexpr std::size_t piece = 64 * 1024;

/// Collects lines into larger pieces.
class Lines {
public:
    explicit Lines(const RecordSink& sink) : sink_(sink) {}
    Result<void> add(std::string_view bytes) {
        held_ += bytes;
        return held_.size() < piece ? Result<void>{} : flush();
    }
    Result<void> flush() {
        auto written = held_.empty() ? Result<void>{} : sink_(held_);
        held_.clear();
        return written;
    }

private:
    const RecordSink& sink_;
    std::string held_;
};

std::string number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return fmt::format("{}", value);
}

Json json_number(double value) { return std::isfinite(value) ? Json(value) : Json(number(value)); }

/// RFC 4180. What a spreadsheet would take for a formula gets an apostrophe in front (OWASP, "CSV injection").
std::string csv_field(const std::string& name) {
    std::string text = printable(name);
    if (text.find_first_of("=+-@") == 0) text.insert(0, 1, '\'');
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + "\"";
}

Result<void> csv(const SeriesStore& store, Lines& lines) {
    if (auto head = lines.add("series,step,time,value,unit\r\n"); !head) return head;
    for (const auto& [name, series] : store.series()) {
        const std::string field = csv_field(name), unit = csv_field(store.unit(name));
        for (std::size_t i = 0; i < series.size(); ++i) {
            auto added = lines.add(fmt::format("{},{},{},{},{}\r\n", field, series.step(i), number(series.time(i)),
                                               number(series.value(i)), unit));
            if (!added) return added;
        }
    }
    return {};
}

std::string json_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

Result<void> jsonl(const SeriesStore& store, Lines& lines) {
    for (const auto& [name, series] : store.series()) {
        for (std::size_t i = 0; i < series.size(); ++i) {
            auto added = lines.add(json_line({{"series", name},
                                              {"step", series.step(i)},
                                              {"time", json_number(series.time(i))},
                                              {"value", json_number(series.value(i))}}));
            if (!added) return added;
        }
    }
    for (const Event& event : store.events()) {
        auto added = lines.add(json_line({{"event", event.kind.name()},
                                          {"step", event.step},
                                          {"time", json_number(event.time)},
                                          {"sentence", event.sentence},
                                          {"details", event.details}}));
        if (!added) return added;
    }
    return {};
}

/// Steps in order, all series of a step together, as TensorBoard expects them.
Result<void> tensorboard(const SeriesStore& store, Lines& lines) {
    if (auto head = lines.add(tensorboard_frame(tensorboard_header(first_time(store)))); !head) return head;
    std::vector<TensorBoardScalar> scalars;
    const auto each = [&](const RecordedStep& step) {
        scalars.clear();
        for (const auto& [name, value] : step.values) scalars.push_back({*name, value});
        return lines.add(tensorboard_frame(tensorboard_scalars(step.step, step.time, scalars)));
    };
    if (auto written = for_each_step(store, each); !written) return written;
    for (const Event& event : store.events()) {
        if (auto added = lines.add(tensorboard_frame(
                tensorboard_text(event.step, event.time, "events/" + event.kind.name(), event.sentence)));
            !added)
            return added;
    }
    return {};
}

Result<void> parquet(const SeriesStore& store, const std::string& run, const RecordSink& sink) {
    ParquetWriter writer({{"series", ParquetType::Text},
                          {"step", ParquetType::Int64},
                          {"time", ParquetType::Double},
                          {"value", ParquetType::Double},
                          {"unit", ParquetType::Text}},
                         sink);
    for (const auto& [name, series] : store.series()) {
        const std::string unit = store.unit(name);
        for (std::size_t i = 0; i < series.size(); ++i) {
            writer.put(std::string_view(name));
            writer.put(static_cast<std::int64_t>(series.step(i)));
            writer.put(series.time(i));
            writer.put(series.value(i));
            writer.put(std::string_view(unit));
            if (auto ended = writer.end_row(); !ended) return ended;
        }
    }
    return writer.finish({{"run", run}});
}

/// Names of metrics, each for one series: other series of the same letters ("a-b" and "a_b") get a number.
class MetricNames {
public:
    std::string name_of(const std::string& series) {
        std::string plain = "plimsoll_";
        for (const char c : series) plain += letters.find(c) != std::string_view::npos ? c : '_';
        std::string name = plain;
        for (int number = 2; !series_of_.try_emplace(name, series).second && series_of_[name] != series; ++number)
            name = fmt::format("{}_{}", plain, number);
        return name;
    }

private:
    static constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    std::map<std::string, std::string> series_of_{{"plimsoll_step", ""}};
};

std::string label(const std::string& text) {
    std::string out;
    for (const char c : printable(text)) {
        if (c == '\\' || c == '"') out += '\\';
        out += c;
    }
    return out;
}

std::string prometheus_number(double value) {
    if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
    return number(value);
}

Result<void> prometheus(const SeriesStore& store, const std::string& run, Lines& lines) {
    MetricNames names;
    std::map<std::string, std::string> samples;  // by metric: the format asks for all samples of a metric together
    for (const auto& [name, series] : store.series()) {
        if (series.size() == 0) continue;
        const auto at = name.rfind('@');
        const std::string metric = names.name_of(name.substr(0, at));
        samples[metric] += fmt::format("{}{{run=\"{}\",rank=\"{}\"}} {}\n", metric, label(run),
                                       at == std::string::npos ? "0" : label(name.substr(at + 1)),
                                       prometheus_number(series.value(series.size() - 1)));
    }
    samples["plimsoll_step"] += fmt::format("plimsoll_step{{run=\"{}\"}} {}\n", label(run), store.last_step());
    for (const auto& [metric, text] : samples) {
        if (auto added = lines.add(fmt::format("# TYPE {} gauge\n{}", metric, text)); !added) return added;
    }
    return {};
}

}  // namespace

Result<void> export_records(const SeriesStore& store, RecordFormat format, const std::string& run,
                            const RecordSink& sink) {
    Lines lines(sink);
    Result<void> written;
    switch (format) {
        case RecordFormat::Csv:
            written = csv(store, lines);
            break;
        case RecordFormat::Jsonl:
            written = jsonl(store, lines);
            break;
        case RecordFormat::TensorBoard:
            written = tensorboard(store, lines);
            break;
        case RecordFormat::Prometheus:
            written = prometheus(store, run, lines);
            break;
        case RecordFormat::Parquet:
            return parquet(store, run, sink);
        case RecordFormat::Wandb: {
            WandbRun offline;
            offline.name = run;
            offline.started = first_time(store);
            return export_wandb(store, offline, sink);
        }
    }
    return written ? lines.flush() : written;
}

}  // namespace plimsoll
