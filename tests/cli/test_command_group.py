"""A wrong command is answered with the right ones."""

from __future__ import annotations

from command_line import complaint


def test_a_wrong_command_lists_the_right_ones_and_suggests_similar() -> None:
    line = complaint("replai", "log.csv")
    assert line.startswith("there is no command 'replai'; did you mean replay? The commands of soqo are ")
    for name in (
        "journal",
        "replay",
        "plot",
        "reproduce",
        "list",
        "simulate",
        "tune",
        "estimate",
        "bounds",
        "policies",
    ):
        assert f" {name}" in line.partition("are")[2]


def test_a_group_lists_its_own_commands() -> None:
    assert complaint("journal", "chek", "x") == (
        "there is no command 'chek'; did you mean check? The commands of soqo journal are show, check, export"
    )


def test_a_name_like_no_other_gets_no_suggestion() -> None:
    assert complaint("zzz").startswith("there is no command 'zzz'. The commands of soqo are ")
