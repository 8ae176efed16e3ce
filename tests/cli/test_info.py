"""`cvtmesh info` says what the build can do."""



def test_info_names_version_and_devices(cvtmesh):
    info = cvtmesh.printed("info")
    assert "png" in info["image_formats"]
    assert info["devices"][0]["name"] == "cpu"
    assert info["devices"][0]["works"] is True
    text = cvtmesh.call("info").stdout.decode()
    version = cvtmesh.call("--version").stdout.decode().split()[1]
    assert version == info["version"]
    assert version in text
    assert "cpu" in text


def test_info_takes_no_operand(cvtmesh):
    cvtmesh.refused("info", "extra", code=2, names=["extra"])
