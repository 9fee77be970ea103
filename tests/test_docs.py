"""What the documents show is what the commands print."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest

from command_line import run
from printed_output import assert_same_but_for_round_off
from soqo import Change, Offset, Problem, RandomProblem, meters, noise, processes, simulate
from soqo.experiments import find, judge, parse_settings
from soqo.experiments.judgment import KIND_NAMES
from soqo.experiments.settings import SETTING_KEYS, Constructor
from soqo.typing import Spacing

ROOT = Path(__file__).parent.parent
REPRODUCE = ROOT / "docs" / "explanation" / "reproduce.md"
SETTINGS_FILES = ROOT / "docs" / "reference" / "settings-files.md"
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
CONSOLE = re.compile(r"```console\n\$ (soqo \w+ examples/\S+)\n(.*?)```", flags=re.DOTALL)
SHOWN = [
    pytest.param(command, output, id=f"{path.name}: {command}")
    for path in DOCUMENTS
    for command, output in CONSOLE.findall(path.read_text(encoding="utf-8"))
]
"""Commands and what they print; tests/test_examples.py compares those that run an example."""


@pytest.mark.parametrize(("command", "output"), SHOWN)
def test_a_console_block_shows_what_the_command_prints(
    command: str, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    _, *arguments = command.split()
    assert_same_but_for_round_off(run(*arguments).stdout, output)


OTHER_FILES = re.compile(r"\[opcua\]|\[\[claim\]\]")
"""What blocks of TOML have that are not settings."""


def blocks_of_toml() -> list[Any]:
    """Each block of TOML in the documents, with its place."""
    return [
        pytest.param(block, id=f"{path.name} {number}")
        for path in DOCUMENTS
        for number, block in enumerate(
            re.findall(r"```toml\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL), start=1
        )
    ]


@pytest.mark.parametrize("block", [block for block in blocks_of_toml() if not OTHER_FILES.search(block.values[0])])
def test_a_settings_file_in_a_document_is_read(block: str) -> None:
    (setting,) = parse_settings(block, "the document", name="mine")
    assert "GLIDE" in setting.policies


def test_the_readme_shows_the_table_of_the_main_job() -> None:
    (primary,) = find("primary")
    result = simulate(primary.environment, primary.policies, horizon=primary.horizon, runs=primary.runs, seed=0)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = next(block for block in re.findall(r"```text\n(.*?)```", text, flags=re.DOTALL))
    assert_same_but_for_round_off(f"{result.summary()}\n", shown)


def claims_in_the_docs() -> list[list[str]]:
    """The rows of the table of claims: text, kind, source, status to the letter, and four numbers of readings."""
    text = REPRODUCE.read_text(encoding="utf-8")
    table = text[text.index("| claim | kind | where | to the letter |") :].partition("\n\n")[0].splitlines()[2:]
    rows = [re.split(r"(?<!\\)\|", row.strip())[1:-1] for row in table]
    return [[cell.strip().replace("\\|", "|") for cell in row] for row in rows]


def test_the_table_of_verdicts_has_every_claim() -> None:
    shown = [(text, kind, source) for text, kind, source, *_ in claims_in_the_docs()]
    assert shown == [(claim.text, claim.kind, claim.source) for claim in judge([], {}, {}, []).claims]


def test_numbers_that_appear_twice_agree() -> None:
    """The finding and the table of claims, the table of regret and the sentences below it, and both and README."""
    rows = claims_in_the_docs()
    text = " ".join(REPRODUCE.read_text(encoding="utf-8").replace("\n> ", " ").split())
    plurals = {
        "hold": "holds",
        "hold in part": "holds in part",
        "fail": "fails",
        "are not contradicted": "not contradicted",
        "is not contradicted": "not contradicted",
    }
    for kind, words in KIND_NAMES.items():
        found = re.search(rf"of (\d+) claims {words}, ([^;.]*)", text)
        assert found is not None, kind
        statuses = [row[3] for row in rows if row[1] == kind and row[3] != "not tested"]
        assert int(found[1]) == len(statuses)
        counted = {
            plurals.get(word, word): int(count)
            for count, word in re.findall(r"(\d+) ([a-z ]+?)(?:,| and |$)", found[2])
        }
        assert counted == {status: statuses.count(status) for status in dict.fromkeys(statuses)}
    won = re.search(
        r"SCaLE alone beats all baselines in (\d+) of (\d+), and loses in (\d+); (\d+) cannot be told", text
    )
    assert won is not None
    (alone,) = [row for row in rows if row[0] == "SCaLE alone outperforms all baselines"]
    holds, _, fails, unknown = map(int, alone[4:8])
    assert list(map(int, won.groups())) == [holds, holds + fails + unknown, fails, unknown]
    both = re.search(r"both outperform all baselines, holds in (\w+) of (\d+) ways[^;]*; (\d+) cannot be told", text)
    assert both is not None
    (main,) = [row for row in rows if row[0] == "SCaLE and HySCaLE significantly outperform all baselines"]
    counts = list(map(int, main[4:8]))
    assert [both[1].replace("none", "0"), both[2], both[3]] == list(map(str, (counts[0], sum(counts), counts[3])))
    scale = (ROOT / "docs" / "explanation" / "scale.md").read_text(encoding="utf-8")
    block = re.search(r"paper_tables.py results settings\n(.*?)```", scale, flags=re.DOTALL)
    assert block is not None
    regret = {line.split()[0]: re.findall(r"(\S+) \((\S+)\)", line) for line in block[1].splitlines() if "_r" in line}
    medians = {name: [float(median) for median, _ in cells] for name, cells in regret.items()}
    assert len(medians) == 16
    wins = sum(row[5] < min(row[:3]) for row in medians.values())
    assert f"SCaLE has a lower median than FTM, POL and OAL in {wins} of 16 settings" in block[1].splitlines()[-1]
    assert ("in all 16 settings" in scale) == (wins == 16)
    # README has the means of the primary evaluation, docs/explanation/reproduce.md the ratio of two of them.
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.search(r"```text\n(policy .*?)```", readme, flags=re.DOTALL)
    assert lines is not None
    means = {line[:21].strip(): float(line.split()[-2]) for line in lines[1].splitlines()[1:]}
    share = means["SCaLE as printed"] / min(means[name] for name in ("FTM", "POL", "OAL"))
    printed = re.search(r"SCaLE alone outperforms all baselines \| to the letter \| \w+ \| [^0-9]*([\d.]+) ", text)
    assert printed is not None
    assert float(printed[1]) == pytest.approx(share, rel=0.01)
    told = re.search(r"Exactly as printed, it has (\S+) times \([^)]*\) the mean regret of the best baseline", text)
    assert told is not None
    assert told[1] == printed[1]


def test_the_table_of_a_settings_file_names_every_key_kind_and_argument() -> None:
    text = SETTINGS_FILES.read_text(encoding="utf-8")
    table = text[text.index("| key | |") :].partition("\n\n")[0]
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", table))))
    parts = [Problem, RandomProblem, Change, Offset]
    for module, parent in ((processes, processes.Process), (noise, noise.Noise), (meters, meters.Meter)):
        known = [getattr(module, name) for name in module.__all__]
        parts += [kind for kind in known if issubclass(kind, parent) and kind is not parent]
    expected = {*SETTING_KEYS, *get_args(Spacing), *(name for part in parts for name in Constructor.of(part).arguments)}
    expected |= {part.__name__ for part in parts[4:]}
    assert expected <= words, expected - words


def test_links_between_documents_lead_somewhere() -> None:
    for path in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
            if not target.startswith("/generated/"):  # pages that the build of the site writes, and checks
                assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_documents_name_no_machine() -> None:
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"/(home|root|Users)/", text), path.name
