// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/watch_side.h"

#include <QLabel>
#include <QListView>
#include <QPlainTextEdit>
#include <QTextCursor>
#include <QTextEdit>
#include <QTextOption>
#include <QVBoxLayout>

#include "ui/memory/measured_bars.h"
#include "ui/plots/bar_plot.h"
#include "ui/plots/step_axis.h"
#include "ui/run/event_delegate.h"
#include "ui/run/event_list_model.h"
#include "ui/run/range_test_curve.h"
#include "ui/run/run_figures.h"
#include "ui/run/run_model.h"
#include "ui/run/run_words.h"
#include "ui/widgets/card.h"
#include "ui/widgets/curve_view.h"
#include "ui/widgets/plain_label.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

WatchSide::WatchSide(RunModel* run, StepAxis* axis, QWidget* parent)
    : QWidget(parent),
      run_(run),
      events_(new EventListModel(this)),
      view_(new QListView(this)),
      sample_card_(new Card(tr("Sample"), this)),
      sample_(new QPlainTextEdit(this)),
      layer_card_(new Card(tr("Gradient norm by layer"), this)),
      bars_(new BarPlot(tr("Gradient norm by layer"), 2, ValueKind::Plain, this)),
      memory_card_(new Card(tr("Peak memory"), this)),
      memory_(new MeasuredBars(this)),
      range_card_(new Card(tr("Loss over learning rate"), this)),
      range_(new CurveView(tr("Loss over learning rate"), this)),
      range_words_(new PlainLabel(this)) {
    auto* event_card = new Card(tr("Events"), this);
    view_->setModel(events_);
    view_->setItemDelegate(new EventDelegate(view_));
    view_->setAccessibleName(tr("Events, newest first"));
    view_->setFont(uiFont(-0.75));
    view_->setResizeMode(QListView::Adjust);
    view_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    view_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    // Rows are laid out for the width that they have with it: one that came later would cut their last lines.
    view_->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
    view_->setMouseTracking(true);
    view_->setMinimumHeight(90);
    event_card->body()->addWidget(view_);
    const auto jump = [axis](const QModelIndex& index) {
        if (index.data(EventListModel::StepRole).toULongLong() > 0)
            axis->reveal(index.data(EventListModel::StepRole).toDouble());
    };
    connect(view_, &QListView::clicked, axis, jump);
    connect(view_, &QListView::activated, axis, jump);

    sample_->setReadOnly(true);
    // A model writes words without end as well.
    sample_->setWordWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    sample_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    sample_->setFrameShape(QFrame::NoFrame);
    sample_->setFont(uiFont(-0.75));
    sample_->setAccessibleName(tr("Latest sample of generated text"));
    sample_->setPlaceholderText(tr("Appears with the first sample."));
    sample_->setMinimumHeight(54);
    sample_->document()->setDocumentMargin(0);
    sample_->setStyleSheet(QStringLiteral("QPlainTextEdit { border: none; padding: 0; background: transparent; }"));
    sample_card_->body()->addWidget(sample_);

    bars_->setEmptyText(tr("Appears with the first recorded norms."));
    layer_card_->body()->addWidget(bars_);
    memory_card_->body()->addWidget(memory_);
    memory_card_->hide();
    range_->setHorizontalName(tr("log10 of the learning rate"));
    range_card_->body()->addWidget(range_);
    range_words_->setWordWrap(true);
    range_words_->setProperty("tone", "muted");
    range_card_->body()->addWidget(range_words_);
    range_card_->hide();

    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(12);
    column->addWidget(event_card, 5);
    column->addWidget(range_card_);
    column->addWidget(memory_card_);
    column->addWidget(sample_card_, 3);
    column->addWidget(layer_card_, 3);
}

void WatchSide::updatePoints() {
    events_->setEvents(run_->events());

    const auto sample = latestSample(*run_);
    const QString text = sample ? sample->prompt + sample->text : QString();
    if (text != sample_->toPlainText()) {
        sample_->setPlainText(text);
        // The prompt is given, the rest is written: they must not look alike.
        QTextEdit::ExtraSelection prompt;
        prompt.cursor = QTextCursor(sample_->document());
        prompt.cursor.setPosition(sample ? static_cast<int>(sample->prompt.size()) : 0, QTextCursor::KeepAnchor);
        prompt.format.setForeground(Theme::of(palette()).muted);
        sample_->setExtraSelections({prompt});
    }
    sample_card_->setFact(sample ? tr("step %1").arg(formatStep(static_cast<double>(sample->step))) : QString());

    const LayerNorms norms = latestLayerNorms(*run_);
    std::vector<Bar> bars;
    for (const auto& [name, value] : norms.layers) bars.push_back({name, value});
    layer_card_->setFact(bars.empty() ? QString() : tr("step %1").arg(formatStep(static_cast<double>(norms.step))));
    bars_->setBars(std::move(bars));

    const std::optional<MeasuredMemory> memory = measuredMemory(*run_);
    memory_card_->setVisible(memory.has_value());
    memory_card_->setFact(memory ? measuredWords(*memory) : QString());
    if (memory) memory_->setMemory(*memory);

    const std::optional<RangeTestCurve> range =
        run_->plan() ? rangeTestCurve(*run_->plan(), run_->series()) : std::nullopt;
    range_card_->setVisible(range.has_value());
    if (!range) return;
    range_->setCurve(range->points, range->top, range->bottom, range->start, range->end);
    range_words_->setText(range->words);
}

}  // namespace plimsoll::ui
