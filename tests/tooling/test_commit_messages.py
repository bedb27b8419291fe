"""Hook commit-msg, which refuses messages that break the rules of CONTRIBUTING."""

import subprocess
from pathlib import Path

import pytest

HOOK = Path(__file__).parents[2] / "scripts" / "hooks" / "commit-msg"


def run_hook(tmp_path: Path, message: str) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "COMMIT_EDITMSG"
    path.write_text(message)
    return subprocess.run([str(HOOK), str(path)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "message",
    [
        "log: commit objects in seal order\n",
        "x" * 72 + "\n\nWhy it was needed.\n",
        "Fix the lag of empty groups\n# Please enter the commit message\n",
        'Revert "' + "x" * 80 + '"\n',
    ],
)
def test_subject_with_an_optional_body_is_accepted(tmp_path: Path, message: str) -> None:
    ran = run_hook(tmp_path, message)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("\n", "the subject is empty"),
        ("x" * 73 + "\n", "the subject has 73 characters; at most 72 are allowed"),
        ("Fix the lag of empty groups.\n", "the subject ends with a full stop"),
        ("Fix the lag\nof empty groups\n", "the second line must be empty"),
    ],
)
def test_message_without_a_proper_subject_is_refused(tmp_path: Path, message: str, reason: str) -> None:
    ran = run_hook(tmp_path, message)
    assert ran.returncode == 1
    assert reason in ran.stderr
