// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/plan_pipeline/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/schedule/plan_pipeline/memory_curve.h"

namespace plimsoll {
namespace {

constexpr double left = 70, right = 90, top = 56, room = 1200, curve_height = 110, legend_gap = 26;

// Colours of F, whole backward, B, W as hue, saturation and lightness; micro-batches take turns at four lightnesses.
struct Colour {
    int hue, saturation, lightness;
};
constexpr std::array<Colour, 4> colours{{{205, 62, 46}, {28, 82, 50}, {28, 82, 50}, {140, 45, 40}}};
constexpr std::array names{"forward", "backward", "input backward", "weight backward"};

std::string fill(OpKind kind, int micro_batch) {
    const auto& c = colours[static_cast<std::size_t>(kind)];
    return fmt::format("hsl({},{}%,{}%)", c.hue, c.saturation, c.lightness + 5 * (micro_batch % 4));
}

/// A file's name may hold anything.
std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            default:
                out += c;
        }
    return out;
}

class Picture {
public:
    explicit Picture(const Pipeline& pipeline)
        : pipeline_(pipeline),
          pitch_(std::clamp(640.0 / pipeline.schedule.ranks, 8.0, 30.0)),
          scale_(pipeline.timeline.makespan > 0 ? room / pipeline.timeline.makespan : 0) {}

    std::string draw() {
        const double rows = pitch_ * pipeline_.schedule.ranks;
        const double height = top + rows + 30 + curve_height + 20;
        add(R"svg(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" font-family="system-ui,sans-serif" font-size="12">)svg",
            left + room + right, height);
        // Classes, not variables: viewers that are no browsers know no var().
        add("<style>.paper{{fill:#fbfcfd}}.idle{{fill:#e3e9ee}}.ink,text{{fill:#1c2730}}.on{{fill:#fff}}"
            "@media(prefers-color-scheme:dark){{.paper{{fill:#10181e}}.idle{{fill:#26323b}}.ink,text{{fill:#dbe4ea}}}}</style>");
        add(R"svg(<rect width="100%" height="100%" class="paper"/>)svg");
        title();
        for (int rank = 0; rank < pipeline_.schedule.ranks; ++rank) row(rank);
        memory(top + rows + 30);
        add("</svg>");
        return std::move(text_);
    }

private:
    template <class... Args>
    void add(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
        text_ += '\n';
    }
    double x(Seconds time) const { return left + time * scale_; }

    void title() {
        const auto& s = pipeline_.schedule;
        add(R"svg(<text x="{}" y="20" font-size="15">{}: {} ranks{}, {} micro-batches, bubble {:.2f} %{}</text>)svg",
            left, escaped(pipeline_title(pipeline_)), s.ranks,
            s.chunks > 1 ? fmt::format(" × {} chunks", s.chunks) : "", s.micro_batches, 100 * pipeline_.timeline.bubble,
            pipeline_.closed_form ? fmt::format(" (closed form {} = {:.2f} %)", pipeline_.closed_form->formula,
                                                100 * pipeline_.closed_form->bubble)
                                  : "");
        const auto has = [&](OpKind kind) {
            return std::any_of(s.ops.begin(), s.ops.end(), [&](const auto& ops) {
                return std::any_of(ops.begin(), ops.end(), [&](const PipelineOp& op) { return op.kind == kind; });
            });
        };
        double at = left;
        for (const auto kind : {OpKind::Forward, OpKind::Backward, OpKind::BackwardInput, OpKind::BackwardWeight}) {
            if (!has(kind)) continue;
            const auto* name = names[static_cast<std::size_t>(kind)];
            add(R"svg(<rect x="{}" y="{}" width="12" height="12" fill="{}"/><text x="{}" y="{}">{}</text>)svg", at,
                legend_gap + 4, fill(kind, 1), at + 17, legend_gap + 14, name);
            at += 130;
        }
        add(R"svg(<rect x="{}" y="{}" width="12" height="12" class="idle"/><text x="{}" y="{}">idle</text>)svg", at,
            legend_gap + 4, at + 17, legend_gap + 14);
    }

    void row(int rank) {
        const auto& timeline = pipeline_.timeline;
        const double y = top + pitch_ * rank, height = pitch_ - (pitch_ >= 16 ? 3 : 1);
        add(R"svg(<rect x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}" class="idle"/>)svg", left, y, room,
            height);
        const double font = std::min(12.0, pitch_ - 1), line = y + height / 2 + font * 0.36;
        add(R"svg(<text x="4" y="{:.2f}" font-size="{:.1f}">rank {}</text>)svg", line, font, rank);
        const auto share =
            timeline.makespan > 0 ? timeline.idle[static_cast<std::size_t>(rank)] / timeline.makespan : 0;
        add(R"svg(<text x="{:.2f}" y="{:.2f}" font-size="{:.1f}">idle {:.1f} %</text>)svg", left + room + 8, line, font,
            100 * share);
        for (const auto& timed : timeline.ranks[static_cast<std::size_t>(rank)]) {
            const double width = (timed.end - timed.start) * scale_;
            add(R"svg(<rect x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}" fill="{}"><title>{} {:.4g} to {:.4g}</title></rect>)svg",
                x(timed.start), y, std::max(0.2, width - (width > 4 ? 0.6 : 0)), height,
                fill(timed.op.kind, timed.op.micro_batch), describe(timed.op), timed.start, timed.end);
            // The stripe tells the chunks apart.
            if (timed.op.chunk > 0)
                add(R"svg(<rect x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}" class="ink" opacity="0.55"/>)svg",
                    x(timed.start), y, std::max(0.2, width), height * 0.12);
            const auto number = std::to_string(timed.op.micro_batch);
            if (pitch_ >= 14 && width > 8.0 * static_cast<double>(number.size()))
                add(R"svg(<text x="{:.2f}" y="{:.2f}" font-size="{:.1f}" text-anchor="middle" class="on">{}</text>)svg",
                    x(timed.start) + width / 2, line, font, number);
        }
    }

    void memory(double y) {
        const auto curve = memory_curve(pipeline_.schedule, pipeline_.timeline);
        const double most = *std::max_element(curve.peak.begin(), curve.peak.end());
        if (most <= 0) return;
        for (std::size_t rank = 0; rank < curve.ranks.size(); ++rank) {
            std::string points;
            double last = 0;
            const auto height = [&](double alive) { return y + curve_height * (1 - alive / most); };
            for (const auto& point : curve.ranks[rank]) {
                points += fmt::format("{:.1f},{:.1f} {:.1f},{:.1f} ", x(point.time), height(last), x(point.time),
                                      height(point.micro_batches));
                last = point.micro_batches;
            }
            const bool fullest = curve.peak[rank] == most;
            add(R"svg(<polyline points="{}" fill="none" stroke="hsl({:.0f},55%,50%)" stroke-width="{}" opacity="{}"/>)svg",
                points, 260.0 * static_cast<double>(rank) / static_cast<double>(curve.ranks.size()),
                fullest ? 1.6 : 0.9, fullest ? 1.0 : 0.6);
        }
        add(R"svg(<text x="4" y="{:.1f}">{:.4g}</text><text x="4" y="{:.1f}">0</text>)svg", y + 10, most,
            y + curve_height);
        add(R"svg(<text x="{}" y="{:.1f}">micro-batches whose activations are alive, a rank</text>)svg", left,
            y + curve_height + 16);
    }

    const Pipeline& pipeline_;
    double pitch_, scale_;
    std::string text_;
};

}  // namespace

std::string pipeline_svg(const Pipeline& pipeline) { return Picture(pipeline).draw(); }

}  // namespace plimsoll
