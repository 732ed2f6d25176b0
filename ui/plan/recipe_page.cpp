// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plan/recipe_page.h"

#include "ui/plan/adapter_fact.h"
#include "ui/plan/plan_model.h"
#include "ui/plan/precision_advice.h"
#include "ui/run/rate_curve.h"
#include "ui/widgets/card.h"
#include "ui/widgets/curve_view.h"
#include "ui/widgets/field_row.h"

namespace plimsoll::ui {

namespace {

/// Keys of one section of the plan, in its order.
QStringList keysOf(const QString& section, const QStringList& without = {}) {
    QStringList keys;
    for (const PlanField& field : planFields())
        if (field.key.startsWith(section + QLatin1Char('.')) && !without.contains(field.key)) keys.append(field.key);
    return keys;
}

}  // namespace

RecipePage::RecipePage(PlanModel* model, QWidget* parent) : Page(tr("Recipe"), parent), model_(model) {
    const QStringList precision{QStringLiteral("numerics.dtype"),          QStringLiteral("numerics.weights"),
                                QStringLiteral("numerics.rounding"),       QStringLiteral("numerics.attention"),
                                QStringLiteral("numerics.fp32_gradients"), QStringLiteral("numerics.reduce_dtype")};
    QVBoxLayout* left = addColumn(1);
    precision_ = form(tr("Precision"), precision);
    left->addWidget(precision_);
    scaling_ = form(tr("Loss scaling"), keysOf(QStringLiteral("numerics"), precision));
    left->addWidget(scaling_);
    adapters_ = form(tr("Adapters"), keysOf(QStringLiteral("adapter")));
    left->addWidget(adapters_);
    left->addStretch(1);

    QVBoxLayout* middle = addColumn(1);
    middle->addWidget(form(tr("Optimizer"), keysOf(QStringLiteral("optimizer"), {QStringLiteral("optimizer.lr")})));
    rate_ = form(tr("Learning rate"), QStringList{QStringLiteral("optimizer.lr")} + keysOf(QStringLiteral("lr")));
    rate_->body()->addSpacing(6);
    curve_ = new CurveView(tr("Learning rate over the run"), rate_);
    rate_->body()->addWidget(curve_);
    middle->addWidget(rate_);
    middle->addStretch(1);

    const QStringList records{QStringLiteral("training.layer_norms_every"), QStringLiteral("training.validate_every"),
                              QStringLiteral("training.sample_every"),      QStringLiteral("training.sample_prompt"),
                              QStringLiteral("training.checkpoint_every"),  QStringLiteral("training.keep_checkpoints"),
                              QStringLiteral("training.noise_scale_every")};
    QVBoxLayout* right = addColumn(1);
    Card* guard = form(tr("Gradient guard"), keysOf(QStringLiteral("guard")));
    guard->setFact(tr("actions in order, on anomalies"));
    right->addWidget(
        form(tr("Run"), QStringList{QStringLiteral("name")} + keysOf(QStringLiteral("training"), records)));
    Card* recording = form(tr("Recording"), records);
    recording->setFact(tr("in steps; 0 is never"));
    right->addWidget(recording);
    right->addWidget(guard);
    right->addStretch(1);

    connect(model_, &PlanModel::changed, this, &RecipePage::refresh);
    refresh();
}

Card* RecipePage::form(const QString& title, const QStringList& keys) {
    auto* card = new Card(title, this);
    card->body()->addWidget(new FieldForm(model_, keys, card));
    return card;
}

void RecipePage::refresh() {
    const RateCurve curve = rateCurve(model_->plan());
    curve_->setCurve(curve.points, curve.top, curve.bottom, curve.start, curve.end);
    rate_->setFact(curve.words);
    const bool fp16 = model_->plan().numerics.dtype == Dtype::Fp16;
    scaling_->setFact(fp16 ? tr("on: fp16") : tr("used with fp16 only"));
    adapters_->setFact(adapterFact(model_->plan()));
    precision_->setFact(precisionAdvice(model_->plan()));
}

}  // namespace plimsoll::ui
