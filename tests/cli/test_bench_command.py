"""cvtmesh bench: tables in Markdown, small."""


def test_tables(cvtmesh):
    for name, limit in (("table1", 64), ("table2", 500), ("table3", 200), ("table4", 1600),
                        ("figure3", 100), ("figure7", 50), ("figure8", 500)):
        done = cvtmesh.call("bench", name, "--size-limit", limit, "--iterations", 20)
        rows = [line for line in done.stdout.decode().splitlines() if line.startswith("|")]
        assert len(rows) > 3
        assert len({row.count("|") for row in rows}) == 1, rows


def test_unknown(cvtmesh):
    cvtmesh.refused("bench", "table9", code=2, names=["table9"])


def test_time_limit_and_threads(cvtmesh):
    """With a time limit near 0 the table has no figures; figures do not depend on the threads."""
    words = ["table3", "--size-limit", 200, "--iterations", 20]
    tables = []
    for threads in (1, 2):
        text = cvtmesh.call("bench", *words, "--threads", threads).stdout.decode()
        assert f"({threads} thread" in text.splitlines()[0]
        tables.append([line for line in text.splitlines() if line.startswith("|")])
    assert tables[0] == tables[1]
    assert any("100.00 (" in row for row in tables[0])
    text = cvtmesh.call("bench", *words, "--time-limit", 1e-9).stdout.decode()
    assert "| 0 | - (100.00) |" in text.splitlines()
