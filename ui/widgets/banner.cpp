// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/banner.h"

#include <algorithm>
#include <QAccessible>
#include <QEvent>
#include <QHBoxLayout>
#include <QStyle>
#include <QToolButton>

#include "ui/widgets/plain_label.h"

namespace plimsoll::ui {

namespace {

constexpr int goodNewsMs = 6'000;
constexpr int withActionMs = 12'000;
constexpr int margin = 12;
constexpr int mostWidth = 900;  // of a line that a person reads

}  // namespace

Banner::Banner(QWidget* anchor, QWidget* parent)
    : QFrame(parent), anchor_(anchor), sentence_(new PlainLabel(this)), action_(new QPushButton(this)) {
    setObjectName(QStringLiteral("Banner"));
    setAccessibleName(tr("Notice"));
    sentence_->setWordWrap(true);
    sentence_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    action_->setObjectName(QStringLiteral("BannerAction"));
    action_->setAccessibleName(tr("What helps"));
    auto* close = new QToolButton(this);
    close->setText(QStringLiteral("✕"));
    close->setProperty("quiet", true);
    close->setAccessibleName(tr("Close the notice"));
    close->setToolTip(tr("Close the notice"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(14, 8, 10, 8);
    row->setSpacing(12);
    row->addWidget(sentence_, 1);
    row->addWidget(action_);
    row->addWidget(close);
    expiry_.setSingleShot(true);
    anchor_->installEventFilter(this);
    connect(&expiry_, &QTimer::timeout, this, &QWidget::hide);
    connect(close, &QToolButton::clicked, this, &QWidget::hide);
    connect(action_, &QPushButton::clicked, this, [this] {
        // A copy, because the action may show a sentence itself.
        const std::function<void()> run = run_;
        hide();
        if (run) run();
    });
    hide();
}

void Banner::say(const char* tone, const QString& sentence, const QString& action, const std::function<void()>& run,
                 Cause cause) {
    setProperty("tone", tone);
    style()->unpolish(this);
    style()->polish(this);
    sentence_->setText(sentence);
    action_->setText(action);
    action_->setAccessibleName(action.isEmpty() ? tr("What helps") : action);
    action_->setVisible(!action.isEmpty());
    run_ = run;
    cause_ = cause;
    expiry_.stop();
    const QString word = QString::fromLatin1(tone);
    if (word != QLatin1String("bad") && word != QLatin1String("warn"))
        expiry_.start(action.isEmpty() ? goodNewsMs : withActionMs);
    show();
    place();
    raise();
    QAccessibleEvent told(this, QAccessible::Alert);
    QAccessible::updateAccessibility(&told);
}

void Banner::withdraw(Cause cause) {
    if (cause_ == cause) hide();
}

void Banner::place() {
    const int width = std::min(anchor_->width() - 2 * margin, mostWidth);
    // The hint of a text that wraps is for a narrower frame.
    const int height = hasHeightForWidth() ? heightForWidth(width) : sizeHint().height();
    const QPoint foot = anchor_->mapTo(parentWidget(), QPoint((anchor_->width() - width) / 2, anchor_->height()));
    setGeometry(foot.x(), foot.y() - height - margin, width, height);
}

bool Banner::eventFilter(QObject* watched, QEvent* event) {
    if (watched == anchor_ && (event->type() == QEvent::Resize || event->type() == QEvent::Move) && isVisible())
        place();
    return QFrame::eventFilter(watched, event);
}

void Banner::enterEvent(QEnterEvent* event) {
    QFrame::enterEvent(event);
    if (expiry_.isActive()) expiry_.stop();
}

void Banner::leaveEvent(QEvent* event) {
    QFrame::leaveEvent(event);
    const QString tone = property("tone").toString();
    if (isVisible() && tone != QLatin1String("bad") && tone != QLatin1String("warn")) expiry_.start(goodNewsMs);
}

void Banner::hideEvent(QHideEvent* event) {
    QFrame::hideEvent(event);
    expiry_.stop();
    cause_ = Cause::None;
}

}  // namespace plimsoll::ui
