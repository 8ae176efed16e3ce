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
