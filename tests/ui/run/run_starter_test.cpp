// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/run_starter.h"

#include <gtest/gtest.h>

#include <QSignalSpy>

namespace plimsoll::ui {
namespace {

TEST(ObstacleOf, TheDemoHasNone) {
    const PlanModel model;
    const std::optional<Obstacle> obstacle = obstacleOf(model);
    EXPECT_FALSE(obstacle.has_value()) << obstacle->sentence.toStdString();
}

TEST(ObstacleOf, AnImpossiblePlanNamesTheField) {
    PlanModel model;
    model.setText(QStringLiteral("layout.dp"), QStringLiteral("3"));
    const std::optional<Obstacle> obstacle = obstacleOf(model);
    ASSERT_TRUE(obstacle.has_value());
    EXPECT_FALSE(obstacle->sentence.isEmpty());
    EXPECT_FALSE(obstacle->key.isEmpty());
}

TEST(ObstacleOf, APlanForOtherHardwareOffersThisMachine) {
    PlanModel model;
    model.setText(QStringLiteral("cluster.gpu"), QStringLiteral("H100 SXM5 80GB"));
    model.setText(QStringLiteral("cluster.nodes"), QStringLiteral("4"));
    model.setText(QStringLiteral("layout.tp"), QStringLiteral("2"));
    ASSERT_TRUE(model.isGood());
    const std::optional<Obstacle> obstacle = obstacleOf(model);
    ASSERT_TRUE(obstacle.has_value());
    ASSERT_TRUE(obstacle->cure.has_value()) << obstacle->sentence.toStdString();
    EXPECT_EQ(obstacle->cure->cluster.gpu, "cpu");
    EXPECT_EQ(obstacle->cure->layout.tp, 1);
    model.replace(*obstacle->cure, obstacle->cureName);
    EXPECT_FALSE(obstacleOf(model).has_value());
}

TEST(RunStarterOf, AMissingTextIsRefusedWithItsField) {
    PlanModel model;
    model.setText(QStringLiteral("data.path"), QStringLiteral("/nowhere/at/all.txt"));
    RunStarter starter;
    QSignalSpy refused(&starter, &RunStarter::refused);
    QSignalSpy started(&starter, &RunStarter::started);
    starter.start(model);
    ASSERT_TRUE(refused.count() > 0 || refused.wait(10'000));
    EXPECT_EQ(started.count(), 0);
    EXPECT_FALSE(starter.isStarting());
    EXPECT_FALSE(refused.first().first().value<Obstacle>().sentence.isEmpty());
}

}  // namespace
}  // namespace plimsoll::ui
