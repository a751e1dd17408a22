"""What a deployment leaves behind when it has ended."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.chaos.crew import Crew, Member
from tests.services.processes import is_running
from tests.waiting import until

_LEAVES_A_CHILD = "import subprocess; print(subprocess.Popen(['sleep', '600']).pid, flush=True)"


def test_an_orphan_of_a_member_is_told_and_ended(tmp_path: Path) -> None:
    crew = Crew(tmp_path, (), {})
    crew.have(Member("parent", "parent", ("-c", _LEAVES_A_CHILD), tmp_path))
    until(crew.members[0].has_ended, what="the member has ended")
    orphan = int((tmp_path / "parent" / "err").read_text())

    assert crew.end() == {"parent": 0}
    told = crew.left_over(0)

    assert [violation.sentence for violation in told] == ["still runs: sleep 600"]
    until(lambda: not is_running(orphan), what="the orphan is gone")
    assert crew.left_over(0) == []


def test_what_works_elsewhere_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "crew").mkdir()
    with subprocess.Popen(["sleep", "600"], cwd=tmp_path) as stranger:
        try:
            assert Crew(tmp_path / "crew", (), {}).left_over(0) == []
            assert stranger.poll() is None
        finally:
            stranger.kill()
