// SPDX-License-Identifier: GPL-3.0-or-later
// The built-in lessons, made when they are first asked for, and one of them chosen.
#pragma once

#include <QObject>
#include <vector>

#include "core/lessons/lesson.h"
#include "ui/common/text_table.h"

namespace plimsoll::ui {

class PlanModel;

class LessonsModel : public QObject {
    Q_OBJECT
public:
    explicit LessonsModel(PlanModel* plan, QObject* parent = nullptr);

    /// Computes all lessons, in a tenth of a second. A second call does nothing.
    void load();
    const std::vector<Lesson>& lessons() const { return lessons_; }
    /// Why some could not be made; "" where all could.
    QString problem() const { return problem_; }

    void choose(int index);
    int chosen() const { return chosen_; }
    const Lesson* lesson() const;
    /// Asks for the chosen lesson's plan in place of the present one: planRequested().
    void openPlan();
    /// The plan is the chosen lesson's.
    bool isOpen() const;

signals:
    void changed();
    void planRequested(const plimsoll::Plan& plan);

private:
    PlanModel* plan_;
    std::vector<Lesson> lessons_;
    int chosen_ = 0;
    bool loaded_ = false;
    QString problem_;
};

/// Colours of a lesson's text, "#rrggbb".
struct LessonColours {
    QString muted, line, good, bad;
};

}  // namespace plimsoll::ui
