// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/lessons/lessons_model.h"

#include "ui/plan/plan_model.h"

namespace plimsoll::ui {

LessonsModel::LessonsModel(PlanModel* plan, QObject* parent) : QObject(parent), plan_(plan) {
    connect(plan_, &PlanModel::changed, this, [this] {
        if (loaded_) emit changed();
    });
}

void LessonsModel::load() {
    if (loaded_) return;
    loaded_ = true;
    for (const std::string& name : lesson_names()) {
        Result<Lesson> made = make_lesson(name);
        if (made)
            lessons_.push_back(*std::move(made));
        else if (problem_.isEmpty())
            problem_ = QString::fromStdString(made.error().message);
    }
    emit changed();
}

void LessonsModel::choose(int index) {
    if (index == chosen_ || index < 0 || index >= static_cast<int>(lessons_.size())) return;
    chosen_ = index;
    emit changed();
}

const Lesson* LessonsModel::lesson() const {
    const auto index = static_cast<std::size_t>(chosen_);
    return index < lessons_.size() ? &lessons_[index] : nullptr;
}

void LessonsModel::openPlan() {
    const Lesson* shown = lesson();
    if (shown && !isOpen()) emit planRequested(shown->plan);
}

bool LessonsModel::isOpen() const { return lesson() && lesson()->plan == plan_->plan(); }

}  // namespace plimsoll::ui
